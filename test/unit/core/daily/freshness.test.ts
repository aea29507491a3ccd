import { describe, expect, it } from 'vitest';
import { freshnessNotice, freshnessOf, lastDayAfter } from '../../../../src/core/daily/watermark.ts';
import { dayText } from '../../../../src/core/time/production-day.ts';

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
