/**
 * Ports to what is known of wells beside their rows: the days, quarantine, holds and runs of one, the months of many, what
 * checks find, and definitions.
 */
import type { Fault } from '../../core/base/errors.ts';
import type { DayInterval } from '../../core/daily/coverage.ts';
import type { RateBasis } from '../../core/daily/units.ts';
import type { RunState, UnitOutcome } from '../../core/run/run.ts';
import type { ShrinkGuard } from '../../core/daily/shrink-guard.ts';
import type { RecordList, RecordOf } from '../../core/definitions/record-list.ts';
import type { WellBody } from '../../core/definitions/well-body.ts';
import type { Severity } from '../../core/alerts/kinds.ts';
import type { CheckSummary } from '../../core/checks/check-alert.ts';
import type { CheckName, CheckSettings } from '../../core/checks/check.ts';

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

// Ports to the records beside daily production: lists of records, and wells (docs/design.md section 4.2).

/** A complete answer about one target, which replaces the stored records of that target. */
export interface RecordsReading {
  /** The unit of the run that this reading settles. */
  readonly unit: number;
  readonly target: string;
  readonly records: ReadonlyArray<RecordOf<RecordList>>;
}

export interface WellReading {
  readonly unit: number;
  /** Source well id. */
  readonly target: string;
  readonly well: WellBody;
}

/**
 * Replaces the stored records of these targets, in one transaction with history and the outcomes of the units (G1).
 * Skips units that are already settled. core/definitions/definition.ts decides what is inserted, updated, removed and
 * held. Returns the outcomes of the units that this call settled.
 *
 * Where a read with a higher number (ReadOrder) has committed a target, and this one would change it, nothing of it is
 * written and its unit stays open: it has to be read again. By the last read the later one stands and the unit is settled.
 */
export type CommitDefinitions<Reading> = (batch: {
  readonly runId: string;
  readonly readings: readonly Reading[];
  readonly shrink: ShrinkGuard;
  /** From ReadOrder.begin, before the first request; without one they count as read at their commit. */
  readonly readNo?: number;
  /** The units are not read again. */
  readonly isLastRead?: boolean;
  /** For readings of a time that is known, in place of the clock of the database. */
  readonly committedAtMs?: number;
}) => Promise<readonly UnitOutcome[]>;

/** The records of one list. */
export interface RecordStore {
  readonly commit: CommitDefinitions<RecordsReading>;
  readonly settleUnknown: SettleUnknown;
  /** The targets with records, in order. */
  targets(): Promise<readonly string[]>;
}

/** Paths of fields in a well's JSON body, as names joined by dots: `location.timeZone`. */
export interface WellField {
  /** Path of the uwi. Without a path, or without a value in the body, the source id serves as the uwi. */
  readonly uwi?: string | undefined;
  readonly field: string;
}

export interface WellStore {
  readonly commit: CommitDefinitions<WellReading>;
  readonly settleUnknown: SettleUnknown;
  /** All wells, by source id. */
  known(uwiField?: string): Promise<ReadonlyArray<{ readonly sourceId: string; readonly uwi: string }>>;
  /** The bodies of these wells, by source id; a well that no export has read is absent. */
  bodies(sourceIds: readonly string[]): Promise<ReadonlyMap<string, WellBody>>;
  /** By uwi, the text of the field in the body; a well whose body has none is absent. All wells if none is named. */
  texts(field: WellField, uwis?: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

// The port to targets of exports that the service does not know (docs/design.md sections 4.1 and 4.2).

/** A unit whose target the service does not know. */
interface UnknownUnit {
  readonly unit: number;
  readonly target: string;
  /** Requests that it took; undefined for a job that does not count them. */
  readonly requests?: number | undefined;
}

/**
 * Settles units whose targets the service does not know, as `unknown`, in one transaction with the list of unknown
 * targets; removes nothing (G4). A target leaves the list with its next commit. Skips units that are already settled.
 * Returns the outcomes of the units that this call settled.
 */
export type SettleUnknown = (unknown: {
  readonly runId: string;
  readonly units: readonly UnknownUnit[];
  readonly atMs: number;
}) => Promise<readonly UnitOutcome[]>;

// Port to the checks of daily production (docs/production-data.md, Checks): what stands, and what is evaluated on request.

/** Paths of fields in a well's JSON body, as in WellField; undefined where nothing names one. */
export interface FactFields {
  readonly uwi: string | undefined;
  readonly type: string | undefined;
  readonly status: string | undefined;
  readonly lift: string | undefined;
  readonly timeZone: string | undefined;
}

/** What is checked, and by which words of the wells' records. */
export interface WellChecks {
  readonly settings: CheckSettings;
  /** Undefined where no field is named. */
  readonly facts: FactFields | undefined;
}

export interface FindingRow {
  readonly check: CheckName;
  readonly uwi: string;
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly field: string;
  readonly value: number | null;
  readonly expected: number | null;
  readonly severity: Severity;
  /** Null for a finding of no run. */
  readonly runId: string | null;
  /** ISO 8601. */
  readonly foundAt: string;
}

/** Omitted members do not restrict it. */
export interface FindingFilter {
  readonly checks?: readonly CheckName[] | undefined;
  readonly uwis?: readonly string[] | undefined;
}

export interface CheckStore {
  /** The wells that were ever read, in order, behind `after`; of `uwis`, where they are given. */
  wells(question: {
    readonly after?: string | undefined;
    readonly uwis?: readonly string[] | undefined;
    readonly limit: number;
  }): Promise<readonly string[]>;
  /**
   * Evaluates all days of these wells, in one transaction: their findings, history and alerts are then as if all had come at
   * once. Returns the number of days and of findings; a well without rows has none.
   */
  evaluate(
    uwis: readonly string[],
    checks: WellChecks,
    by: string,
  ): Promise<{ readonly days: number; readonly findings: number }>;
  /** What stands, the most findings first. */
  summaries(filter: FindingFilter): Promise<readonly CheckSummary[]>;
  /** By check, well and day, at most `limit`. */
  findings(filter: FindingFilter & { readonly limit: number }): Promise<readonly FindingRow[]>;
}
