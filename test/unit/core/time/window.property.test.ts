import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY_MS, daysIn, halvesOf } from '../../../../src/core/time/window.ts';

const windows = fc
  .tuple(fc.integer({ min: -(2 ** 42), max: 2 ** 42 }), fc.integer({ min: 2, max: 50_000 * DAY_MS }))
  .map(([fromMs, lengthMs]) => ({ fromMs, toMs: fromMs + lengthMs }));

it('the halves of a window meet, are not empty, and are as long as whole days allow', () => {
  const property = fc.property(windows, (window) => {
    const [first, second] = halvesOf(window);
    expect([first.fromMs, second.toMs]).toEqual([window.fromMs, window.toMs]);
    expect(first.toMs).toBe(second.fromMs);
    expect(Math.min(first.toMs - first.fromMs, second.toMs - second.fromMs)).toBeGreaterThan(0);
    if (daysIn(window) === 1) return;
    expect((first.toMs - first.fromMs) % DAY_MS).toBe(0);
    expect(daysIn(first) - daysIn(second)).toBeOneOf([0, 1]);
  });
  fc.assert(property);
});

it('a window that is halved and halved again ends in days, each once', () => {
  const property = fc.property(windows, fc.integer({ min: 1, max: 300 }), ({ fromMs }, days) => {
    const left = [{ fromMs, toMs: fromMs + days * DAY_MS }];
    const starts: number[] = [];
    for (let window = left.pop(); window !== undefined; window = left.pop()) {
      if (daysIn(window) === 1) starts.push(window.fromMs);
      else left.push(...halvesOf(window).toReversed());
    }
    expect(starts).toEqual(Array.from({ length: days }, (_, day) => fromMs + day * DAY_MS));
  });
  fc.assert(property);
});
