import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advanceWatermark,
  freshnessNotice,
  freshnessOf,
  incrementalWindow,
  lastDayAfter,
} from '../../../../src/core/daily/watermark.ts';
import { dayAt, dayText } from '../../../../src/core/time/production-day.ts';
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

const today = 20_000;
const of = (lastDay: number | undefined, ...quarantined: readonly (number | null)[]) =>
  freshnessOf({
    lastDay,
    today,
    warnAfterDays: 14,
    quarantined: quarantined.map((day) => ({ day: day === null ? null : dayText(day) })),
  });

describe('the freshness of a well', () => {
  it('is stale from 14 whole days without a row on', () => {
    expect([today - 1, today - 14, today - 15].map((day) => of(day))).toEqual(['fresh', 'fresh', 'stale']);
  });

  it('is quarantined where records of newer days come, or of unknown ones, but none is right', () => {
    expect(of(today - 40, today - 20)).toBe('quarantined');
    expect(of(today - 40, null)).toBe('quarantined');
    expect(of(undefined, today - 20)).toBe('quarantined');
    expect(of(today - 40, today - 41)).toBe('stale');
    expect(of(today - 2, today - 1)).toBe('fresh');
  });

  it('is empty for a well that never had a row', () => {
    expect(of(undefined)).toBe('empty');
  });

  it('goes by the newest day of the warehouse and of the read', () => {
    const [none, days] = [Int32Array.of(), Int32Array.of(5, 9, 7)];
    expect([lastDayAfter(undefined, none), lastDayAfter(8, none)]).toEqual([undefined, 8]);
    expect([lastDayAfter(8, days), lastDayAfter(10, days), lastDayAfter(undefined, days)]).toEqual([9, 10, 9]);
  });

  it('is told with the names of the wells, but for fresh ones', () => {
    expect(freshnessNotice('fresh', 14)).toEqual([]);
    expect(freshnessNotice('stale', 1)).toEqual(['no new day for 1 day or more: {targets}']);
    expect(freshnessNotice('quarantined', 14)[0]).toContain('they are quarantined');
  });
});
