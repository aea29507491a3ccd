/** Decides which days a question to the warehouse is about, and refuses what is no day. Pure; the clock comes in. */
import { UsageError } from '../core/errors.ts';
import { dayNumber } from '../core/coverage.ts';
import { instantOfDay, productionCalendar } from '../core/production-day.ts';

export interface DayBounds {
  readonly fromDay?: number;
  /** The first day that is left out: today where none is named, since it is not over. */
  readonly toDay: number;
}

/** Both as the operator wrote them. Throws UsageError. */
export function dayBounds(options: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly timeZone: string;
  readonly nowMs: number;
}): DayBounds {
  const { from, to, timeZone, nowMs } = options;
  const fromDay = from === undefined ? undefined : namedDay('--from', from);
  const toDay = to === undefined ? dayNumber(productionCalendar(timeZone).dayOf(nowMs) ?? '') : namedDay('--to', to);
  if (fromDay === undefined) return { toDay };
  if (fromDay < toDay) return { fromDay, toDay };
  throw new UsageError(`--from ${from} is not before ${to === undefined ? 'today' : `--to ${to}`}`, {
    hint: '--to is the first day that is left out: one day is --from 2024-03-01 --to 2024-03-02.',
  });
}

function namedDay(flag: string, text: string): number {
  if (instantOfDay(text, 'UTC') !== undefined) return dayNumber(text);
  throw new UsageError(`${flag} ${JSON.stringify(text)} is not a day`, {
    hint: 'Write a day of the calendar as 2024-03-31.',
  });
}
