/**
 * Decides how far below its watermark a well is read again: rows are corrected late, and the later the rarer, so the
 * deeper tiers come on fewer days (DESIGN.md section 4.1).
 */
import { dayNumber, dayText } from './coverage.ts';

export const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

/** A day of the week, or the first day of a month. */
export const tierDays = [...weekdays, 'first of month'] as const;
export type TierDay = (typeof tierDays)[number];

export interface LookbackTier {
  /** How many days below the watermark; `all` is from the start of history. */
  readonly days: number | 'all';
  /** The days on which the tier comes; every run, where it is left out. */
  readonly on?: TierDay | undefined;
}

/**
 * The deepest tier that is due for a well; undefined where none is. A tier with a day is due when such a day has begun
 * since the well was read last, `lastDay`, up to `today`, both YYYY-MM-DD in the configured zone. So a tier comes once a
 * well, on the first run that succeeds from its day on: a Sunday on which nothing ran is made up for on Monday, and a
 * second run on a Sunday does not read 90 days again.
 */
export function lookbackDue(tiers: readonly LookbackTier[], lastDay: string, today: string): LookbackTier | undefined {
  const due = tiers.filter(({ on }) => on === undefined || hasBegun(on, dayNumber(lastDay), dayNumber(today)));
  return due.toSorted((left, right) => depthOf(right) - depthOf(left))[0];
}

function depthOf({ days }: LookbackTier): number {
  return days === 'all' ? Number.POSITIVE_INFINITY : days;
}

/** Whether such a day lies in (lastDay, today]. No kind of day is rarer than once in 31 days. */
function hasBegun(on: TierDay, lastDay: number, today: number): boolean {
  for (let day = today; day > Math.max(lastDay, today - 31); day -= 1) {
    if (isSuch(on, day)) return true;
  }
  return false;
}

/** 1970-01-01 was a Thursday. */
function isSuch(on: TierDay, day: number): boolean {
  if (on === 'first of month') return dayText(day).endsWith('-01');
  return weekdays[(((day + 4) % 7) + 7) % 7] === on;
}

/** `90 days, on sunday`: as a plan and a report name it. */
export function tierText({ days, on }: LookbackTier): string {
  const depth = days === 'all' ? 'everything' : days === 1 ? '1 day' : `${days} days`;
  return on === undefined ? depth : `${depth}, on ${on === 'first of month' ? 'the first of the month' : on}`;
}
