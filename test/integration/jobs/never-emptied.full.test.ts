/** An answer that is not a complete reading changes nothing in the warehouse (G4). */
import { describe, expect, test } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName, gapsJobName } from '../../../jobs/daily-production/job.ts';
import { createListJob, createWellsJob, describeList, wells } from '../../../jobs/definitions.ts';
import { timeSeries } from '../../../src/core/definitions/record-list.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';
import { ask, dailyRows, loadOne, reading } from '../../support/warehouse-batches.ts';

const definitions = { shrink: dailyProductionSettings.shrink, chunkTargets: 10, concurrency: 2 };
const jobs = [
  ...createDailyProductionJobs(dailyProductionSettings).map(anyJob),
  anyJob(createListJob(timeSeries, definitions)),
  anyJob(createWellsJob(definitions)),
];
const nowMs = Date.parse('2024-02-01T04:00:00Z');
const stored = `SELECT (SELECT count(*) FROM daily_production), (SELECT count(*) > 0 FROM time_series),
  (SELECT count(*) FROM well), (SELECT count(*) FROM coverage)`;

describe('an answer that is no complete reading', () => {
  test.each([
    ['a proxy that answers 200 with a page', { faults: { htmlPage: 1 } }],
    ['answers that are cut off', { faults: { truncatedBody: 1 } }],
    ['a service that lets nobody in', { requiredToken: 'another' }],
    ['connections that are reset', { faults: { reset: 1 } }],
  ])('G4: %s removes no row of the warehouse', async (_what, options) => {
    await using server = await startWithTenDays();
    await using engine = await engineHere(server.url, jobs);
    const allowShrink = true;
    const daily = { nowMs, allowShrink };
    const runs: readonly Parameters<typeof engine.run>[] = [
      [dailyProductionJobName, daily, [UWI]],
      [describeList(timeSeries).name, { allowShrink }, [`EQ ${UWI}`]],
      [wells.name, { allowShrink }, [UWI]],
    ];
    const gaps: (typeof runs)[number] = [gapsJobName, daily, [UWI]];
    for (const run of runs) expect(await engine.run(...run)).toMatchObject({ state: 'done' });
    const before = await ask(engine.warehouse, stored);
    expect(before).toEqual([[10, true, 1, 1]]);

    server.state.setOptions(options);
    for (const run of [...runs, gaps]) {
      expect(await engine.run(...run)).toMatchObject({ state: 'failed', counts: {} });
    }
    expect(await ask(engine.warehouse, stored)).toEqual(before);
    expect(await ask(engine.warehouse, 'FROM daily_production_history')).toEqual([]);
  });

  test('G4: a 404 concerns one well, and removes none of its rows', async () => {
    await using server = await startWithTenDays();
    await using engine = await engineHere(server.url, jobs);
    // The warehouse has a well that the service has forgotten.
    await loadOne(engine.warehouse, reading(dailyRows(5), { uwi: 'forgotten' }));
    const params = { nowMs, allowShrink: true };
    for (const job of [dailyProductionJobName, gapsJobName]) {
      const report = await engine.run(job, params, [UWI, 'forgotten']);
      expect(report).toMatchObject({ state: 'done', units: { done: 1, unknown: 1 }, failures: [] });
      expect(report.counts).toMatchObject({ removed: 0 });
    }
    const rows = `SELECT count(*) FROM daily_production WHERE uwi = 'forgotten'`;
    expect(await ask(engine.warehouse, rows)).toEqual([[5]]);
  });
});
