/** The text of a report: what failed alike stands once. */
import { expect, test } from 'vitest';
import { dailyProduction } from '../../../../jobs/daily-production/settings.ts';
import type { RunFailure, RunReport } from '../../../../src/core/run/run.ts';
import { reportText } from '../../../../src/cli/text/runs.ts';

const refused = (target: string): RunFailure => ({
  target,
  state: 'failed',
  code: 'unauthorized',
  message: `GET /api/production/daily/${encodeURIComponent(target)} answered 401`,
  hint: 'Check the token.',
});
const other: RunFailure = { target: 'B/1', state: 'failed', code: 'not-http', message: 'B/1: something else' };

function textOf(failures: readonly RunFailure[], total: number, change: Partial<RunReport> = {}): string {
  const units = { total, done: 0, held: 0, failed: total, cancelled: 0, unknown: 0 };
  const report: RunReport = {
    runId: 'run',
    job: 'a job',
    state: 'failed',
    units,
    counts: {},
    balance: { balanced: true, statement: '' },
    notices: [],
    failures,
    startedAtMs: 0,
    finishedAtMs: 1,
    ...change,
  };
  return reportText(report, dailyProduction, 200);
}

test('wells that failed alike are told once, with their number and the first names', () => {
  const failures = [...['A 1', 'A 2', 'A 3', 'A 4'].map(refused), other];
  expect(textOf(failures, 7)).toContain(
    [
      '  4 wells (A 1, A 2, A 3 and 1 more): failed, GET /api/production/daily/… answered 401',
      '    Check the token.',
      '  B/1: failed, something else',
      '  and 2 wells more: wellsync runs show run --json',
    ].join('\n'),
  );
});

test('wells that were not tried are counted, so that the numbers add up', () => {
  const stopped = { code: 'unauthorized', message: 'answered 401' };
  const notTried: RunFailure = { target: 'C', state: 'failed', code: 'not-tried', message: 'not tried' };
  expect(textOf([...['A 1', 'A 2'].map(refused), notTried], 60, { stopped })).toContain(
    [
      '  2 wells (A 1 and A 2): failed, GET /api/production/daily/… answered 401',
      '    Check the token.',
      '  58 wells: not tried, since the run was stopped',
    ].join('\n'),
  );
});

test('one well is told as it is, and advice once', () => {
  expect(textOf([refused('A 1')], 1)).toContain('  A 1: failed, GET /api/production/daily/A%201 answered 401');
  const stopped = { code: 'unauthorized', message: 'answered 401', hint: 'Check the token.' };
  expect(textOf(['A 1', 'A 2'].map(refused), 2, { stopped }).match(/Check the token/g)).toHaveLength(1);
});

test('records outside the window are told as dated outside it: the service sent what was requested', () => {
  expect(textOf([], 1, { counts: { outsideWindow: 3 } })).toContain('they came, and are ignored');
});
