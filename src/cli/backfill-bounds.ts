/** Decides what --from and --to of an export mean, and refuses what can only be a slip. Pure; the clock comes in. */
import { UsageError } from '../core/errors.ts';
import { instantOfDateTime, instantOfDay, productionCalendar } from '../core/production-day.ts';
import { instantText } from './words.ts';

export interface BackfillBounds {
  readonly fromMs?: number;
  /** The first instant that is left out. */
  readonly toMs?: number;
}

/** Both as the operator wrote them: a day or an ISO date-time. Throws UsageError. */
export function backfillBounds(options: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly timeZone: string;
  readonly historyFromMs: number;
  readonly nowMs: number;
}): BackfillBounds {
  const { timeZone, historyFromMs, nowMs } = options;
  const fromMs = options.from === undefined ? undefined : namedInstant('--from', options.from, timeZone);
  const toMs = options.to === undefined ? undefined : namedInstant('--to', options.to, timeZone);
  if (fromMs !== undefined && fromMs >= nowMs) {
    throw new UsageError(`--from ${options.from} is in the future`, { hint: `It is ${instantText(nowMs)} now.` });
  }
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    throw new UsageError(`--from ${options.from} is not before --to ${options.to}`, {
      hint: '--to is the first day that is left out: one day is --from 2024-03-01 --to 2024-03-02.',
    });
  }
  if (fromMs === undefined && toMs !== undefined && toMs <= historyFromMs) {
    throw new UsageError(`--to ${options.to} is not after the start of history`, {
      hint: 'Set --from as well, or export.historyFrom in the configuration.',
    });
  }
  return { ...(fromMs === undefined ? {} : { fromMs }), ...(toMs === undefined ? {} : { toMs }) };
}

/** The instant that an option names: a day of the zone, or an ISO date-time. Throws UsageError. */
export function namedInstant(flag: string, text: string, timeZone: string): number {
  const instantMs = instantOfDay(text, timeZone) ?? instantOfDateTime(text, productionCalendar(timeZone));
  if (instantMs !== undefined) return instantMs;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is not a day or a date-time`, {
    hint: 'Write a day of the calendar as 2024-03-31, or an ISO date-time as 2024-03-31T06:00:00Z.',
  });
}
