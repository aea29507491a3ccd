import type { Fault } from '../../core/base/errors.ts';
import type { RunObservations } from '../../core/alerts/run-observations.ts';
import type {
  Counts,
  IdempotencyKey,
  PlannedUnit,
  ReadKind,
  RunFailure,
  RunHead,
  RunRecord,
  RunReport,
  RunRequest,
  RunState,
  RunSummary,
  UnitOutcome,
  UnitState,
} from '../../core/run/run.ts';
import type { RunFindings } from '../../core/verify/difference.ts';

/** Targets of a run: names of wells or equipment. */
export type Targets = Iterable<string> | AsyncIterable<string>;

/** Filter for a list of runs. Omitted members do not restrict it. */
export interface RunFilter {
  readonly limit: number;
  readonly states?: readonly RunState[];
  readonly job?: string;
  /** Requested within [sinceMs, untilMs), milliseconds since 1970. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Runs with a target that has this as a part (core/base/text.ts), as far as their units are kept. */
  readonly target?: string;
  /** Name of the schedule that they are of. */
  readonly schedule?: string;
  /** A part of the name of whoever requested or retried them, in any case. */
  readonly by?: string;
  /** Only runs that are done with exceptions, by the rules of their jobs. */
  readonly exceptions?: readonly ExceptionRule[];
  /** {@link RunPage.cursor} of the previous page, or the id of its last run. */
  readonly cursor?: string;
  /** As `cursor`, for the page of newer runs that ends before it; not both. */
  readonly newerThan?: string;
}

/** The counts of a job by which a run that is done has exceptions (core/run/job-description.ts). */
export interface ExceptionRule {
  readonly job: string;
  readonly counts: readonly string[];
  /** Those that are exceptions only where an alert of the run opened, or of a run from before there were alerts. */
  readonly byAlerts: readonly string[];
}

/** Runs that a filter admits, by state; `exceptions` are some of those that are done. */
export type RunNumbers = Readonly<Record<RunState | 'exceptions', number>>;

/** Filter for the units of a run. Omitted members do not restrict it. */
export interface UnitFilter {
  readonly limit: number;
  /** Units before the first one that is wanted. */
  readonly offset?: number;
  readonly states?: readonly UnitState[];
  /** A part of the name of the target (core/base/text.ts). */
  readonly part?: string;
  /** Numbers of units. */
  readonly units?: readonly number[];
}

export interface LedgerUnit extends PlannedUnit {
  readonly state: UnitState;
  readonly counts: Counts;
  readonly fault: Fault | undefined;
  readonly readMs: number | undefined;
}

export interface UnitPage {
  /** What needs a look first: failed, held, unknown, cancelled, open, done; then by unit. */
  readonly units: readonly LedgerUnit[];
  /** Number of the units that the filter admits. */
  readonly matches: number;
  /** Of all units of the run. */
  readonly states: Readonly<Partial<Record<UnitState, number>>>;
}

export interface RunPage {
  /** The newest first. */
  readonly runs: readonly RunSummary[];
  /**
   * Start of the next page; undefined on the last one. Opaque: runs created or finished meanwhile do not shift the
   * pages.
   */
  readonly cursor: string | undefined;
  /** Start of the page of newer runs, for `newerThan`; undefined where there are none. */
  readonly newer: string | undefined;
}

/** Runs whose ids share a prefix: their number, and the newest of them. */
export interface RunMatches {
  readonly count: number;
  readonly newest: readonly Pick<RunSummary, 'runId' | 'state'>[];
}

export interface RunTotals {
  readonly units: RunReport['units'] & { readonly open: number };
  readonly counts: Counts;
  /** The first hundred, by unit. */
  readonly failures: readonly RunFailure[];
  /** Distinct, in the order of their units. */
  readonly notices: readonly string[];
  /** What was found of the units: how many differ, and the first of them. */
  readonly found: RunFindings;
}

/** The ledger of runs. It holds what Redis may lose (docs/design.md section 5). */
export interface RunLedger {
  /**
   * Creates a run in state queued with its distinct targets, in one transaction; the iterable of targets must not call
   * the warehouse. A job without targets passes none. Throws UsageError if the id exists.
   */
  create(request: RunRequest, targets?: Targets): Promise<void>;
  /**
   * As {@link create}, unless a run with the job and the request key of the request has not ended: returns that one, the
   * newest of several, and creates none. One transaction: of two processes at the same time one creates. A key is kept for
   * the run that it comes to; one that came before returns its run, ended or not. Throws KeyReusedError as {@link
   * createKeyed} does.
   */
  createOnce(
    request: RunRequest & { readonly requestKey: string },
    targets?: Targets,
    key?: IdempotencyKey,
  ): Promise<RunSummary | undefined>;
  /**
   * As {@link create}, unless a request with this key has made a run: then returns the id of that one, and creates none.
   * The key is kept in the transaction that makes the run, as long as the run is kept. Throws KeyReusedError if the key
   * came with another body.
   */
  createKeyed(request: RunRequest, key: IdempotencyKey, targets?: Targets): Promise<string | undefined>;
  /** The run that a request with this key has made. Throws KeyReusedError as {@link createKeyed} does. */
  findKeyed(key: IdempotencyKey): Promise<string | undefined>;
  read(runId: string): Promise<RunRecord | undefined>;
  /** As {@link read}, without the report. */
  readHead(runId: string): Promise<RunHead | undefined>;
  /** Throws UsageError for an invalid cursor. */
  list(filter: RunFilter): Promise<RunPage>;
  /** How many runs of each state a filter admits; its states and exceptions do not restrict them. */
  count(
    filter: Omit<RunFilter, 'limit' | 'cursor' | 'newerThan'>,
    rules: readonly ExceptionRule[],
  ): Promise<RunNumbers>;
  /** Runs whose id begins with the prefix, compared literally: their number, and the newest `limit` of them. */
  find(prefix: string, limit: number): Promise<RunMatches>;
  /** The newest runs by what a person finds them by; `file`: what a push pushed. */
  names(
    limit: number,
  ): Promise<ReadonlyArray<Readonly<Record<'runId' | 'job', string>> & { readonly file: string | null }>>;
  /** Every run that has not ended, the oldest first. */
  unfinished(): Promise<readonly Pick<RunSummary, 'runId' | 'generation'>[]>;
  /**
   * The targets of a run that has no plan yet, in the order of the request, in slices of at most a thousand. The
   * warehouse may be called between two slices. Empty for a run with a plan: its units hold the targets.
   */
  targets(runId: string): AsyncIterable<readonly string[]>;
  /**
   * Stores the units, all open, sets the run to running and deletes its targets. A run that has a plan keeps it:
   * planning twice is harmless (G1).
   */
  savePlan(runId: string, units: readonly PlannedUnit[], startedAtMs: number): Promise<void>;
  /** Sets a queued run that has its plan, a reopened one, to running: its attempt begins. Leaves any other run unchanged. */
  resume(runId: string, startedAtMs: number): Promise<void>;
  /** The open units of a queue item, by unit. */
  openUnits(runId: string, chunk: number): Promise<readonly PlannedUnit[]>;
  /** The number of units that a retry works again: those that are neither done nor held. */
  unsettledUnits(runId: string): Promise<number>;
  /** Every chunk with open units, and the number of them, by chunk. */
  openChunks(runId: string): Promise<ReadonlyArray<{ readonly chunk: number; readonly openUnits: number }>>;
  /**
   * Settles units that are still open, once: a settled unit keeps its outcome. Returns the ordinals that this call
   * settled.
   */
  settle(runId: string, outcomes: readonly UnitOutcome[]): Promise<readonly number[]>;
  /** Settles every open unit with the same outcome; each keeps the counts noted so far. Returns their number. */
  settleRest(runId: string, outcome: Omit<UnitOutcome, 'unit' | 'counts'>): Promise<number>;
  /** Units with what became of them, for displays; none of a run without a plan, or whose units were pruned. */
  units(runId: string, filter: UnitFilter): Promise<UnitPage>;
  /** Totals over the settled units. */
  totals(runId: string): Promise<RunTotals>;
  /** Of {@link totals} what a display of unfinished runs needs, by run; a run without units is not there. */
  figures(runIds: readonly string[]): Promise<ReadonlyMap<string, Pick<RunTotals, 'units' | 'counts'>>>;
  /**
   * Stores report and state, once: a finished run keeps its report, and a run with open units is unchanged. A run that
   * ends without a plan keeps its targets. What its end shows opens and resolves alerts in the same transaction.
   */
  finish(report: RunReport, observations?: RunObservations): Promise<void>;
  /**
   * Reopens the failed, cancelled and unknown units and returns the run to queued with the next generation. Returns the number
   * of open units; for a run without a plan, which is planned again, the number of its targets, or 1 if its job takes
   * none. 0 leaves the run unchanged. Throws UsageError if the run does not exist, has not finished, or has lost its
   * units or targets to pruning. `by`: who asks for it.
   */
  reopen(runId: string, by?: string): Promise<number>;
}

/** A schedule as a configuration declares it. */
interface DeclaredSchedule {
  readonly name: string;
  /** What it runs and when, as JSON; belongs to src/app/schedules. */
  readonly definition: string;
}

/** The schedules of one configuration. A higher revision replaces a lower one, never the other way round. */
export interface ScheduleSet {
  readonly revision: number;
  readonly schedules: readonly DeclaredSchedule[];
}

/**
 * `started`: its run exists. `starting`: its run is being made. `skipped`: not run, by pause or since the last run had not
 * ended. `missed`: nobody took it in time. `failed`: its run could not be made.
 */
export type TickOutcome = 'starting' | 'started' | 'skipped' | 'missed' | 'failed';

/** What became of a tick. */
export interface TakenTick {
  readonly dueMs: number;
  readonly outcome: TickOutcome;
  /** Id of its run, for `starting` and `started`. */
  readonly runId?: string;
  /** Why it did not start. */
  readonly words?: string;
}

export interface StoredSchedule extends DeclaredSchedule {
  /** Ticks count from here on: when it was applied, or when its definition changed. */
  readonly sinceMs: number;
  readonly paused: { readonly atMs: number; readonly by: string } | undefined;
  /** The last tick that was taken. */
  readonly lastTick: TakenTick | undefined;
  /** The newest run of it that is kept, begun by a tick or by hand. */
  readonly lastRunId: string | undefined;
}

/**
 * `applied`: the ledger has the set now. `same`: it had it already. `older`: it has a higher revision, and nothing was
 * changed. `differs`: it has other schedules of the same revision, and nothing was changed.
 */
export type ScheduleApplication = {
  readonly kind: 'applied' | 'same' | 'older' | 'differs';
  /** The revision that the ledger has now. */
  readonly revision: number;
};

/** Schedules and their ticks, which Redis may lose (docs/design.md section 11). */
export interface ScheduleStore {
  /** The schedules by name; the revision is undefined before the first application. */
  read(): Promise<{ readonly revision: number | undefined; readonly schedules: readonly StoredSchedule[] }>;
  /**
   * Replaces the schedules, in one transaction: of two processes the higher revision stays. A schedule that keeps its name
   * keeps pause and last tick; one that changes counts its ticks from `atMs`. The first one makes the warehouse that of its
   * service; throws UsageError for another one (G11).
   */
  apply(set: ScheduleSet, atMs: number): Promise<ScheduleApplication>;
  /** Pauses a schedule, or with `undefined` resumes it. Returns false for an unknown name. */
  pause(name: string, paused: { readonly atMs: number; readonly by: string } | undefined): Promise<boolean>;
  /**
   * Takes a tick, unless another process has taken it or a later one, or the definition is another one by now. Returns
   * whether this call has taken it.
   */
  take(schedule: DeclaredSchedule, tick: TakenTick): Promise<boolean>;
  /** Notes what became of a tick that was taken as `starting`. */
  settle(name: string, tick: TakenTick): Promise<void>;
}

// How long the warehouse keeps what only the past needs (docs/operating.md).

/** The beginnings of what is kept, milliseconds since 1970. */
export interface RetentionBounds {
  /** Units, targets and chunks of runs that ended before. */
  readonly unitsMs: number;
  /** Runs that ended, and plans that were made and never applied, before. */
  readonly runsMs: number;
  /** Files that were pushed before may be pushed again. */
  readonly pushesMs: number;
  /** Versions of rows and definitions that ended before; undefined keeps all. */
  readonly historyMs: number | undefined;
  /** Alerts that were resolved before. */
  readonly alertsMs: number;
}

/** Numbers of rows that were, or would be, removed. */
export type Pruned = Readonly<Record<'units' | 'plans' | 'runs' | 'pushes' | 'history' | 'alerts', number>>;

/**
 * Never removes the audit, the plans and runs that it names, unfinished runs, the quarantine, and one row for each file
 * that was pushed since `pushesMs`.
 */
export interface Retention {
  /** What {@link step} would remove in all. Writes nothing. */
  count(bounds: RetentionBounds): Promise<Pruned>;
  /**
   * Removes a part, in one short transaction; undefined once nothing is left. May be stopped between two steps, and
   * repeated by several processes.
   */
  step(bounds: RetentionBounds): Promise<Pruned | undefined>;
  /** When pruning last came to its end, or when the warehouse was made; milliseconds since 1970. */
  prunedAtMs(): Promise<number | undefined>;
  recordPruned(atMs: number): Promise<void>;
  /** Versions that ended before were removed, milliseconds since 1970; undefined if none ever was. */
  historyHorizonMs(): Promise<number | undefined>;
}

/** Results of probes of a service, as JSON text, by the service's base address. */
export interface ProfileStore {
  read(baseUrl: string): Promise<string | undefined>;
  /** Replaces the stored profile. */
  save(baseUrl: string, profile: string, savedAtMs: number): Promise<void>;
  /** Whether the caller is to probe the service in this run: true for the first call of a run, whichever worker's. */
  claimProbe(runId: string, nowMs: number): Promise<boolean>;
}

/**
 * The order of reads, which decides between two runs that read one target
 * (docs/decisions/0026-reads-have-an-order.md).
 */
export interface ReadOrder {
  /**
   * Gives a read its number, higher than all before it: to be called before its first request, and again before anything is
   * read again. One transaction. `ended` are the numbers of reads that will not commit any more, in whatever run. A read
   * without a row in the warehouse, since its run or a day is over, may commit as long as it would change nothing.
   */
  begin(read: { readonly kind: ReadKind; readonly runId: string; readonly ended: readonly number[] }): Promise<number>;
}
