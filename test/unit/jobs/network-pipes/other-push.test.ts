import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockedBy, outcomeOfOther } from '../../../../jobs/network-pipes/job.ts';

describe('a push that waits for another one', () => {
  test('looks again soon at first and rarely later, and never in a busy loop, whatever the clocks say', () => {
    const instant = fc.integer({ min: 0, max: 4_000_000_000_000 });
    fc.assert(
      fc.property(instant, instant, fc.nat(), (claimedAtMs, nowMs, moreMs) => {
        const { delayMs } = blockedBy('r', claimedAtMs, nowMs);
        expect(delayMs).toBeGreaterThanOrEqual(500);
        expect(delayMs).toBeLessThanOrEqual(15_000);
        expect(blockedBy('r', claimedAtMs, nowMs + moreMs).delayMs).toBeGreaterThanOrEqual(delayMs);
      }),
    );
  });
});

describe('the outcome of another push', () => {
  const names = { own: 'copy.csv', other: 'pipes.csv' };

  const report = {
    runId: 'r1',
    counts: { rows: 2, accepted: 2, pipes: 2, chunks: 7, requests: 30 },
    notices: ['file: pipes.csv', 'rejected: line 3'],
  };

  test('G2: replaces every count of rows of an earlier attempt, counts no request of the other run, and names that run', () => {
    const { counts, notices, state } = outcomeOfOther(report, names, undefined);
    expect(state).toBe('done');
    expect(counts).toEqual({
      rows: 2,
      accepted: 2,
      superseded: 0,
      rejectedByUs: 0,
      rejectedByService: 0,
      failed: 0,
      pipesWithSeveralDates: 0,
      pipes: 2,
      chunks: 0,
      requests: 0,
    });
    expect(notices).toEqual([
      'file: copy.csv',
      'run r1 pushed this content: this run sent nothing',
      'rejected: line 3',
    ]);
  });

  test.each([
    [{ chunks: 3, requests: 4 }, 'this run had sent 4 requests before'],
    [{ chunks: 1, requests: 1 }, 'this run had sent 1 request before'],
    [{}, 'this run had begun before, and recorded no request'],
  ])('keeps the requests and chunks that this run had sent: %j', (sent, notice) => {
    const { counts, notices } = outcomeOfOther(report, names, sent);
    expect(counts).toMatchObject({ rows: 2, accepted: 2, chunks: 0, requests: 0, ...sent });
    expect(notices?.[1]).toBe(`run r1 pushed this content: ${notice}`);
  });
});
