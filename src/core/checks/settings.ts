/** The checks by name, and their numbers (`checks` of the configuration). */
import type { Severity } from '../alerts/kinds.ts';

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
