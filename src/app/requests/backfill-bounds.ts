/** Bounds of a backfill, from the days of an operator. Pure; the clock is an argument. */
import { UsageError } from '../../core/base/errors.ts';
import { instantOfDateTime, instantOfDay, productionCalendar } from '../../core/time/production-day.ts';
import { instantText } from '../../core/base/text.ts';

export interface BackfillBounds {
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

/** Parses days or ISO date-times. Throws UsageError for bounds that can only be a mistake. */
export function backfillBounds(options: {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly timeZone: string;
  readonly historyFromMs: number;
  readonly nowMs: number;
  /** Names of the bounds in messages. */
  readonly names: Readonly<Record<'from' | 'to', string>>;
}): BackfillBounds {
  const { timeZone, historyFromMs, nowMs, names } = options;
  const fromMs = options.from === undefined ? undefined : namedInstant(names.from, options.from, timeZone);
  const toMs = options.to === undefined ? undefined : namedInstant(names.to, options.to, timeZone);
  if (fromMs !== undefined && fromMs >= nowMs) {
    throw new UsageError(`${names.from} ${options.from} is in the future`, {
      hint: `It is ${instantText(nowMs)} now.`,
    });
  }
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    throw new UsageError(`${names.from} ${options.from} is not before ${names.to} ${options.to}`, {
      hint: oneDayHint(names),
    });
  }
  if (fromMs === undefined && toMs !== undefined && toMs <= historyFromMs) {
    throw new UsageError(`${names.to} ${options.to} is not after the start of history`, {
      hint: `Set ${names.from} as well, or export.historyFrom in the configuration.`,
    });
  }
  return { ...(fromMs === undefined ? {} : { fromMs }), ...(toMs === undefined ? {} : { toMs }) };
}

export function oneDayHint({ from, to }: Readonly<Record<'from' | 'to', string>>): string {
  return `${to} is the first day that is left out: one day is ${from} 2024-03-01 ${to} 2024-03-02.`;
}

/**
 * The instant for a text: a day of the zone, or an ISO date-time. Throws UsageError that refers to the input as `name`.
 */
export function namedInstant(name: string, text: string, timeZone: string): number {
  const instantMs = instantOfDay(text, timeZone) ?? instantOfDateTime(text, productionCalendar(timeZone));
  if (instantMs !== undefined) return instantMs;
  throw new UsageError(`${name} ${JSON.stringify(text)} is not a day or a date-time`, {
    hint: 'Write a day of the calendar as 2024-03-31, or an ISO date-time as 2024-03-31T06:00:00Z.',
  });
}
