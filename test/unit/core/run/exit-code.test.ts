import { describe, expect, test } from 'vitest';
import { exitCodeOfReport, exitCodes, worseOf } from '../../../../src/core/run/exit-code.ts';
import type { RunReport } from '../../../../src/core/run/run.ts';

const { done, doneWithExceptions, failed, unreachable } = exitCodes;

test.each([
  [done, doneWithExceptions, doneWithExceptions],
  [doneWithExceptions, failed, failed],
  [failed, unreachable, failed],
  [done, done, done],
])('of two runs with the exit codes %i and %i the command ends with %i', (one, other, worse) => {
  expect([worseOf(one, other), worseOf(other, one)]).toEqual([worse, worse]);
});

describe('a failed run', () => {
  const reportOf = (...codes: readonly string[]): RunReport => ({
    runId: 'r',
    job: 'j',
    state: 'failed',
    units: { total: 2, done: 0, held: 0, failed: codes.length, cancelled: 0 },
    counts: {},
    balance: { balanced: true, statement: '' },
    failures: codes.map((code) => ({ code, message: '', target: 'A', state: 'failed' })),
    notices: [],
    startedAtMs: 0,
    finishedAtMs: 0,
  });

  test.each([
    [['service-hold'], [], unreachable],
    [['no-connection'], [], failed],
    [['no-connection', 'service-hold'], ['no-connection'], unreachable],
    [['no-connection', 'unproven-end'], ['no-connection'], failed],
    [[], ['no-connection'], failed],
  ])('by %j, of a job that was not reached by %j, ends with %i', (codes, unreachedBy, code) => {
    expect(exitCodeOfReport(reportOf(...codes), false, unreachedBy)).toBe(code);
  });
});
