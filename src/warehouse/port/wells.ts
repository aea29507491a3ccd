/**
 * Ports to what is known of wells beside their rows: the days, quarantine, holds and runs of one, and the months of
 * many.
 */
import type { Fault } from '../../core/base/errors.ts';
import type { DayInterval } from '../../core/daily/coverage.ts';
import type { RateBasis } from '../../core/daily/units.ts';
import type { RunState } from '../../core/run/run.ts';

/** A record that broke the contract, as it came. */
export interface StoredQuarantine {
  /** YYYY-MM-DD; null where it cannot be read. */
  readonly day: string | null;
  readonly xid: string | null;
  readonly reason: string;
  /** JSON text, or its beginning. */
  readonly raw: string;
  readonly runId: string;
  readonly noticedAtMs: number;
  /** Who accepted it as it is, and why; null where nobody did. */
  readonly accepted: { readonly by: string; readonly atMs: number; readonly because: string } | null;
}

/** Rows of a month that stay although the service no longer has them. Days are day numbers, both of them included. */
export interface StoredHold {
  readonly rows: number;
  readonly firstDay: number;
  readonly lastDay: number;
  readonly runId: string;
  readonly sinceMs: number;
}

/** What a run did of the well. */
export interface WellRead {
  readonly runId: string;
  readonly job: string;
  readonly runState: RunState;
  /** Of its unit, the worst of several: `open` while it is not settled. */
  readonly state: 'open' | 'done' | 'held' | 'failed' | 'unknown';
  /** What its windows span, the end excluded; undefined where they are not known. */
  readonly span: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** Rows that were inserted, updated and removed. */
  readonly changed: number;
  readonly fault: Fault | undefined;
  readonly requestedAtMs: number;
  /** When the run ended, or else began. */
  readonly atMs: number;
}

export interface WellHistory {
  /** Days of verified reads, of rows, and of quarantined records; in order. */
  readonly read: readonly DayInterval[];
  readonly present: readonly DayInterval[];
  readonly quarantinedDays: readonly DayInterval[];
  /** The latest days first, at most as many as were asked for. */
  readonly quarantined: readonly StoredQuarantine[];
  readonly quarantinedRecords: number;
  /** Those of {@link quarantinedRecords} that a person accepted, and the days with one that nobody did. */
  readonly acceptedRecords: number;
  readonly unacceptedDays: readonly DayInterval[];
  readonly holds: readonly StoredHold[];
  /** The latest first; without those that were cancelled before they read the well. */
  readonly reads: readonly WellRead[];
  /** Columns of daily production with a value other than 0 in any row. */
  readonly columns: readonly string[];
}

/** What a run brought of one well. */
export interface RunEffect {
  /** The worst of its units; undefined where they are not kept any more. */
  readonly state: WellRead['state'] | 'cancelled' | undefined;
  /** Days that had no row before the run, and have one by it; and days of which it changed a row or removed it. */
  readonly filled: readonly DayInterval[];
  readonly changed: readonly DayInterval[];
  /** Whether the well had a row before the run brought its first one. */
  readonly hadRows: boolean;
  readonly quarantined: number;
  readonly heldRows: number;
}

/** Read in one transaction. */
export type ReadRunEffect = (uwi: string, runId: string) => Promise<RunEffect>;

/** Read in one transaction. */
export type ReadWellHistory = (
  uwi: string,
  question: {
    readonly columns: readonly string[];
    readonly mostQuarantined: number;
    readonly mostReads: number;
  },
) => Promise<WellHistory>;

// The port to months of wells: the view `monthly_production`, and what was known of a month before.

/** In the units of the warehouse (core/daily/units.ts); null where no day has a value. */
export interface Volumes {
  readonly oil: number | null;
  readonly gas: number | null;
  readonly water: number | null;
  readonly waterInjected: number | null;
  readonly gasInjected: number | null;
}

/** A well in a month of which a day is known. */
export interface MonthOfWell extends Volumes {
  readonly uwi: string;
  /** Its first day, YYYY-MM-DD. */
  readonly month: string;
  /** Days as coverage has them. A day that is quarantined may have an older row, which is in the sums. */
  readonly daysPresent: number;
  readonly daysMissing: number;
  readonly daysQuarantined: number;
  /** Of the days with a row: 24 of each but the hours down. Null without a row. */
  readonly hoursOn: number | null;
  /** Null where no day has a value. */
  readonly downtimeHours: number | null;
  /** Hours down by their code, the empty one for hours without one. Null without a row. */
  readonly downtimeByCode: Readonly<Record<string, number>> | null;
  /** At the moment of the question, by the basis of now. */
  readonly asKnown?: Pick<Volumes, 'oil' | 'gas' | 'water'>;
}

export interface MonthsQuestion {
  /** Omitted: all wells with a row or a quarantined record. */
  readonly uwis?: readonly string[];
  /** Compares each month with what was known then, milliseconds since 1970; never before the horizon of the history. */
  readonly knownAtMs?: number;
  /** Only months behind this one, in their order. */
  readonly after?: Pick<MonthOfWell, 'uwi' | 'month'>;
  readonly limit?: number;
}

export interface MonthStore {
  /** Months in the order of wells and time. Valid during the call of `use`, which must not call the warehouse. */
  months<T>(question: MonthsQuestion, use: (months: AsyncIterable<MonthOfWell>) => Promise<T>): Promise<T>;
  /** What the rates of the warehouse mean. */
  rateBasis(): Promise<RateBasis>;
  /** Sets it; writes nothing where it is so. */
  keepRateBasis(basis: RateBasis): Promise<void>;
}
