/** Plain incremental runs bring every day, in any order, over HTTP and into the warehouse. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDailyProductionJobs } from '../../../jobs/daily-production/job.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { allDays, daysFrom, deliver, nightly, storedDays } from '../../support/nightly-runs.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { UWI } from '../../support/testing-server-requests.ts';

describe('rows that come late', () => {
  test('plain nightly runs bring every day, in whatever order the days become available within holeDays', async () => {
    const holeDays = 6;
    const shortHoles = createDailyProductionJobs({ ...dailyProductionSettings, lookback: [{ days: 0 }], holeDays });
    const delays = fc.array(fc.integer({ min: 1, max: holeDays }), { minLength: 3, maxLength: 8 });
    const property = fc.asyncProperty(delays, async (delayOf) => {
      await using server = await startTestingServer({ data: givenDaily([], [UWI]) });
      await using engine = await engineHere(server.url, shortHoles.map(anyJob));
      for (let today = 2; today <= delayOf.length + holeDays; today += 1) {
        const due = delayOf.flatMap((delay, index) => (index + 1 + delay === today ? [index + 1] : []));
        if (due.length > 0)
          deliver(
            server,
            due.flatMap((day) => daysFrom(day, day + 1)),
          );
        await nightly(engine, today);
      }
      expect(await storedDays(engine)).toEqual(allDays(delayOf.length));
    });
    await expectForAllAsync(property, 2);
  });
});
