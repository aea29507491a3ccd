import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayText } from '../../../../src/core/time/production-day.ts';
import {
  lookbackDue,
  type LookbackTier,
  type TierDay,
  tierText,
  weekdays,
} from '../../../../src/core/daily/due-window.ts';

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
