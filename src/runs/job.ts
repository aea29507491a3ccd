/** The declaration of a job by a folder in jobs/, for the engine. */
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { RunObservations } from '../core/alerts/run-observations.ts';
import type { OutageRecord } from '../core/base/errors.ts';
import type { RejectsLocation } from '../core/pipes/checkpoint.ts';
import type { ChunkQueueName, JobDescription } from '../core/run/job-description.ts';
import type { Counts, PlannedUnit, ReadKind, RunReport, UnitOutcome } from '../core/run/run.ts';
import type { ReportedDifferences, RunFindings } from '../core/verify/difference.ts';
import type { RunQueue, UnitProgress, UnitReading } from '../queue/port.ts';
import type { ProductionDataService } from '../service/production-data-service.ts';
import type { Ledger, Warehouse } from '../warehouse/port/warehouse.ts';

export interface JobContext {
  readonly service: ProductionDataService;
  readonly warehouse: Warehouse;
  readonly ledger: Ledger;
  readonly now: () => number;
}

/** What plans, works and ends runs. */
export interface EngineContext extends JobContext {
  readonly queue: RunQueue;
  readonly jobs: readonly AnyJob[];
  readonly log: Logger;
  readonly outages: OutageRecord;
  /** Of this program, for reports. */
  readonly version: string;
}

export interface UnsettledUnit {
  readonly unit: PlannedUnit;
  readonly error: unknown;
}

/** Progress of a long-running unit; counts are from its beginning, whichever worker began it. */
export type Advance = Omit<UnitProgress, 'attempt'>;

export interface ChunkOfWork<Params> {
  readonly runId: string;
  readonly params: Params;
  readonly units: readonly PlannedUnit[];
  readonly signal: AbortSignal;
  /** Units that do not settle now will fail: the item is not retried. */
  readonly isLastAttempt: boolean;
  /** For an exclusive job: false when another worker may have the chunk, so that nothing may be sent or written. */
  readonly isOwned: () => boolean;
  /**
   * To be called with the progress of a unit, once that is durable. An item that advanced gets all its attempts again.
   */
  readonly advanced: (advance: Advance) => Promise<void>;
  /** To be called with the progress that a unit had when this attempt began: displays see it, and nothing has advanced. */
  readonly resumed: (advance: Advance) => Promise<void>;
  /** To be called with what was read of a unit, for displays: returns at once, and nothing depends on it. */
  readonly read: (reading: UnitReading) => void;
  /** To be called with outcomes once they are durable in the warehouse, for the progress. */
  readonly settled: (outcomes: readonly UnitOutcome[]) => Promise<void>;
}

/** The declaration of a job: its description for the faces, and what the engine needs to run it. */
export interface Job<Params> extends JobDescription {
  readonly queue: ChunkQueueName;
  /**
   * Schema of the parameters of a run, applied when it is requested and when it is read back. They hold no secret
   * (G10).
   */
  readonly params: z.ZodType<Params>;
  /** Names of the parameters that differ between two requests for the same work: times, and who asks. */
  readonly varyingParams?: readonly string[];
  /** Whether its windows end at the request: what came to the service since then is for another run. */
  readonly readsUpToRequest?: (params: Params) => boolean;
  /** Its runs require at least one target; the job reads them from the ledger while a run has no plan. */
  readonly takesTargets?: boolean;
  /**
   * Divides a run into units with dense ordinals and chunk numbers. May be called again for the same run after a crash.
   */
  plan(params: Params, context: JobContext, runId: string): Promise<readonly PlannedUnit[]>;
  /**
   * Works the open units of a chunk: commits each success with its outcomes in one warehouse transaction, calls
   * `settled`, and returns the other units with their errors. A failed unit does not stop the others. Throws only if no
   * unit can continue.
   */
  work(chunk: ChunkOfWork<Params>, context: JobContext): Promise<readonly UnsettledUnit[]>;
  /** One worker at a time for each queue item, even after a stall: for work that requires an order (G5). */
  readonly isExclusive?: boolean;
  /** Called when no unit is open, before the report is built; may be called again. */
  atEnd?(runId: string, context: Pick<JobContext, 'ledger' | 'now'>): Promise<void>;
  /**
   * What a person has to know of the whole run beside its units, from its parameters and the sums of its counts: further
   * counts, and notices.
   */
  readonly judge?: (params: Params, counts: Counts, found: RunFindings) => Judgement;
  /** What the warehouse is to judge of the whole run with its end, for alerts. May be called again. */
  readonly observe?: (
    params: Params,
    ended: EndedRun,
    context: Pick<JobContext, 'warehouse' | 'now'>,
  ) => Promise<RunObservations>;
  /** For a job that holds rows: what its targets are, and the parameters of the run that releases what another run holds. */
  readonly release?: {
    readonly kind: ReadKind;
    readonly params: (releaseOf: string, nowMs: number) => Params;
  };
  checkRetry?(runId: string, context: Pick<JobContext, 'ledger' | 'now'>): Promise<void>;
  /** Throws UsageError for a run that may not be requested now: none is made. Its plan, which may be made later, checks it again. */
  checkStart?(context: Pick<JobContext, 'warehouse'>): Promise<void>;
  /** Where the rejected rows of a run lie, whether or not there are any; only for a job that rejects rows. */
  readonly rejectsLocation?: (params: Params, runId: string) => RejectsLocation;
}

/** What is known of a run when its report is made. */
export type EndedRun = Pick<RunReport, 'runId' | 'state' | 'counts' | 'units' | 'failures'>;

export interface Judgement {
  readonly counts: Counts;
  readonly notices: readonly string[];
  /** What differs between the service and the warehouse, of a job that compares them. */
  readonly differences?: ReportedDifferences | undefined;
}

/** A job whose parameter type is unknown to the engine. */
export type AnyJob = Job<unknown>;

/** Hides the parameter type of a job: every call first parses the parameters with the job's own schema. */
export function anyJob<Params>(job: Job<Params>): AnyJob {
  const { rejectsLocation, readsUpToRequest, judge, observe, ...rest } = job;
  return {
    ...rest,
    plan: (params, context, runId) => job.plan(job.params.parse(params), context, runId),
    work: (chunk, context) => job.work({ ...chunk, params: job.params.parse(chunk.params) }, context),
    // A run of another version may have parameters that this one does not know.
    ...(judge && {
      judge: (params: unknown, counts: Counts, found: RunFindings) => {
        const parsed = job.params.safeParse(params);
        return parsed.success ? judge(parsed.data, counts, found) : { counts: {}, notices: [] };
      },
    }),
    ...(observe && {
      observe: async (params: unknown, ended: EndedRun, context: Pick<JobContext, 'warehouse' | 'now'>) => {
        const parsed = job.params.safeParse(params);
        return parsed.success ? observe(parsed.data, ended, context) : {};
      },
    }),
    ...(readsUpToRequest && { readsUpToRequest: (params: unknown) => readsUpToRequest(job.params.parse(params)) }),
    ...(rejectsLocation && {
      rejectsLocation: (params: unknown, runId: string) => rejectsLocation(job.params.parse(params), runId),
    }),
  };
}
