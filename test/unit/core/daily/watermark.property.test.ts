import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { advanceWatermark, incrementalWindow } from '../../../../src/core/daily/watermark.ts';
import { dayAt } from '../../../../src/core/time/production-day.ts';
import { askedWindow, DAY_MS, HOUR_MS, isInside, type Window } from '../../../../src/core/time/window.ts';

const instant = fc.integer({ min: -3_000_000_000_000, max: 3_000_000_000_000 });
/** Zones that change their clocks, one of them at midnight. */
const zone = fc.constantFrom('UTC', 'Europe/Oslo', 'America/Chicago', 'America/St_Johns', 'America/Havana');
const window = fc
  .tuple(instant, fc.integer({ min: 1, max: 1_000 * DAY_MS }))
  .map(([fromMs, lengthMs]): Window => ({ fromMs, toMs: fromMs + lengthMs }));

describe('an incremental window', () => {
  it('an incremental window is never empty, ends now, and never begins before history', () => {
    fc.assert(
      fc.property(
        fc.oneof(instant, fc.constant(Number.NEGATIVE_INFINITY)),
        instant,
        fc.integer({ min: 1, max: 50_000 * DAY_MS }),
        zone,
        (wantedMs, historyFromMs, ageMs, timeZone) => {
          const nowMs = historyFromMs + ageMs;
          const { fromMs, toMs } = incrementalWindow({ wantedMs, historyFromMs, nowMs, timeZone });
          expect(toMs).toBe(nowMs);
          expect(fromMs).toBeLessThan(toMs);
          expect(fromMs).toBeGreaterThanOrEqual(historyFromMs);
          expect(fromMs).toBeLessThanOrEqual(Math.max(historyFromMs, wantedMs));
        },
      ),
    );
  });

  it('an incremental window begins with the production day of the wanted instant, on days when the clocks change too', () => {
    fc.assert(
      fc.property(instant, zone, (wantedMs, timeZone) => {
        const nowMs = wantedMs + 2 * DAY_MS;
        const { fromMs } = incrementalWindow({ wantedMs, historyFromMs: Number.NEGATIVE_INFINITY, nowMs, timeZone });
        expect(dayAt(fromMs, timeZone)).toBe(dayAt(wantedMs, timeZone));
        expect(dayAt(fromMs - 1, timeZone)).toBe((dayAt(wantedMs, timeZone) ?? 0) - 1);
      }),
    );
  });
});

describe('a watermark', () => {
  it('G3: a watermark never passes an instant that no durable incremental window holds, in any order of the windows', () => {
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

  it('G3: a backfill does not move the watermark', () => {
    fc.assert(
      fc.property(fc.option(instant, { nil: undefined }), window, (currentMs, backfilled) => {
        expect(advanceWatermark(currentMs, backfilled, 'backfill')).toBe(currentMs);
      }),
    );
  });
});

describe('the requested window', () => {
  it('the requested window exceeds the window by more than any zone is away, and not by the day before', () => {
    fc.assert(
      fc.property(window, (wanted) => {
        const asked = askedWindow(wanted);
        expect(isInside(asked, wanted.fromMs - 14 * HOUR_MS)).toBe(true);
        expect(isInside(asked, wanted.fromMs - DAY_MS)).toBe(false);
        expect(asked.toMs - wanted.toMs).toBe(DAY_MS);
      }),
    );
  });
});

/** Brute force: walks from `fromMs`, each time to the furthest end of a window that holds the current instant. */
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
