/** The port to the warehouse: the one interface that DuckDB implements and PostgreSQL will (DESIGN.md section 7). */
import type { CoverageSums, DayInterval, WellCoverage } from '../core/coverage.ts';
import type { RestatedVersion } from '../core/restatement.ts';
import type { ShrinkGuard, WindowBatch } from '../core/merge.ts';
import type { ChunkStatus } from '../core/push-accounts.ts';
import type { PushCheckpoint } from '../core/push-checkpoint.ts';
import type {
  Counts,
  PlannedUnit,
  RunFailure,
  RunRecord,
  RunReport,
  RunRequest,
  RunState,
  UnitOutcome,
} from '../core/run.ts';
import type { CleanupPlans, DeletionLedger } from './cleanup.ts';

import type { TimeSeriesStore, WellStore } from './definitions.ts';

export type { ShrinkGuard, WindowBatch };

/** Which days a survey is about, days by their number (core/coverage.ts). */
export interface CoverageQuestion {
  /** All wells of which anything is known or was read, where it is left out. */
  readonly uwis?: readonly string[];
  /** For each well the first day of which anything is known, where it is left out. */
  readonly fromDay?: number;
  readonly toDay: number;
}

/** The first of a month, YYYY-MM-DD, with its days that were asked for. */
export interface MonthCoverage extends CoverageSums {
  readonly month: string;
}

/** Answers of one moment, all over the same days; it lasts as long as the call that gave it. */
export interface CoverageSurvey {
  /** `emptyWells`: those of which no day is known. */
  totals(): Promise<
    Omit<WellCoverage, 'uwi' | 'firstDay' | 'lastDay'> & { readonly wells: number; readonly emptyWells: number }
  >;
  /** Those with the most days that are quarantined, never read, or missing before their last day. */
  worstWells(limit: number): Promise<readonly WellCoverage[]>;
  /** All of them, by uwi. */
  wells(): AsyncIterable<WellCoverage>;
  /** All wells together, by month; a month of which no day is asked for is left out. */
  months(): Promise<readonly MonthCoverage[]>;
  /** By uwi and month. */
  cells(uwis: readonly string[]): Promise<ReadonlyArray<MonthCoverage & { readonly uwi: string }>>;
}

/** How complete daily production is: what verified reads accounted for beside what is there (DESIGN.md section 4.1). */
export interface CoverageStore {
  /** `use` must not call the warehouse: its turn comes only afterwards. */
  survey<T>(question: CoverageQuestion, use: (survey: CoverageSurvey) => Promise<T>): Promise<T>;
  /** By well the stretches of days that have a row or a quarantined record, in order; a well without any is absent. */
  knownDays(uwis: readonly string[]): Promise<ReadonlyMap<string, readonly DayInterval[]>>;
}

/** Noticed within [sinceMs, untilMs), milliseconds since 1970; of all wells where none is named. */
export interface RestatementQuestion {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly uwis?: readonly string[];
}

/** What a probe found out about a service, as JSON text, by the service's base address. */
export interface ProfileStore {
  read(baseUrl: string): Promise<string | undefined>;
  /** Replaces the one that is there. */
  save(baseUrl: string, profile: string, savedAtMs: number): Promise<void>;
}

export interface RunSums {
  readonly units: RunReport['units'] & { readonly open: number };
  readonly counts: Counts;
  /** The first hundred, by unit. */
  readonly failures: readonly RunFailure[];
  /** Distinct, in the order of the units that said them. */
  readonly notices: readonly string[];
}

/** The ledger of runs: what Redis may lose, this keeps (DESIGN.md section 5). */
export interface RunLedger {
  /** Makes a run in state queued. Throws UsageError when the id is taken. */
  create(request: RunRequest): Promise<void>;
  read(runId: string): Promise<RunRecord | undefined>;
  /** The newest first. */
  list(filter: { readonly limit: number; readonly states?: readonly RunState[] }): Promise<readonly RunRecord[]>;
  /** Stores the units, all open, and makes the run running. A run that has a plan keeps it: planning twice is harmless (G1). */
  savePlan(runId: string, units: readonly PlannedUnit[], startedAtMs: number): Promise<void>;
  /** Makes a queued run that has its plan running again: one that was reopened. Any other is left as it is. */
  resume(runId: string): Promise<void>;
  /** The open units of a queue item, by unit. */
  openUnits(runId: string, chunk: number): Promise<readonly PlannedUnit[]>;
  /** Every chunk that has open units, with their number, by chunk. */
  openChunks(runId: string): Promise<ReadonlyArray<{ readonly chunk: number; readonly openUnits: number }>>;
  /** Settles units that are still open, once: a unit that is settled keeps its outcome. Returns the ordinals that this call settled. */
  settle(runId: string, outcomes: readonly UnitOutcome[]): Promise<readonly number[]>;
  /** Settles every unit that is still open, all alike but for what was counted of it on the way. Returns how many. */
  settleRest(runId: string, outcome: Omit<UnitOutcome, 'unit' | 'counts'>): Promise<number>;
  /** Counts are those of the settled units. */
  sums(runId: string): Promise<RunSums>;
  /** Stores report and state, once: a finished run keeps its report. Prunes the `done` units of runs finished more than 30 days before. */
  finish(report: RunReport): Promise<void>;
  /**
   * Opens the failed and cancelled units again and takes the run back to queued with the next round. Returns how many
   * units are open now; 0 leaves the run as it is. Throws UsageError when the run is not known, not finished, or its units were pruned.
   */
  reopen(runId: string): Promise<number>;
}

export interface DailyProductionStore {
  /** Watermarks, milliseconds since 1970; a well without one is absent. */
  watermarks(uwis: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The wells that were read, in order. */
  uwis(): Promise<readonly string[]>;
  /**
   * Replaces the windows of these wells, in one transaction with watermarks, quarantine, history and the outcomes of the
   * units (G1, G2, G3). A unit of the run that is settled already is left out entirely: repeating a batch changes nothing.
   *
   * Within a window: a row whose xid is new is inserted; one whose values differ is updated; one that is the same is left
   * alone. Rows of the window in the warehouse that the reading does not have have left: one that left and one that came
   * on the same day are paired (a new xid for the same record) and count as updated. The rest is removed, unless core's
   * shrink guard holds the window: then nothing of it is removed, the watermark stays and the unit is `held` (G4). A row that stands
   * for a quarantined record (its xid, or, where that could not be read, its day) is not removed; where neither could be
   * read nothing of the window is. Old values of updated and removed rows go to the history with run and time.
   *
   * Quarantine entries of a window are replaced by those of this reading. Its whole days enter the ledger of coverage,
   * unless it is held: what a suspicious reading does not have is not known to be missing.
   * Counts of an outcome: the reading's, and inserted, updated, unchanged, removed, heldRows, windows (always 1).
   * Returns the outcomes of the units that this call settled.
   */
  commit(batch: {
    readonly runId: string;
    readonly windows: readonly WindowBatch[];
    readonly shrink: ShrinkGuard;
    readonly committedAtMs: number;
  }): Promise<readonly UnitOutcome[]>;
  /**
   * Versions of rows that ended, by the time at which that was noticed, then by uwi and day; they last as long as `use`,
   * which must not call the warehouse. Beside this the query language has `daily_production_as_known(moment)`: the table
   * as it was known at a time, to the commit.
   */
  restatements<T>(
    question: RestatementQuestion,
    use: (versions: AsyncIterable<RestatedVersion>) => Promise<T>,
  ): Promise<T>;
}

/** A chunk of a pushed file, as the ledger keeps it. */
export interface PushedChunk {
  /** From 0, in the order of the file. */
  readonly chunk: number;
  /** The lines of the file that it covers, from 1, both included. */
  readonly firstLine: number;
  readonly lastLine: number;
  readonly items: number;
  readonly status: ChunkStatus;
  /** Requests that it took. */
  readonly attempts: number;
}

/** A push of a content, the newest that was or is being made. */
export interface KnownPush {
  readonly runId: string;
  /** `done`: to the end of the file. `under-way`: a worker has begun, and the run has not ended. */
  readonly state: 'done' | 'under-way';
  readonly atMs: number;
}

export interface PushStore {
  /**
   * Takes a push over, whoever had it: from now on only who holds the returned `fence` saves. Returns where the last save
   * left it.
   */
  begin(push: {
    readonly runId: string;
    readonly unit: number;
    readonly fileSha256: string;
    /** Where it goes, without secrets. */
    readonly serviceUrl: string;
    readonly begunAtMs: number;
  }): Promise<{ readonly fence: number; readonly checkpoint: PushCheckpoint }>;
  /**
   * Saves checkpoint, ledger and the counts of the unit in one transaction; with `settled` the push is complete, and its
   * unit done. Throws AbortedError and saves nothing when another has begun since.
   */
  save(step: {
    readonly runId: string;
    readonly unit: number;
    readonly fence: number;
    readonly checkpoint: PushCheckpoint;
    /** Those that the checkpoint passes with this step. */
    readonly chunks: readonly PushedChunk[];
    readonly settled?: UnitOutcome;
    readonly savedAtMs: number;
  }): Promise<void>;
  /**
   * The push that makes another one needless, if there is one: of this content, read in this form, to this service. Without
   * an address, to any.
   */
  find(wanted: {
    readonly fileSha256: string;
    readonly serviceUrl: string | undefined;
    readonly form: 'auto' | 'wide' | 'long';
  }): Promise<KnownPush | undefined>;
  /** The largest body that a service was found to take, UTF-8 bytes, while that is not older than `sinceMs`. */
  bodyLimit(serviceUrl: string, sinceMs: number): Promise<number | undefined>;
  noteBodyLimit(limit: {
    readonly serviceUrl: string;
    readonly maxBytes: number;
    readonly foundAtMs: number;
  }): Promise<void>;
}

/** A table of values as JSON can carry them: timestamps and days as ISO text, big integers as numbers where they are safe, else as text. */
export interface QueryResult {
  readonly columns: ReadonlyArray<{ readonly name: string; readonly type: string }>;
  readonly rows: AsyncIterable<readonly unknown[]>;
}

/** Throws UnreachableError('warehouse') where the file or the server cannot be had, TransientError('warehouse-busy') where another process holds it longer than the set wait. */
export interface Warehouse {
  /** Where it is, without secrets, as the operator may be shown it: `duckdb:PATH`. */
  readonly location: string;
  readonly runs: RunLedger;
  readonly dailyProduction: DailyProductionStore;
  readonly coverage: CoverageStore;
  readonly timeSeries: TimeSeriesStore;
  readonly wells: WellStore;
  readonly profiles: ProfileStore;
  readonly pushes: PushStore;
  readonly cleanupPlans: CleanupPlans;
  readonly deletions: DeletionLedger;
  /** For who only asks: throws UnreachableError where nothing was ever stored, in place of making an empty warehouse. */
  requireStored(): void;
  /** Opens it, migrates it to this version's schema, and says what is there. */
  check(): Promise<{ readonly engine: string; readonly schemaVersion: number; readonly dailyProductionRows: number }>;
  /**
   * Read-only: a statement that would write is a UsageError, and so is one with a fault, with the engine's words. Throws
   * UnreachableError('warehouse') where nothing was ever stored. `use` must be done with the rows when it resolves, and
   * must not call this warehouse: its turn comes only afterwards. Throws AbortedError when the signal aborts it.
   */
  query<T>(sql: string, use: (result: QueryResult) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Lets go of everything. Safe to call twice. */
  close(): Promise<void>;
}
