/**
 * Ports to the cleanup records: plans with their snapshots, and the audit of every deletion (docs/design.md section
 * 4.4).
 */
import type { AuditHead, BrokenRow } from '../../core/cleanup/audit-chain.ts';
import type { DeletionConclusion } from '../../core/cleanup/outcome.ts';
import type { CleanupPlan, PlannedTarget } from '../../core/cleanup/plan.ts';
import type { DeletionTarget, RecentDays, RecentProduction } from '../../core/cleanup/target.ts';
import type { UnitOutcome } from '../../core/run/run.ts';
import type { QueryResult } from './query.ts';

/** A range of a plan's targets, by ordinal: at most `limit`, beginning at `from`. */
export interface TargetSlice {
  readonly from: number;
  readonly limit: number;
}

export type PlanPosition = Pick<CleanupPlan, 'createdAtMs' | 'planId'>;

export interface CleanupPlans {
  knownWells(): Promise<number>;
  /** By uwi, what is known of its production of those days; a uwi that was never read is absent. */
  recentProduction(uwis: readonly string[], days: RecentDays): Promise<ReadonlyMap<string, RecentProduction>>;

  /** Stores a part of an unfinished plan under `draftId`, until {@link keep} gives the plan its id. */
  draft(draftId: string, targets: readonly PlannedTarget[]): Promise<void>;
  /** Turns a draft into a plan. Removes abandoned drafts that are a day old or older. */
  keep(draftId: string, plan: CleanupPlan): Promise<void>;
  read(planId: string): Promise<CleanupPlan | undefined>;
  /** The newest plans first; those behind `after`, if it is given. */
  list(limit: number, after?: PlanPosition): Promise<readonly CleanupPlan[]>;
  targets(planId: string, slice: TargetSlice): Promise<readonly PlannedTarget[]>;
  /** Number of rows with targets of the plan, in any numbering. */
  targetCount(planId: string): Promise<number>;
  /** Ids of every target, in order. Omits the snapshots, which may be large (G8). */
  ids(planId: string): Promise<readonly DeletionTarget[]>;
  /** At most `limit` of the first targets that the service does not know or whose well produced lately. */
  warnedTargets(planId: string, limit: number): Promise<readonly PlannedTarget[]>;

  /**
   * Assigns the plan to a run, once: only one run applies a plan. Returns the run that has it; that is another run if
   * it was first, or if the audit shows that it applied the plan. Throws UsageError if the plan does not exist.
   */
  claim(planId: string, claim: { readonly runId: string; readonly atMs: number; readonly by: string }): Promise<string>;
  /** The plan that the run has claimed. */
  ofRun(runId: string): Promise<CleanupPlan | undefined>;
}

export interface BegunDeletion extends DeletionTarget {
  readonly unit: number;
  /** An earlier request of this run may have taken effect: its answer never came. */
  readonly isRepeat: boolean;
  /** Another run found the target deleted, or deleted it, since the plan was made or up to a day before. */
  readonly wasDeleted: boolean;
}

export interface DeletionFilter {
  readonly sinceMs?: number;
  /** Id of equipment, of a well, or of a record. */
  readonly target?: string;
  readonly runId?: string;
}

export interface AuditVerdict {
  /** Number of intact rows, and the hash of the last of them. */
  readonly head: AuditHead;
  /** The first row that was changed, removed or inserted. */
  readonly broken: BrokenRow | undefined;
  /** Of the intact rows, the number that a retry wrote, by who retried. */
  readonly retries: ReadonlyMap<string, number>;
}

/** The only way to delete: every intent is in the audit, and in the plan of its run, before its request (G6). */
export interface DeletionLedger {
  /**
   * Writes the intents of the open units among the given ones, and returns their targets from the plan of the run: a
   * target outside the plan cannot be begun. Throws AccessError if the plan was made for another service, or has
   * changed since the run was planned.
   */
  begin(batch: {
    readonly runId: string;
    readonly units: readonly number[];
    readonly serviceUrl: string;
    readonly atMs: number;
  }): Promise<readonly BegunDeletion[]>;
  /**
   * Writes outcomes and settles their units, in one transaction. A settled unit keeps its outcome (G1). Moves deleted
   * time series to `time_series_history`, as `deleted` by this run. `withdrawn`: units whose requests were never sent
   * or not processed. A unit that was never begun may be refused. Returns the outcomes that this call settled.
   */
  conclude(batch: {
    readonly runId: string;
    readonly conclusions: ReadonlyArray<{
      readonly unit: number;
      readonly conclusion: DeletionConclusion;
      /** For the notices of the report; `{targets}` stands for the targets. */
      readonly warnings?: readonly string[];
    }>;
    readonly withdrawn: readonly number[];
    readonly atMs: number;
  }): Promise<readonly UnitOutcome[]>;
  /** Writes the outcome `failed` of every unit with an open intent that the engine failed or cancelled. Idempotent. */
  closeFailed(runId: string, atMs: number): Promise<void>;

  /**
   * One row for each deletion that ended or whose outcome is unknown, the newest first: noted_at, outcome, kind,
   * owner_id, source_id, answer, verification, words, requested_by, service_url, plan_id, run_id, seq. `use` must have
   * read the rows when it resolves, as for a query.
   */
  list<T>(filter: DeletionFilter, use: (result: QueryResult) => Promise<T>): Promise<T>;
  /** The end of the audit, unchecked. */
  head(): Promise<AuditHead>;
  /**
   * Checks the chain of the audit from its first row to its last, and that it contains every settled deletion.
   * `keptHash`: the hash of a row that it had earlier and must still have.
   */
  verify(keptHash?: string): Promise<AuditVerdict>;
}
