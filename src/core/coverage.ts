/**
 * Decides which days a read accounts for, and which stretches of days are left to read: half-open intervals of calendar
 * days, as the ledger of coverage keeps them (DESIGN.md section 4.1).
 */
import { instantOfDay, productionCalendar } from './production-day.ts';
import { DAY_MS, type Window } from './window.ts';

/** Days [fromDay, toDay) of a calendar, each as its number: days since 1970-01-01. */
export interface DayInterval {
  readonly fromDay: number;
  readonly toDay: number;
}

/** The number of a day that is written YYYY-MM-DD. */
export function dayNumber(day: string): number {
  return Math.round(Date.parse(`${day}T00:00:00Z`) / DAY_MS);
}

/** A day by its number, as YYYY-MM-DD. */
export function dayText(number: number): string {
  return new Date(number * DAY_MS).toISOString().slice(0, 10);
}

/**
 * The days of a zone that lie in a window from their first instant to their last. A day that the window cuts is not among
 * them, and neither is one that was not over at `readAtMs`: rows of it may come yet. Undefined where there is none.
 */
export function wholeDays(window: Window, timeZone: string, readAtMs: number): DayInterval | undefined {
  const calendar = productionCalendar(timeZone);
  const [first, end] = [calendar.dayOf(window.fromMs), calendar.dayOf(Math.min(window.toMs, readAtMs))];
  if (first === undefined || end === undefined) return undefined;
  const isCut = instantOfDay(first, timeZone) !== window.fromMs;
  const interval = { fromDay: dayNumber(first) + (isCut ? 1 : 0), toDay: dayNumber(end) };
  return interval.fromDay < interval.toDay ? interval : undefined;
}

/** The same days as disjoint intervals in order, with those put together that lie `apartDays` days or fewer apart. */
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

/** The days of `whole` that are in none of the `parts`. */
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

/** Reading so many known days again costs less than the requests of another window: what a page holds, roughly. */
const joinedApartDays = 30;

/** Few windows that hold every day of `asked` that is not known. They do not overlap, and each begins and ends with such a day. */
export function gapsToRead(asked: DayInterval, known: readonly DayInterval[]): readonly DayInterval[] {
  return mergeDays(subtractDays(asked, known), joinedApartDays);
}

/** The instants of days in a zone. */
export function windowOfDays({ fromDay, toDay }: DayInterval, timeZone: string): Window {
  return { fromMs: firstInstant(fromDay, timeZone), toMs: firstInstant(toDay, timeZone) };
}

function firstInstant(day: number, timeZone: string): number {
  const instantMs = instantOfDay(dayText(day), timeZone);
  if (instantMs === undefined) throw new RangeError(`there is no day ${dayText(day)} in ${timeZone}`);
  return instantMs;
}

/** What is known of days, each in one of four ways; together they make `asked`. */
export interface CoverageSums {
  readonly asked: number;
  /** The warehouse has a row of the day. */
  readonly present: number;
  /** It has none, but a record of the day that breaks the contract. */
  readonly quarantined: number;
  /** A verified read brought nothing of the day. */
  readonly missing: number;
  readonly neverRead: number;
}

export interface WellCoverage extends CoverageSums {
  readonly uwi: string;
  /** The first and the last day of which anything is known, YYYY-MM-DD; null where there is none. */
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  /** Of the missing ones, those after the last day: a well that was shut in, or one that fell silent. */
  readonly missingAfterLast: number;
}
