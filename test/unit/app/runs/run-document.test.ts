import { describe, expect, test } from 'vitest';
import { cleanup } from '../../../../jobs/cleanup/job.ts';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import { networkPipes } from '../../../../jobs/network-pipes/counts.ts';
import { nextSteps, outcomeSentence, reportDocument, shownCounts } from '../../../../src/app/runs/run-document.ts';
import { jobDescriptionOf } from '../../../../src/app/runs/run-status.ts';
import { unknownJob } from '../../../../src/core/run/job-description.ts';
import type { RunReport } from '../../../../src/core/run/run.ts';

const jobs = [dailyProduction, networkPipes, cleanup];

function reportOf(job: string, details: Partial<RunReport>): RunReport {
  return {
    runId: 'r1',
    job,
    state: 'done',
    units: { total: 3, done: 3, held: 0, failed: 0, cancelled: 0 },
    counts: {},
    balance: { balanced: true, statement: '' },
    failures: [],
    notices: [],
    startedAtMs: 0,
    finishedAtMs: 1_000,
    ...details,
  };
}

const failedUnits = { total: 3, done: 1, held: 1, failed: 1, cancelled: 0 };
const noUnits = { total: 0, done: 0, held: 0, failed: 0, cancelled: 0 };

describe('the outcome of a run', () => {
  test.each<[string, Partial<RunReport>, string]>([
    [dailyProduction.name, {}, 'Done: 3 wells.'],
    [dailyProduction.name, { counts: { quarantined: 2 } }, 'Done, with 2 records quarantined.'],
    [
      dailyProduction.name,
      { state: 'failed', units: failedUnits },
      'Failed: 1 of 3 wells could not be read to the end.',
    ],
    [networkPipes.name, { counts: { rows: 7 } }, 'Done: 7 rows.'],
    [networkPipes.name, { state: 'cancelled', counts: { rows: 7 } }, 'Cancelled: 7 rows had been settled.'],
    [networkPipes.name, { state: 'cancelled', units: noUnits }, 'Cancelled before it was planned: nothing was done.'],
    [cleanup.name, { state: 'cancelled', units: noUnits }, 'Cancelled before it was planned: nothing was done.'],
    [cleanup.name, { counts: { refused: 1 } }, 'Done, with 1 target refused.'],
    ['sync of another version', { counts: { odd: 4 } }, 'Done: 3 units.'],
  ])('of %s with %j is: %s', (name, details, sentence) => {
    expect(outcomeSentence(reportOf(name, details), jobDescriptionOf(name, jobs))).toBe(sentence);
  });

  test.each<[string, Partial<RunReport>, readonly string[]]>([
    [dailyProduction.name, {}, []],
    [
      dailyProduction.name,
      { units: failedUnits, counts: { quarantined: 1 } },
      ['retry-run', 'release-rows', 'show-quarantine'],
    ],
    [networkPipes.name, { counts: { rejectedByService: 1 } }, ['get-rejects']],
    [
      networkPipes.name,
      { units: failedUnits, failures: [{ target: 'a.csv', state: 'failed', code: 'usage', message: '' }] },
      [],
    ],
    [networkPipes.name, { state: 'cancelled', units: noUnits }, ['retry-run']],
    [cleanup.name, { state: 'failed', units: noUnits, stopped: { code: 'x', message: '' } }, ['retry-run']],
    [cleanup.name, { counts: { stillThere: 1 } }, ['audit-run', 'plan-cleanup']],
    ['sync of another version', { units: failedUnits }, ['retry-run']],
  ])('of %s with %j proposes %j', (name, details, kinds) => {
    const steps = nextSteps(reportOf(name, details), jobDescriptionOf(name, jobs));
    expect(steps.map(({ kind }) => kind)).toEqual(kinds);
  });

  test('as JSON has each fault with the hint of the face and its action', () => {
    const held = {
      target: 'A',
      state: 'held',
      code: 'rows-held',
      message: 'm',
      action: { kind: 'release-rows', runId: 'r1' },
    } as const;
    const old = { target: 'B', state: 'failed', code: 'x', message: 'm', hint: 'as it was stored' } as const;
    const report = reportOf(dailyProduction.name, { failures: [held, old], stopped: { code: 'y', message: 'm' } });
    const document = reportDocument(report, dailyProduction, ({ hint, action }) => hint ?? action?.kind);
    expect(document).toMatchObject({
      failures: [{ ...held, hint: 'release-rows' }, old],
      stopped: { code: 'y', message: 'm' },
    });
    expect(document.stopped).not.toHaveProperty('hint');
  });
});

describe('the counts that are shown', () => {
  test('come in the order of the description, those that it does not know behind them by name', () => {
    const counts = { requests: 4, unchanged: 0, heldRows: 2, pages: 1, read: 5, inserted: 5, repeated: 0, windows: 3 };
    expect(shownCounts(counts, dailyProduction).map(({ name }) => name)).toEqual([
      'read',
      'inserted',
      'unchanged',
      'heldRows',
      'pages',
      'requests',
    ]);
  });

  test('of a job of another version come by name, without those that are 0', () => {
    expect(shownCounts({ b: 1, c: 0, a: 2 }, unknownJob('x')).map(({ name }) => name)).toEqual(['a', 'b']);
  });
});
