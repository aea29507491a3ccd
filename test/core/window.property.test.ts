import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advanceWatermark,
  askedWindow,
  DAY_MS,
  incrementalWindow,
  isInside,
  type Window,
} from '../../src/core/window.ts';

const instant = fc.integer({ min: -3_000_000_000_000, max: 3_000_000_000_000 });
const window = fc
  .tuple(instant, fc.integer({ min: 1, max: 1_000 * DAY_MS }))
  .map(([fromMs, lengthMs]): Window => ({ fromMs, toMs: fromMs + lengthMs }));

describe('an incremental window', () => {
  it('is never empty, ends now, and never begins before history', () => {
    fc.assert(
      fc.property(
        fc.option(instant, { nil: undefined }),
        fc.integer({ min: 0, max: 400 * DAY_MS }),
        instant,
        fc.integer({ min: 1, max: 50_000 * DAY_MS }),
        (watermarkMs, lookbackMs, historyFromMs, ageMs) => {
          const nowMs = historyFromMs + ageMs;
          const { fromMs, toMs } = incrementalWindow({ watermarkMs, lookbackMs, historyFromMs, nowMs });
          expect(toMs).toBe(nowMs);
          expect(fromMs).toBeLessThan(toMs);
          expect(fromMs).toBeGreaterThanOrEqual(historyFromMs);
          if (watermarkMs === undefined) expect(fromMs).toBe(historyFromMs);
          else expect(fromMs).toBeLessThanOrEqual(Math.max(historyFromMs, watermarkMs - lookbackMs));
        },
      ),
    );
  });

  it('begins a lookback below the watermark', () => {
    const nowMs = Date.parse('2024-03-10T06:00:00Z');
    const watermarkMs = Date.parse('2024-03-09T06:00:00Z');
    const read = incrementalWindow({ watermarkMs, lookbackMs: 7 * DAY_MS, historyFromMs: 0, nowMs });
    expect(new Date(read.fromMs).toISOString()).toBe('2024-03-02T06:00:00.000Z');
  });
});

describe('a watermark', () => {
  it('G3: never passes an instant that no durable incremental window holds, whatever the order of the windows', () => {
    fc.assert(
      fc.property(fc.array(window, { minLength: 1, maxLength: 8 }), (windows) => {
        let watermarkMs: number | undefined;
        const durable: Window[] = [];
        for (const next of windows) {
          const advanced = advanceWatermark(watermarkMs, next, 'incremental');
          durable.push(next);
          if (watermarkMs !== undefined) expect(advanced).toBeGreaterThanOrEqual(watermarkMs);
          watermarkMs = advanced;
          const start = (durable[0] as Window).fromMs;
          expect(isCovered(durable, start, watermarkMs as number)).toBe(true);
        }
      }),
    );
  });

  it('G3: is not moved by a backfill', () => {
    fc.assert(
      fc.property(fc.option(instant, { nil: undefined }), window, (currentMs, backfilled) => {
        expect(advanceWatermark(currentMs, backfilled, 'backfill')).toBe(currentMs);
      }),
    );
  });
});

describe('the window that is asked for', () => {
  it('holds the window with a day to spare on both sides', () => {
    fc.assert(
      fc.property(window, (wanted) => {
        const asked = askedWindow(wanted);
        expect(isInside(asked, wanted.fromMs - DAY_MS)).toBe(true);
        expect(asked.toMs - wanted.toMs).toBe(DAY_MS);
      }),
    );
  });
});

/** By brute force: walks from `fromMs`, always to the furthest end of a window that holds the place. */
function isCovered(windows: readonly Window[], fromMs: number, toMs: number): boolean {
  let reachedMs = fromMs;
  while (reachedMs < toMs) {
    const further = windows
      .filter((each) => each.fromMs <= reachedMs && each.toMs > reachedMs)
      .map((each) => each.toMs);
    if (further.length === 0) return false;
    reachedMs = Math.max(...further);
  }
  return true;
}
