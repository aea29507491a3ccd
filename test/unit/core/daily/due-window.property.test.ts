/** The window of an incremental run: it reaches every day that comes late, and asks for no more than it has to. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeDays } from '../../../../src/core/daily/coverage.ts';
import {
  dueWindow,
  type KnownWell,
  lookbackDue,
  type LookbackTier,
  type TierDay,
  tierText,
  weekdays,
  type WindowRules,
} from '../../../../src/core/daily/due-window.ts';
import { dayText } from '../../../../src/core/time/production-day.ts';
import { DAY_MS } from '../../../../src/core/time/window.ts';
import { expectForAll } from '../../../support/property-runs.ts';

/** Four in the morning of a day, when the nightly run begins. */
const night = (day: number): number => day * DAY_MS + DAY_MS / 6;
const dayOfMs = (ms: number): number => Math.ceil(ms / DAY_MS);

const rules = (nowMs: number, details: Partial<WindowRules> = {}): WindowRules => ({
  lookbackMs: 7 * DAY_MS,
  historyFromMs: 0,
  nowMs,
  timeZone: 'UTC',
  holeDays: 92,
  pageRows: 1_000,
  isVerified: false,
  ...details,
});

function knownWell(days: Iterable<number>, watermarkMs: number | undefined): KnownWell {
  const inOrder = [...days];
  const intervals = mergeDays(inOrder.map((day) => ({ fromDay: day, toDay: day + 1 })));
  const lastDay = inOrder.length === 0 ? undefined : Math.max(...inOrder);
  const cleanDays = intervals.map((each) => ({ ...each, rows: each.toDay - each.fromDay }));
  return { watermarkMs, verifiedAtMs: undefined, lastDay, cleanDays, heldFromDays: [] };
}

const range = (fromDay: number, toDay: number): readonly number[] =>
  Array.from({ length: toDay - fromDay }, (_, index) => fromDay + index);

describe('the window of an incremental run', () => {
  it('plain nightly runs end with every day of a well, in whatever order its days become available within holeDays', () => {
    const holeDays = 20;
    const delays = fc.array(fc.integer({ min: 1, max: holeDays }), { minLength: 1, maxLength: 60 });
    const property = fc.property(delays, fc.integer({ min: 0, max: 9 }), (delayOf, lookbackDays) => {
      const firstDay = 1_000;
      const days = delayOf.map((delay, index) => ({ day: firstDay + index, comesOn: firstDay + index + delay }));
      const stored = new Set<number>();
      let watermarkMs: number | undefined;
      for (const today of range(firstDay, firstDay + delayOf.length + holeDays + 1)) {
        const due = rules(night(today), { holeDays, lookbackMs: lookbackDays * DAY_MS });
        const { fromMs, toMs } = dueWindow(knownWell(stored, watermarkMs), due);
        for (const { day, comesOn } of days) {
          if (comesOn <= today && day >= dayOfMs(fromMs)) stored.add(day);
        }
        watermarkMs = toMs;
      }
      expect([...stored].toSorted((left, right) => left - right)).toEqual(days.map(({ day }) => day));
    });
    expectForAll(property, 200);
  });

  it('begins with the day that lies a lookback below the watermark when nothing is missing', () => {
    const window = dueWindow(knownWell(range(800, 1_000), night(999)), rules(night(1_000)));
    expect(window).toEqual({ fromMs: 992 * DAY_MS, toMs: night(1_000), reach: 'lookback', rows: 9 });
  });

  it('begins a lookback below the last row of a silent well, and expects its rows there and the new days', () => {
    const well = { ...knownWell([], night(999)), lastDay: 700 };
    const window = dueWindow(well, rules(night(1_000)));
    expect(window).toEqual({ fromMs: 694 * DAY_MS, toMs: night(1_000), reach: 'last-day', rows: 8 });
    const newDaysAlone = dueWindow(well, rules(night(1_000), { lookbackMs: 0 }));
    expect(newDaysAlone).toEqual({ fromMs: 701 * DAY_MS, toMs: night(1_000), reach: 'last-day', rows: 1 });
  });

  it('a field that delivers late has every correction of its last days, within the lookback of each row', () => {
    const property = fc.property(
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 0, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      (lateDays, correctedAfter, lookbackDays) => {
        fc.pre(correctedAfter < lookbackDays);
        const today = 1_000;
        // Rows come `lateDays` after their day, each night one; the corrected one came `correctedAfter` nights ago.
        const lastDay = today - 1 - lateDays;
        const due = rules(night(today), { lookbackMs: lookbackDays * DAY_MS, holeDays: 0 });
        const { fromMs } = dueWindow(knownWell(range(800, lastDay + 1), night(today - 1)), due);
        expect(fromMs).toBeLessThanOrEqual((lastDay - correctedAfter) * DAY_MS);
      },
    );
    expectForAll(property, 200);
  });

  it('begins with history for a well without a row, and expects few rows where a run found none', () => {
    expect(dueWindow(knownWell([], night(999)), rules(night(1_000)))).toMatchObject({ fromMs: 0, rows: 1 });
    expect(dueWindow(knownWell([], undefined), rules(night(5_000)))).toMatchObject({ fromMs: 0, rows: 3_650 });
  });

  it('begins at the oldest hole of the last days, not at an older one', () => {
    const days = range(800, 1_000).filter((day) => day !== 850 && day !== 950 && day !== 980);
    expect(dueWindow(knownWell(days, night(999)), rules(night(1_000)))).toMatchObject({
      fromMs: 950 * DAY_MS,
      reach: 'hole',
    });
  });

  it('begins at the oldest recent day that is held where the read is verified: the rows may be back', () => {
    const known = {
      ...knownWell(range(800, 1_000), night(999)),
      verifiedAtMs: night(999),
      heldFromDays: [850, 960, 970],
    };
    const verified = rules(night(1_000), { isVerified: true });
    expect(dueWindow(known, verified)).toMatchObject({ fromMs: 960 * DAY_MS, reach: 'hole' });
    expect(dueWindow(known, { ...verified, pageRows: 35 })).toMatchObject({ fromMs: 970 * DAY_MS });
    expect(dueWindow(known, rules(night(1_000)))).toMatchObject({ reach: 'lookback' });
  });

  it('begins at the oldest hole whose window is expected on one page', () => {
    const days = range(800, 1_000).filter((day) => day !== 950 && day !== 980);
    const known = knownWell(days, night(999));
    expect(dueWindow(known, rules(night(1_000), { pageRows: 50 }))).toMatchObject({ fromMs: 980 * DAY_MS });
    expect(dueWindow(known, rules(night(1_000), { pageRows: 10 }))).toMatchObject({ reach: 'lookback' });
  });

  it('counts the rows that were seen, and a day each below the days that were looked at', () => {
    const known: KnownWell = {
      watermarkMs: night(999),
      verifiedAtMs: undefined,
      lastDay: 999,
      cleanDays: [{ fromDay: 990, toDay: 1_000, rows: 240 }],
      heldFromDays: [],
    };
    expect(dueWindow(known, rules(night(1_000), { lookbackMs: 4 * DAY_MS, holeDays: 0 })).rows).toBe(24 * 5 + 1);
    expect(dueWindow(known, rules(night(1_000), { lookbackMs: Number.POSITIVE_INFINITY })).rows).toBe(990 + 240 + 1);
  });
});

const someDay = fc.integer({ min: 10_000, max: 30_000 });
const tierDay = fc.constantFrom<TierDay>(...weekdays, 'first of month');

/** Whether the platform's own calendar says that `day` is such a day. */
function isOn(on: TierDay, day: number): boolean {
  const date = new Date(`${dayText(day)}T12:00:00Z`);
  if (on === 'first of month') return date.getUTCDate() === 1;
  return new Intl.DateTimeFormat('en-GB', { weekday: 'long', timeZone: 'UTC' }).format(date).toLowerCase() === on;
}

describe('the lookback that is due', () => {
  it('a tier with a day is due exactly when such a day has begun since the last read', () => {
    fc.assert(
      fc.property(tierDay, someDay, fc.integer({ min: 0, max: 70 }), (on, lastDay, later) => {
        const tiers = [{ days: 90, on }];
        const days = Array.from({ length: later }, (_, index) => lastDay + 1 + index);
        const due = lookbackDue(tiers, dayText(lastDay), dayText(lastDay + later));
        expect(due).toEqual(days.some((day) => isOn(on, day)) ? tiers[0] : undefined);
      }),
    );
  });

  it('a tier is due once for each such day, however often and late a well is read between them', () => {
    fc.assert(
      fc.property(tierDay, someDay, fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 60 }), (on, first, steps) => {
        const tiers = [{ days: 7 }, { days: 90, on }];
        let day = first;
        let deep = 0;
        for (const step of steps) {
          if (lookbackDue(tiers, dayText(day), dayText(day + step))?.on === on) deep += 1;
          day += step;
        }
        const between = Array.from({ length: day - first }, (_, index) => first + 1 + index);
        expect(deep).toBe(between.filter((each) => isOn(on, each)).length);
      }),
    );
  });

  it('the deepest of the due tiers is chosen', () => {
    const tier = fc.record(
      { days: fc.oneof(fc.nat(400), fc.constant('all' as const)), on: tierDay },
      { requiredKeys: ['days'] },
    );
    fc.assert(
      fc.property(fc.array(tier, { maxLength: 5 }), someDay, fc.nat(40), (tiers: LookbackTier[], last, later) => {
        const depth = (each?: LookbackTier): number =>
          each === undefined ? -1 : each.days === 'all' ? 1e9 : each.days;
        const [lastDay, today] = [dayText(last), dayText(last + later)];
        const alone = tiers.map((each) => depth(lookbackDue([each], lastDay, today)));
        expect(depth(lookbackDue(tiers, lastDay, today))).toBe(Math.max(-1, ...alone));
      }),
    );
  });

  it('the text of a tier gives its days and its day', () => {
    expect(
      [{ days: 7 }, { days: 1, on: 'sunday' }, { days: 'all', on: 'first of month' }].map((each) =>
        tierText(each as LookbackTier),
      ),
    ).toEqual(['7 days', '1 day, on sunday', 'everything, on the first of the month']);
  });
});
