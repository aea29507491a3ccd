/** What a check is given: the days of a well, the hours of each, and what is known beside its rows. Pure. */
import { dayText, instantOfDay, isTimeZone } from '../time/production-day.ts';
import { HOUR_MS } from '../time/window.ts';
import type { CheckHistory, ReadPartial } from './history.ts';
import type { CheckSettings } from './settings.ts';
import type { WellDays } from './well-days.ts';

/** What the record of the well says (`wells.typeField` and others); what it does not say is undefined. */
export interface WellFacts {
  readonly type?: 'producer' | 'injector' | undefined;
  readonly isIdle?: boolean | undefined;
  readonly lift?: 'gas-lift' | 'esp' | undefined;
  /** The zone of the well's days, where it has one of its own. */
  readonly timeZone?: string | undefined;
  /** The day from which on this was known: what the well was before, nobody says. */
  readonly fromDay: number;
}

export interface CheckedWell {
  /** In a check they reach `reachDays` farther than the days that are evaluated, on both sides, as far as there are rows. */
  readonly days: WellDays;
  readonly facts: WellFacts | undefined;
  readonly history: CheckHistory;
  /** Of the days that are evaluated. */
  readonly partials: readonly ReadPartial[];
  /** Day number: later days are in the future. */
  readonly today: number;
  readonly hoursOf: HoursOfDay;
}

/** Indices of the days that are evaluated: from `from` on, before `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Adds what it finds in the span. */
export type Check = (
  well: CheckedWell,
  span: Span,
  settings: CheckSettings,
  add: (day: number, field: string, value: number, expected: number | null) => void,
) => void;

// The hours of a day: 23 and 25 where clocks change.

export type HoursOfDay = (day: number) => number;

const usualHours = 24;

/** In a zone, where days are midnight to midnight. */
export function hoursOfDays(timeZone: string): HoursOfDay {
  if (timeZone === 'UTC') return () => usualHours;
  return (day) => {
    const [from, to] = [instantOfDay(dayText(day), timeZone), instantOfDay(dayText(day + 1), timeZone)];
    // Behind the year 9999 there is no day.
    return from === undefined || to === undefined ? usualHours : (to - from) / HOUR_MS;
  };
}

// What the record of a well says of it, out of its own words.

/** The texts of a record, as they came; null where it has none. */
export interface WellTexts {
  readonly type: string | null;
  readonly status: string | null;
  readonly lift: string | null;
  readonly timeZone: string | null;
  /** Day number of the day on which the record came to say so. */
  readonly fromDay: number;
}

/**
 * Words are those of the vendor's documentation (PRODUCER, INJECTOR; ACTIVE, INACTIVE, ABANDONED), whatever their case and
 * their hyphens; of another word nothing is known.
 */
export function factsOf({ type, status, lift, timeZone, fromDay }: WellTexts): WellFacts {
  const kind = plain(type);
  return {
    type: kind.startsWith('PROD') ? 'producer' : kind.includes('INJ') ? 'injector' : undefined,
    isIdle: ['INACTIVE', 'ABANDONED'].includes(plain(status)),
    lift: liftOf(plain(lift)),
    timeZone: timeZone !== null && isTimeZone(timeZone) ? timeZone : undefined,
    fromDay,
  };
}

function liftOf(lift: string): WellFacts['lift'] {
  if (lift.includes('ESP') || lift.includes('SUBMERSIBLE')) return 'esp';
  return lift.includes('GASLIFT') ? 'gas-lift' : undefined;
}

function plain(word: string | null): string {
  return (word ?? '').toUpperCase().replaceAll(/[^A-Z]/g, '');
}
