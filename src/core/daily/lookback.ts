/**
 * Lookback of a well: how far below the watermark an incremental run reads again. Late corrections become rarer with
 * age, so deeper tiers run on fewer days (docs/design.md section 4.1).
 */
import { counted } from '../base/text.ts';
import { dayNumber, dayText } from '../time/day-number.ts';

export const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

/** A day of the week, or the first day of a month. */
export const tierDays = [...weekdays, 'first of month'] as const;
export type TierDay = (typeof tierDays)[number];

export interface LookbackTier {
  /** Days below the watermark; `all` reads from the start of history. */
  readonly days: number | 'all';
  /** Day on which the tier is due; undefined means every run. */
  readonly on?: TierDay | undefined;
}

/**
 * The deepest tier due for a well; undefined when none is. A tier with a day is due when such a day has begun in
 * (`lastDay`, `today`], where `lastDay` is the day of the well's last read. Both are YYYY-MM-DD in the configured zone.
 * So a tier runs once a well, on the first successful run from its day on: Monday makes up for a Sunday without a run,
 * and a second run on a Sunday does not read 90 days again.
 */
export function lookbackDue(tiers: readonly LookbackTier[], lastDay: string, today: string): LookbackTier | undefined {
  const due = tiers.filter(({ on }) => on === undefined || hasBegun(on, dayNumber(lastDay), dayNumber(today)));
  return due.toSorted((left, right) => depthOf(right) - depthOf(left))[0];
}

function depthOf({ days }: LookbackTier): number {
  return days === 'all' ? Number.POSITIVE_INFINITY : days;
}

/** Whether a day of the kind `on` lies in (lastDay, today]. Every kind occurs at least once in 31 days. */
function hasBegun(on: TierDay, lastDay: number, today: number): boolean {
  for (let day = today; day > Math.max(lastDay, today - 31); day -= 1) {
    if (matchesDay(on, day)) return true;
  }
  return false;
}

/** 1970-01-01 was a Thursday. */
function matchesDay(on: TierDay, day: number): boolean {
  if (on === 'first of month') return dayText(day).endsWith('-01');
  return weekdays[(((day + 4) % 7) + 7) % 7] === on;
}

/** The tier as plans and reports print it: `90 days, on sunday`. */
export function tierText({ days, on }: LookbackTier): string {
  const depth = days === 'all' ? 'everything' : counted(days, 'day');
  return on === undefined ? depth : `${depth}, on ${on === 'first of month' ? 'the first of the month' : on}`;
}
