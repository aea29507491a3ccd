/** The last days of a well, as a strip of one cell a day. Pure. */
import type { DayState } from '../../core/daily/well-days.ts';
import { dayNumber, dayText } from '../../core/time/production-day.ts';
import type { WellDocument } from './well.ts';

const stripDays = 92;

export interface Strip {
  readonly days: number;
  /** YYYY-MM-DD. */
  readonly firstDay: string;
  readonly lastDay: string;
  /** By the number of the cell, from 0; `to` is exclusive. */
  readonly parts: ReadonlyArray<
    Readonly<Record<'from' | 'to', number>> & { readonly state: DayState; readonly text: string }
  >;
  /** The cells that a week begins with: Mondays. */
  readonly weeks: readonly number[];
}

/** Undefined for a well without a day. */
export function stripOf({ stretches }: Pick<WellDocument, 'stretches'>): Strip | undefined {
  const last = stretches.at(-1);
  if (last === undefined) return undefined;
  const end = dayNumber(last.to);
  const begin = end - stripDays;
  const parts = stretches.flatMap(({ from, to, state }) => {
    const [first, behind] = [Math.max(dayNumber(from), begin), dayNumber(to)];
    const text = `${dayText(first)} to ${dayText(behind - 1)}`;
    return behind <= begin ? [] : [{ from: first - begin, to: behind - begin, state, text }];
  });
  // Day 4 since 1970-01-01 was a Monday.
  const weeks = Array.from({ length: stripDays }, (_, cell) => cell).filter((cell) => (begin + cell) % 7 === 4);
  return { days: stripDays, firstDay: dayText(begin), lastDay: dayText(end - 1), parts, weeks };
}

/** The number of days of [from, to), YYYY-MM-DD. */
export function daysBetween({ from, to }: Readonly<Record<'from' | 'to', string>>): number {
  return dayNumber(to) - dayNumber(from);
}

/** `2014-02-07`, `2014-02-07 to 2014-02-09`, of the days of [from, to). */
export function rangeText({ from, to }: Readonly<Record<'from' | 'to', string>>): string {
  const last = dayText(dayNumber(to) - 1);
  return from === last ? from : `${from} to ${last}`;
}
