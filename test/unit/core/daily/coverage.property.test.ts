import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DayInterval,
  gapsToRead,
  mergeDays,
  subtractDays,
  wholeDays,
  windowOfDays,
} from '../../../../src/core/daily/coverage.ts';
import { dayNumber, dayText, productionCalendar } from '../../../../src/core/time/production-day.ts';
import { DAY_MS, isInside } from '../../../../src/core/time/window.ts';

const zone = fc.constantFrom('UTC', 'Europe/Oslo', 'America/Sao_Paulo', 'America/Havana', 'Asia/Kathmandu');
const instant = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2030, 0, 1) });
const interval = fc
  .tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: -2, max: 40 }))
  .map(([fromDay, length]): DayInterval => ({ fromDay, toDay: fromDay + length }));
const intervals = fc.array(interval, { maxLength: 12 });

function daysIn(all: readonly DayInterval[]): ReadonlySet<number> {
  const days = new Set<number>();
  for (const { fromDay, toDay } of all) for (let day = fromDay; day < toDay; day += 1) days.add(day);
  return days;
}

function expectApart(all: readonly DayInterval[], apartDays: number): void {
  for (const [index, { fromDay, toDay }] of all.entries()) {
    expect(fromDay).toBeLessThan(toDay);
    const next = all[index + 1];
    if (next !== undefined) expect(next.fromDay - toDay).toBeGreaterThan(apartDays);
  }
}

describe('intervals of days', () => {
  it('merged day intervals hold the same days, in order, and neither touch nor overlap', () => {
    fc.assert(
      fc.property(intervals, (given) => {
        const merged = mergeDays(given);
        expect(daysIn(merged)).toEqual(daysIn(given));
        expectApart(merged, 0);
      }),
    );
  });

  it('subtracting day intervals leaves exactly the days that are in none of them', () => {
    fc.assert(
      fc.property(interval, intervals, (whole, parts) => {
        const gone = daysIn(parts);
        const left = subtractDays(whole, parts);
        expect(daysIn(left)).toEqual(new Set([...daysIn([whole])].filter((day) => !gone.has(day))));
        expectApart(left, 0);
      }),
    );
  });

  it('intervals to read cover every gap, begin and end with one, and lie more than a page of days apart', () => {
    fc.assert(
      fc.property(interval, intervals, (asked, known) => {
        const gaps = daysIn(subtractDays(asked, known));
        const windows = gapsToRead(asked, known);
        const read = daysIn(windows);
        for (const day of gaps) expect(read).toContain(day);
        for (const { fromDay, toDay } of windows) {
          expect(gaps).toContain(fromDay);
          expect(gaps).toContain(toDay - 1);
        }
        expectApart(windows, 30);
      }),
    );
  });
});

describe('the whole days of a window', () => {
  it('G4: a read covers exactly the days whose every instant lies in its window', () => {
    fc.assert(
      fc.property(zone, instant, fc.integer({ min: 1, max: 9 * DAY_MS }), (timeZone, fromMs, lengthMs) => {
        const window = { fromMs, toMs: fromMs + lengthMs };
        const { dayOf } = productionCalendar(timeZone);
        const touched = new Set<number>();
        const cut = new Set<number>();
        // In these zones every day begins on a quarter of an hour.
        const stepMs = DAY_MS / 96;
        for (
          let atMs = Math.floor(fromMs / stepMs) * stepMs - 2 * DAY_MS;
          atMs < window.toMs + 2 * DAY_MS;
          atMs += stepMs
        ) {
          const day = dayNumber(dayOf(atMs) ?? '');
          for (const edgeMs of [atMs, atMs + stepMs - 1]) (isInside(window, edgeMs) ? touched : cut).add(day);
        }
        const days = wholeDays(window, timeZone, window.toMs);
        const expected = [...touched].filter((day) => !cut.has(day)).toSorted((left, right) => left - right);
        expect([...daysIn(days === undefined ? [] : [days])]).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('the window made from an interval of days has exactly these whole days', () => {
    fc.assert(
      fc.property(
        zone,
        fc.integer({ min: 8_000, max: 20_000 }),
        fc.integer({ min: 1, max: 90 }),
        (timeZone, from, length) => {
          const days = { fromDay: from, toDay: from + length };
          const window = windowOfDays(days, timeZone);
          expect(wholeDays(window, timeZone, window.toMs)).toEqual(days);
          expect(dayNumber(dayText(from))).toBe(from);
        },
      ),
    );
  });

  it('a read covers no day that was not over at the time of the read', () => {
    const [fromMs, toMs] = [Date.parse('2024-01-01T00:00Z'), Date.parse('2024-02-01T00:00Z')];
    const readAtMs = Date.parse('2024-01-10T05:00Z');
    const days = { fromDay: dayNumber('2024-01-01'), toDay: dayNumber('2024-01-10') };
    expect(wholeDays({ fromMs, toMs }, 'UTC', readAtMs)).toEqual(days);
    expect(wholeDays({ fromMs: readAtMs, toMs }, 'UTC', readAtMs)).toBeUndefined();
  });
});
