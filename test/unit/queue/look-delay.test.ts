import { expect, it } from 'vitest';
import { lookDelayMs } from '../../../src/queue/limiter/look-delay.ts';

it('the looks at leases that are all taken become rarer, from 25 to 250 ms, each a quarter off at most', () => {
  const meansMs = Array.from({ length: 8 }, (_, look) => lookDelayMs(look, 0.5));
  expect(meansMs).toEqual([25, 50, 100, 200, 250, 250, 250, 250]);
  expect([lookDelayMs(9, 0), lookDelayMs(9, 1)]).toEqual([187.5, 312.5]);
});
