/** Intervals of calendar days: those that a read covers, and those still to read (docs/design.md section 4.1). */
import { dayNumber, dayText, instantOfDay, productionCalendar } from '../time/production-day.ts';
import type { Window } from '../time/window.ts';

/** Half-open interval [fromDay, toDay) of day numbers: days since 1970-01-01. */
export interface DayInterval {
  readonly fromDay: number;
  readonly toDay: number;
}

/**
 * The days of `timeZone` that lie in `window` from their first instant to their last. Excludes a day that the window
 * cuts, and a day that was not over at `readAtMs`, since more rows of it may come. Undefined when no day is left.
 */
export function wholeDays(window: Window, timeZone: string, readAtMs: number): DayInterval | undefined {
  const calendar = productionCalendar(timeZone);
  const [first, end] = [calendar.dayOf(window.fromMs), calendar.dayOf(Math.min(window.toMs, readAtMs))];
  if (first === undefined || end === undefined) return undefined;
  const isCut = instantOfDay(first, timeZone) !== window.fromMs;
  const interval = { fromDay: dayNumber(first) + (isCut ? 1 : 0), toDay: dayNumber(end) };
  return interval.fromDay < interval.toDay ? interval : undefined;
}

/** The same days as disjoint intervals in order. Joins intervals that lie `apartDays` days or fewer apart. */
export function mergeDays(intervals: readonly DayInterval[], apartDays = 0): readonly DayInterval[] {
  const merged: DayInterval[] = [];
  for (const next of intervals.toSorted((left, right) => left.fromDay - right.fromDay)) {
    const last = merged.at(-1);
    if (next.toDay <= next.fromDay) continue;
    if (last === undefined || next.fromDay - last.toDay > apartDays) merged.push(next);
    else merged[merged.length - 1] = { fromDay: last.fromDay, toDay: Math.max(last.toDay, next.toDay) };
  }
  return merged;
}

/** The days of `whole` that are in none of `parts`, as disjoint intervals in order. */
export function subtractDays(whole: DayInterval, parts: readonly DayInterval[]): readonly DayInterval[] {
  const left: DayInterval[] = [];
  let { fromDay } = whole;
  for (const part of mergeDays(parts)) {
    if (part.fromDay > fromDay) left.push({ fromDay, toDay: Math.min(part.fromDay, whole.toDay) });
    fromDay = Math.max(fromDay, part.toDay);
  }
  left.push({ fromDay, toDay: whole.toDay });
  return left.filter((interval) => interval.fromDay < interval.toDay);
}

/**
 * Gaps this close are read as one window: rereading 30 known days, about a page, costs less than the requests of
 * another window.
 */
const joinedApartDays = 30;

/** A few disjoint intervals that cover every unknown day of `asked`. Each begins and ends with an unknown day. */
export function gapsToRead(asked: DayInterval, known: readonly DayInterval[]): readonly DayInterval[] {
  return mergeDays(subtractDays(asked, known), joinedApartDays);
}

/**
 * The window from the first instant of `fromDay` to the first instant of `toDay` in `timeZone`. Throws RangeError for a
 * day outside the years 1 to 9999.
 */
export function windowOfDays({ fromDay, toDay }: DayInterval, timeZone: string): Window {
  return { fromMs: firstInstant(fromDay, timeZone), toMs: firstInstant(toDay, timeZone) };
}

function firstInstant(day: number, timeZone: string): number {
  const instantMs = instantOfDay(dayText(day), timeZone);
  if (instantMs === undefined) throw new RangeError(`there is no day ${dayText(day)} in ${timeZone}`);
  return instantMs;
}

/** Counts of days by status. `asked` is the sum of the four others. */
export interface CoverageCounts {
  readonly asked: number;
  /** The warehouse has a row of the day, and no quarantined record. */
  readonly present: number;
  /** The service sent a record of the day that breaks the contract; an earlier row of it may be stored. */
  readonly quarantined: number;
  /** A verified read returned no record of the day. */
  readonly missing: number;
  readonly neverRead: number;
}

export interface WellCoverage extends CoverageCounts {
  readonly uwi: string;
  /** First and last day with a row or a quarantined record, YYYY-MM-DD; null when there is none. */
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** Missing days after the last day: the well was shut in, or stopped reporting. */
  readonly missingAfterLast: number;
}

/** Days that need attention: quarantined, never read, or missing before the last day. */
export function holesOf(
  well: Pick<WellCoverage, 'neverRead' | 'quarantined' | 'missing' | 'missingAfterLast'>,
): number {
  return well.neverRead + well.quarantined + well.missing - well.missingAfterLast;
}
