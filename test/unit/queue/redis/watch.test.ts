import { expect, it } from 'vitest';
import { RepeatedLines } from '../../../../src/queue/redis/check.ts';

it('a trouble is one line every ten seconds, however often it comes, and says how many were left out', () => {
  const clock = { nowMs: 0 };
  const lines = new RepeatedLines(() => clock.nowMs);
  const told: (readonly [atMs: number, message: string, leftOut: number])[] = [];
  const meet = (message: string): void => lines.log(message, (leftOut) => told.push([clock.nowMs, message, leftOut]));
  for (; clock.nowMs < 20_000; clock.nowMs += 1) meet(`no job with id r${clock.nowMs}-0`);
  meet('another trouble');
  expect(told).toEqual([
    [0, 'no job with id r0-0', 0],
    [10_000, 'no job with id r10000-0', 9_999],
    [20_000, 'another trouble', 0],
  ]);
});
