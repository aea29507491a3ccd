/** What a run that is retried shows before a worker has it: what its earlier attempts have done. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { createApp } from '../../../src/app/app.ts';
import { listRuns, showLiveRun } from '../../../src/app/runs/run-status.ts';
import { runListText, runStatusText } from '../../../src/cli/text/runs.ts';
import type { RunReport, UnitOutcome } from '../../../src/core/run/run.ts';
import { cliHome } from '../../support/cli.ts';

const service = 'http://127.0.0.1:9';
const runId = `20240201-000000-${randomUUID().slice(0, 6)}`;

const report: RunReport = {
  runId,
  job: 'export daily-production',
  state: 'cancelled',
  units: { total: 7, done: 3, held: 0, failed: 0, cancelled: 4 },
  counts: { read: 30 },
  balance: { balanced: true, statement: '' },
  failures: [],
  notices: [],
  startedAtMs: 1,
  finishedAtMs: 2,
};

describe('a cancelled run with 3 of 7 wells done, retried', () => {
  test.each([
    ['whose progress is forgotten', false],
    ['whose progress in Redis is of its attempt before', true],
  ])('%s shows what is done', async (_title, isLeft) => {
    await using home = await cliHome(service);
    await using app = createApp(loadConfig({ environment: home.env }));
    const { runs } = app.ledger;
    const wells = Array.from({ length: 7 }, (_, unit) => `well ${unit}`);
    const request = { runId, job: report.job, params: {}, service, actor: 'tester@host', requestedAtMs: 1 };
    await runs.create(request, wells);
    await runs.savePlan(
      runId,
      wells.map((target, unit) => ({ unit, chunk: 0, target, spec: {} })),
      1,
    );
    const done = [0, 1, 2].map((unit): UnitOutcome => ({ unit, state: 'done', counts: { read: 10 } }));
    await runs.settle(runId, done);
    await runs.settleRest(runId, { state: 'cancelled' });
    await runs.finish(report);
    const { progress } = await app.queue('prompt');
    if (isLeft) {
      const start = { queue: 'export', generation: 0, units: 7, settledUnits: 0, counts: {}, chunks: [0] } as const;
      await progress.open(runId, start);
    }
    expect(await runs.reopen(runId)).toBe(4);

    const run = await runs.read(runId);
    if (run === undefined) throw new Error('the run is gone');
    expect(runStatusText(await showLiveRun(app, run), app.jobs)).toContain('Settled: 3 of 7 wells, 30 rows read.');
    expect(runListText(await listRuns(app, { limit: 5 }), app.jobs, Infinity)).toContain('3 of 7 wells');
    await progress.forget(runId);
  });
});
