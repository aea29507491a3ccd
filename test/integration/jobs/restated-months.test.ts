/** The alert of a month of which a run changed rows that were reported long ago. */
import { expect, test } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName } from '../../../jobs/daily-production/job.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { januaryRows, UWI } from '../../support/testing-server-requests.ts';

const jobs = createDailyProductionJobs({ ...dailyProductionSettings, restated: { maxRows: 2 } }).map(anyJob);

test('a correction of more rows than the limit opens one alert a month, and a smaller one none', async () => {
  const rows = januaryRows(40);
  await using server = await startTestingServer({ data: givenDaily(rows) });
  await using engine = await engineHere(server.url, jobs);
  const read = () => {
    const nowMs = Date.now();
    const fromMs = Date.parse('2024-01-01T00:00:00Z');
    const toMs = Date.parse('2024-03-01T00:00:00Z');
    return engine.run(dailyProductionJobName, { nowMs, fromMs, toMs, allowShrink: false }, [UWI]);
  };
  const correct = (days: readonly number[], oilRate: number): void => {
    for (const day of days) server.state.changeDaily(JSON.stringify({ ...rows[day - 1], oilRate }));
  };
  const alerts = async () =>
    (await engine.warehouse.ledger.alerts.list({ limit: 10, nowMs: Date.now(), kinds: ['rows-restated'] })).alerts;
  await read();
  correct([1, 2], 101);
  expect((await read()).counts).toMatchObject({ updated: 2 });
  expect(await alerts()).toEqual([]);
  correct([3, 4, 35], 103);
  const { runId, counts } = await read();
  expect(counts).toMatchObject({ updated: 3 });
  const found = (await alerts()).toSorted((one, other) => (one.target.id < other.target.id ? -1 : 1));
  expect(found).toMatchObject([
    { target: { kind: 'month', id: '2024-01' }, openedBy: runId, detail: { rows: 2, oil: 100 + 99, runId } },
    {
      target: { kind: 'month', id: '2024-02' },
      summary: '1 row of a day more than 30 days ago was changed: oil +68, gas +0.00 and water +0.00',
      detail: { rows: 1, oil: 68, runId },
    },
  ]);
});
