/** A schedule as a configuration declares it. */
export interface DeclaredSchedule {
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
  /** The last run that it started; undefined before the first one. */
  readonly lastRunId: string | undefined;
}

export interface StoredSchedules {
  /** Undefined before the first application. */
  readonly revision: number | undefined;
  readonly schedules: readonly StoredSchedule[];
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
  /** By name. */
  read(): Promise<StoredSchedules>;
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
