/** The ports to what a cleanup keeps: its plans with their snapshots, and the audit of every deletion (DESIGN.md section 4.4). */
import type { CleanupPlan, PlannedTarget } from '../core/cleanup-plan.ts';
import type { AuditHead, BrokenRow } from '../core/deletion-audit.ts';
import type { DeletionEnding } from '../core/deletion-outcome.ts';
import type { DeletionTarget } from '../core/deletion-target.ts';
import type { UnitOutcome } from '../core/run.ts';
import type { QueryResult } from './warehouse.ts';

/** A part of a plan's targets, by ordinal: from `from` on, at most `limit`. */
export interface TargetSlice {
  readonly from: number;
  readonly limit: number;
}

export interface CleanupPlans {
  /** How many wells the warehouse knows. */
  knownWells(): Promise<number>;
  /** Those of the wells (source well id read as uwi) with oil, gas or water since then, each with its last such day. */
  lastProduction(wells: readonly string[], sinceMs: number): Promise<ReadonlyMap<string, string>>;

  /** Keeps a part of a plan that is being made, under a name of its own until {@link keep} gives it its id. */
  draft(draftId: string, targets: readonly PlannedTarget[]): Promise<void>;
  /** Makes a plan of a draft. Drafts of the day before and earlier, which their makers left, are forgotten. */
  keep(draftId: string, plan: CleanupPlan): Promise<void>;
  read(planId: string): Promise<CleanupPlan | undefined>;
  /** The newest first. */
  list(limit: number): Promise<readonly CleanupPlan[]>;
  targets(planId: string, slice: TargetSlice): Promise<readonly PlannedTarget[]>;
  /** Rows that stand for targets of the plan, however they are numbered. */
  targetCount(planId: string): Promise<number>;
  /** Every target by its ids, in order: without what the service showed of them, of which there may be much (G8). */
  ids(planId: string): Promise<readonly DeletionTarget[]>;
  /** The first targets, at most `limit`, of which the service shows nothing or whose well produced lately. */
  warnedTargets(planId: string, limit: number): Promise<readonly PlannedTarget[]>;

  /**
   * Makes the plan that of a run, once: a plan is applied by one run only. Returns the run that has it, which is another one
   * where somebody was quicker, or where the audit knows that another one applied it. Throws UsageError where there is no such plan.
   */
  claim(planId: string, claim: { readonly runId: string; readonly atMs: number; readonly by: string }): Promise<string>;
  /** The plan that a run has claimed. */
  ofRun(runId: string): Promise<CleanupPlan | undefined>;
}

export interface BegunDeletion extends DeletionTarget {
  readonly unit: number;
  /** An earlier request of this run may have taken effect: nobody heard how it ended. */
  readonly isRepeat: boolean;
}

/** Which deletions an operator asks for. */
export interface DeletionFilter {
  readonly sinceMs?: number;
  /** Equipment, well or source id of a record. */
  readonly target?: string;
  readonly runId?: string;
}

export interface AuditVerdict {
  /** Rows that were found right, and the hash of the last of them. */
  readonly head: AuditHead;
  /** The first row that is not as it was written. */
  readonly broken: BrokenRow | undefined;
}

/** The only way to delete: every intent stands in the audit, and in the plan of its run, before its request (G6). */
export interface DeletionLedger {
  /**
   * Writes the intents of those of the units that are open, and returns their targets as the plan of the run has them: what
   * does not stand in it cannot be begun. Throws AccessError where that plan was made for another service, or is no longer
   * what the run was planned from.
   */
  begin(batch: {
    readonly runId: string;
    readonly units: readonly number[];
    readonly serviceUrl: string;
    readonly atMs: number;
  }): Promise<readonly BegunDeletion[]>;
  /**
   * Writes how deletions ended and settles their units, in one transaction: a unit that is settled already keeps the outcome
   * that it has (G1). What the warehouse has of a time series that is gone by this goes into `time_series_history`, as
   * `deleted` by this run. `withdrawn` are units whose intents came to nothing. Returns the outcomes that this call settled.
   */
  conclude(batch: {
    readonly runId: string;
    readonly endings: ReadonlyArray<{ readonly unit: number; readonly ending: DeletionEnding }>;
    readonly withdrawn: readonly number[];
    readonly atMs: number;
  }): Promise<readonly UnitOutcome[]>;
  /** Writes the outcome `failed` of every unit that the engine failed or cancelled and whose intent is open. Repeating it changes nothing. */
  closeFailed(runId: string, atMs: number): Promise<void>;

  /**
   * One row for each deletion that ended or whose end is not known, the newest first: noted_at, outcome, kind, owner_id,
   * source_id, answer, verification, words, requested_by, service_url, plan_id, run_id, seq. As for a query, `use` must be
   * done with the rows when it resolves.
   */
  list<T>(filter: DeletionFilter, use: (result: QueryResult) => Promise<T>): Promise<T>;
  /**
   * Follows the chain of the audit from its first row to its last, and looks whether all that runs have settled stands in
   * it. `keptHash` is that of a row which it had earlier, and must have still.
   */
  verify(keptHash?: string): Promise<AuditVerdict>;
}
