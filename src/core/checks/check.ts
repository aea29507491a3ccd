/** What a check is given: the days of a well, the hours of each, and what is known beside its rows. Pure. */
import { dayText, instantOfDay, isTimeZone } from '../time/production-day.ts';
import { HOUR_MS } from '../time/window.ts';
import type { CheckHistory, ReadPartial, WellDays } from './well-days.ts';
import type { Severity } from '../alerts/kinds.ts';

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

// The checks by name, and their numbers (`checks` of the configuration).

/** In the order of docs/production-data.md. Stored in `check_result`: a name never changes. */
export const checkNames = [
  'maybe-missing-zero',
  'hours-out-of-bounds',
  'production-while-down',
  'downtime-reason',
  'rate-or-volume',
  'negative',
  'stale-repeat',
  'jump',
  'excluded-stream',
  'day-identity',
  'unit-slip',
] as const;
export type CheckName = (typeof checkNames)[number];

/**
 * A finding of a day rests on rows at most so many days before and after it: what changes a row changes no finding farther
 * away. No number of the settings reaches farther.
 */
export const reachDays = 30;

/** The days before one, by which a well or a gauge is known. */
export const daysBefore = { before: reachDays, after: -1 } as const;

export interface CheckSettings {
  /** The checks that are made. */
  readonly names: readonly CheckName[];
  /** `info` where none is named. */
  readonly severity: Readonly<Partial<Record<CheckName, Severity>>>;
  /** Whose days may have 23 or 25 hours, where a well has no zone of its own. */
  readonly timeZone: string;
  /** A day with up to so many hours of downtime is one of full flow. */
  readonly fullFlowHours: number;
  /** By which hours may exceed their bounds: they are rounded. */
  readonly hoursTolerance: number;
  /** psig. */
  readonly leastPressure: number;
  /** Rows of the 30 days before by which a well or gauge is known. */
  readonly fewestDays: number;
  readonly partial: {
    /** Days with so many hours of downtime tell whether rates are of the day or of the hours on. */
    readonly fromHours: number;
    /** Full-flow days of which the median is taken. */
    readonly medianDays: number;
    /** How near a rate has to be, as a share. */
    readonly tolerance: number;
  };
  readonly repeatDays: number;
  readonly jump: {
    /** Full-flow days before and after, each. */
    readonly days: number;
    /** Days of full flow before one that may be a jump. */
    readonly settleDays: number;
    /** In units of 1.4826 x MAD, the standard deviation of a normal distribution. */
    readonly deviations: number;
    /** Of the median, as a share: what differs by less is no jump, however even the days around are. */
    readonly leastShare: number;
  };
  readonly unitSlip: {
    readonly days: number;
    readonly tolerance: number;
    readonly factors: readonly number[];
  };
}

export function severityOf({ severity }: Pick<CheckSettings, 'severity'>, check: CheckName): Severity {
  return severity[check] ?? 'info';
}
