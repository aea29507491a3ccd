import type { CoverageCounts, DayInterval, WellCoverage } from '../../core/daily/coverage.ts';
import type { CleanDays } from '../../core/daily/due-window.ts';
import type { HeldMonth, HeldRows, ShrinkGuard } from '../../core/daily/shrink-guard.ts';
import type { UnfinishedUnit, WindowBatch } from '../../core/daily/merge.ts';
import type { Measure, QuarantinedRecord, RestatedVersion } from '../../core/daily/row.ts';
import type { IdempotencyKey, ReadKind, RunRequest, UnitOutcome } from '../../core/run/run.ts';
import type { Window } from '../../core/time/window.ts';
import type { StoredForms, StoredRecord } from '../../core/verify/comparison.ts';
import type { ReadRunEffect, ReadWellHistory, SettleUnknown, WellChecks } from './wells.ts';

/** By the name of a well. */
export type ByUwi<Value> = ReadonlyMap<string, Value>;

/** Restatements noticed within [sinceMs, untilMs), milliseconds since 1970; of all wells if none is named. */
export interface RestatementQuestion {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly uwis?: readonly string[];
  /** Only versions behind this one, in their order. */
  readonly after?: RestatementPosition;
  /** At most so many versions. */
  readonly limit?: number;
}

/** Of a version in the order of restatements: ISO 8601, uwi, YYYY-MM-DD, xid. */
export interface RestatementPosition {
  readonly noticedAt: string;
  readonly uwi: string;
  readonly day: string;
  readonly xid: string;
}

/** Rows of a well, of the production days [from, to), YYYY-MM-DD; omitted bounds do not restrict them. */
export interface RowsQuestion {
  readonly uwi: string;
  readonly from?: string;
  readonly to?: string;
  /** Only rows behind this one, in the order of date and xid. */
  readonly after?: Pick<ProductionRow, 'date' | 'xid'>;
  readonly limit: number;
}

/** Columns of daily_production, by the kind of their values. */
export interface DaysQuestion {
  readonly uwi: string;
  readonly numbers: readonly string[];
  readonly texts: readonly string[];
}

/** What counts of the days of a well, by columns; a number that is not known is NaN. */
export interface DayColumns {
  /** Day numbers, ascending. */
  readonly days: Float64Array;
  readonly numbers: readonly Float64Array[];
  readonly texts: ReadonlyArray<ReadonlyArray<string | null>>;
}

/** A row as it is stored. */
export interface ProductionRow {
  readonly xid: string;
  /** ISO 8601, UTC. */
  readonly date: string;
  /** YYYY-MM-DD; null where the zone of the row was not known. */
  readonly day: string | null;
  /** By column of daily_production. */
  readonly measures: Readonly<Record<string, Measure>>;
  /** JSON of the fields that the contract does not name; null if there is none. */
  readonly extras: string | null;
  /** False for a record of a day for which another one counts. */
  readonly counts: boolean;
}

/** Windows that were read under one number. */
export interface DailyBatch {
  readonly runId: string;
  readonly windows: readonly WindowBatch[];
  readonly shrink: ShrinkGuard;
  /** What the rows are checked for once they are written; without it they are not. */
  readonly checks?: WellChecks | undefined;
  /** From ReadOrder.begin, before the first request; without one they count as read at their commit. */
  readonly readNo?: number;
  /** For readings of a time that is known, in place of the clock of the database. */
  readonly committedAtMs?: number;
}

export interface CommittedBatch {
  /** Of the units that the commit settled. */
  readonly outcomes: readonly UnitOutcome[];
  /** Units of which a part has to be read again. */
  readonly unfinished: readonly UnfinishedUnit[];
}

/** How far incremental runs have read a well. */
export interface Watermark {
  /** Milliseconds since 1970. */
  readonly watermarkMs: number;
  /** Day number of the last day with a row; undefined for a well without a row. */
  readonly lastDay: number | undefined;
  /**
   * Up to when incremental runs have verified it, milliseconds since 1970: the end of the window of a verified read, or the
   * time of its commit where that was earlier. Undefined if there is none since schema version 6.
   */
  readonly verifiedAtMs: number | undefined;
}

/** What the warehouse has of windows of wells, at one moment. A window goes by its position in the list. */
export interface StoredWindows {
  /** The stored rows of the windows, by window, in no order within one. To be read to the end before anything else. */
  rows(): AsyncIterable<StoredRecord & { readonly windowNo: number }>;
  /** The rows of the windows' wells with these xids, wherever they are dated. */
  rowsByXid(
    wanted: ReadonlyArray<{ readonly windowNo: number; readonly xid: string }>,
  ): Promise<ReadonlyArray<StoredRecord & { readonly windowNo: number }>>;
  /** Whether the content of each record stands in quarantine, or a person accepted it; undefined for neither. */
  standing(
    records: ReadonlyArray<Pick<QuarantinedRecord, 'xid' | 'reason' | 'raw'> & { readonly uwi: string }>,
  ): Promise<ReadonlyArray<'quarantined' | 'accepted' | undefined>>;
  /** The first days of the months of which rows are held, as day numbers, by uwi. */
  heldMonths(): Promise<ByUwi<ReadonlySet<number>>>;
  /** What the engine keeps of texts. */
  readonly forms: StoredForms;
  /** As {@link DailyProductionStore.stamps}: what was read before is of these stamps. */
  stamps(): Promise<readonly string[]>;
}

export interface WindowOfWell {
  readonly uwi: string;
  readonly window: Window;
}

export interface DailyProductionStore {
  /** What incremental runs have reached of each well, by uwi; a well that none has read is absent. */
  watermarks(uwis: readonly string[]): Promise<ByUwi<Watermark>>;
  /**
   * By uwi, those of `days` (day numbers) that have a row and no quarantined record, as intervals in order; a well without
   * a row in them is absent.
   */
  cleanDays(uwis: readonly string[], days: DayInterval): Promise<ByUwi<readonly CleanDays[]>>;
  /** The holds that stand, by uwi and in order of time; a well without one is absent. */
  heldMonths(uwis: readonly string[]): Promise<ByUwi<readonly HeldMonth[]>>;
  /** The wells that were read, in order. */
  uwis(): Promise<readonly string[]>;
  /**
   * Replaces the windows of these wells, in one transaction with watermarks, quarantine, history and the outcomes of the
   * units (G1, G2, G3). Skips units that are already settled: repeating a batch changes nothing.
   *
   * Within a window: a row with a new xid is inserted, a row with other values is updated, an equal row is unchanged.
   * Stored rows of the window that the reading lacks have left. A row that left and a new row of the same day are paired (a
   * new xid for the same record) and count as updated. The other rows that left are removed, unless their month is held:
   * a hold stands, or begins because the window or the month would lose more than `shrink` allows, counting what left the
   * month unapproved within 31 days (core/daily/shrink-guard.ts). Then they stay, and the unit is `held` (G4). A hold ends
   * with the rows that a release names, or when they are back; what is left of its rows is held again. A row that stands for
   * a quarantined record (the same xid or, if the xid could not be read, the same day) is not removed; if neither could be
   * read, nothing of the window is. Old values of updated and removed rows go to the history with run and time.
   *
   * An unverified window (WindowBatch.isVerified) removes no row, no quarantine entry of a record that it lacks, and adds no
   * day to the coverage ledger. If a stored row of it that is not held would leave or be replaced, nothing of the window
   * is written, its unit stays open, and no outcome of it is returned: it has to be read again, verified (G4).
   *
   * Replaces the quarantine entries of a window by those of this reading. Adds its whole days to the coverage ledger, but
   * for months with a hold: a row that a suspicious reading lacks is not known to be missing.
   * Counts of an outcome: those of the reading, and inserted, updated, unchanged, removed, heldRows, windows (always 1), and
   * targetsWithRows (1 for a well with a row), and the rows of the window in the table before and after: rowsBefore +
   * inserted - removed = rowsAfter, or else rowsAdrift is not 0 (G2).
   *
   * Where a read with a higher number (ReadOrder) has committed a part of a window, and this one would change something in
   * that part, nothing of the part is written and the unit stays open: it has to be read again there. The other parts are
   * merged. After core's `mostRereads` the later read stands and the unit is settled.
   *
   * The time of a change is that of the database once the wells are locked, and never before the change that it follows.
   */
  commit(batch: DailyBatch): Promise<CommittedBatch>;
  /** Rows that the next commit had better have at the most: beyond them an engine would write some twice. It takes any number. */
  rowsThatFit(): number;
  readonly settleUnknown: SettleUnknown;
  /**
   * Of each window a text that is another one after every commit that changed a row of the window, or what is in quarantine
   * or held of its well. Writes nothing.
   */
  stamps(windows: readonly WindowOfWell[]): Promise<readonly string[]>;
  /**
   * Calls `use` in a transaction that writes nothing, perhaps more than once. `use` must not call the warehouse. At least one
   * window.
   */
  compareStored<T>(windows: readonly WindowOfWell[], use: (stored: StoredWindows) => Promise<T>): Promise<T>;
  /** Rows of a well by date and xid; undefined for a well that has never had one. */
  rows(question: RowsQuestion): Promise<readonly ProductionRow[] | undefined>;
  /** All days of a well without an object a row, as plots take them; undefined for a well that has never had one. */
  days(question: DaysQuestion): Promise<DayColumns | undefined>;
  /**
   * Versions of rows that ended, ordered by the time at which that was noticed, then by uwi and day. Valid during the
   * call of `use`, which must not call the warehouse. The query language also has `daily_production_as_known(moment)`:
   * the table as it was known at a time, exact to the commit.
   */
  restatements<T>(
    question: RestatementQuestion,
    use: (versions: AsyncIterable<RestatedVersion>) => Promise<T>,
  ): Promise<T>;
}

/** Wells and days of a survey; days as day numbers (core/time/production-day.ts). */
export interface CoverageQuestion {
  /** Omitted: all wells with any known or read day. */
  readonly uwis?: readonly string[];
  /** Omitted: for each well its first known day. */
  readonly fromDay?: number;
  readonly toDay: number;
  /** Wells that deliver no more: the days after their last day are not asked for. */
  readonly plugged?: readonly string[];
}

/** `month`: its first day, YYYY-MM-DD. Counts only the asked days of the month. */
export interface MonthCoverage extends CoverageCounts {
  readonly month: string;
}

/** Results at one moment, all over the same days. Valid only during the call of `use`. */
export interface CoverageSurvey {
  /** `emptyWells`: wells without a known day. `wellsWithHoles`: wells with a day that needs attention (core's holesOf). */
  totals(): Promise<
    Omit<WellCoverage, 'uwi' | 'firstDay' | 'lastDay'> &
      Readonly<Record<'wells' | 'emptyWells' | 'wellsWithHoles', number>>
  >;
  /** The wells with the most days that are quarantined, never read, or missing before their last day. */
  worstWells(limit: number): Promise<readonly WellCoverage[]>;
  /** All wells of the survey, by uwi. */
  wells(): AsyncIterable<WellCoverage>;
  /** The sums of all wells, by month; months without an asked day are omitted. */
  months(): Promise<readonly MonthCoverage[]>;
  /** The months of each of these wells, by uwi and month. */
  cells(uwis: readonly string[]): Promise<ReadonlyArray<MonthCoverage & { readonly uwi: string }>>;
}

export interface StaleWellsQuestion {
  /** Day number. */
  readonly today: number;
  readonly warnAfterDays: number;
  /** Wells that are left out. */
  readonly plugged: readonly string[];
}

/** A well without a new day for long. Days are YYYY-MM-DD. */
export interface StaleWell {
  readonly uwi: string;
  readonly lastDay: string;
  /** Whole days between the last day and today. */
  readonly silentDays: number;
  /** Quarantined records of later days, or of an unknown day: records come, but none is right. */
  readonly quarantined: number;
  /** ISO 8601; null if the service knows the well. */
  readonly unknownSince: string | null;
}

/** A well that the service answered with 404 when it was last read. */
export interface UnknownWell {
  readonly uwi: string;
  /** ISO 8601: the first 404 without an answer since. */
  readonly since: string;
  readonly runId: string;
  /** Last day with a row, YYYY-MM-DD; null if there is none. */
  readonly lastDay: string | null;
}

/** What the warehouse knows of a well beside its days. ISO 8601; null for what never was. */
export interface WellTrace {
  readonly uwi: string;
  readonly readUpTo: string | null;
  readonly unknownSince: string | null;
}

/**
 * Completeness of daily production: the days of verified reads compared with the stored rows (docs/design.md section
 * 4.1).
 */
export interface CoverageStore {
  /** `use` must not call the warehouse: the call would wait for `use` to end. */
  survey<T>(question: CoverageQuestion, use: (survey: CoverageSurvey) => Promise<T>): Promise<T>;
  /** The wells that were read and have become silent, the latest first. */
  staleWells(question: StaleWellsQuestion): Promise<readonly StaleWell[]>;
  /**
   * The watermarks that such shares of the wells have reached or passed, in milliseconds since 1970; undefined without a
   * well that has one.
   */
  reachedWatermarks(shares: readonly number[]): Promise<readonly number[] | undefined>;
  /** The wells that the service does not know, the latest first. */
  unknownWells(): Promise<readonly UnknownWell[]>;
  /** By uwi, one for each of these wells. */
  traces(uwis: readonly string[]): Promise<readonly WellTrace[]>;
  /** By well, the intervals of days with a row or a quarantined record, in order; a well without any is absent. */
  knownDays(uwis: readonly string[]): Promise<ByUwi<readonly DayInterval[]>>;
  /** The wells of which no export has read the history, and no other read the days from this one on; in no order. Day number. */
  partlyRead(historyFromDay: number): Promise<readonly string[]>;
  /** What is known of one well beside its rows. */
  readonly history: ReadWellHistory;
  /** What a run brought of one well. */
  readonly effectOf: ReadRunEffect;
  /** By well and month, YYYY-MM: held rows, and days of which a version ended; months without either are absent. */
  disputedMonths(uwis: readonly string[]): Promise<readonly DisputedMonth[]>;
  /** The wells with held rows, and those with a version that ended, in no order. */
  disputedWells(): Promise<Readonly<Record<'held' | 'restated', readonly string[]>>>;
}

/** A month of a well of which the service said otherwise later. */
export interface DisputedMonth {
  readonly uwi: string;
  /** YYYY-MM. */
  readonly month: string;
  readonly heldRows: number;
  readonly restatedDays: number;
}

// The port to holds for operators: which rows stay although the service no longer has them, and their release (G4).

/**
 * `created`: the run exists. `repeated`: a request with this key had made it. `under-way`: a run that has not ended releases
 * rows of these holds. `changed`: the holds have another number of rows than was shown, and nothing was released.
 */
export type Release =
  | { readonly kind: 'created' }
  | { readonly kind: 'repeated' | 'under-way'; readonly runId: string }
  | { readonly kind: 'changed'; readonly rows: number };

export interface Holds {
  /** The holds that a run began or met, as far as they stand; at most `limit` parts. */
  ofRun(runId: string, kind: ReadKind, limit: number): Promise<HeldRows>;
  /** Every hold that stands; at most `limit` parts. */
  standing(kind: ReadKind, limit: number): Promise<HeldRows>;
  /**
   * Creates the run of `request` for the targets of the holds of the run `of`, and keeps with each hold the rows that it
   * may lose by that run: as many as it has now, in its days. One transaction. `rows`: what the person was shown. Throws
   * KeyReusedError if the key came with another body.
   */
  release(
    request: RunRequest,
    holds: { readonly of: string; readonly kind: ReadKind; readonly rows: number },
    key?: IdempotencyKey,
  ): Promise<Release>;
}

/** How daily production lies in storage: the rows of a well together and by date, but for a tail of later commits. */
export interface StorageTail {
  /** Pieces of a well beyond its first one, as the mean of the wells: a night adds one to each well with a new day. */
  readonly tailNights: number;
  /** Whether a rewriting was begun and has not come to its end. */
  readonly isUnderWay: boolean;
}

export interface TableOrder extends StorageTail {
  readonly rows: number;
  /** Wells with rows. */
  readonly wells: number;
  /** Rows of the wells that do not lie in one piece and by date: {@link StorageOrder.step} would rewrite them. */
  readonly looseRows: number;
}

/** Rewrites daily production by well and date. No row, version or coverage changes by it. */
export interface StorageOrder {
  /** The tail, by some wells of a large warehouse: reads the tail, and beside it the row groups of those wells. Writes nothing. */
  tail(): Promise<StorageTail>;
  /** Reads well and date of every row. Writes nothing. */
  measure(): Promise<TableOrder>;
  /**
   * Rewrites some of the wells that do not lie in one piece, in one short transaction; returns the number of their rows,
   * which may be 0, and undefined once the last well was looked at. May be stopped between two steps, and goes on there;
   * commits may come in between, and several processes may take steps.
   */
  step(): Promise<number | undefined>;
}
