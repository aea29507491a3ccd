/** The declaration of a job: what a file in jobs/ tells, and what the engine needs to run it. */
import type { z } from 'zod';
import type { Balance, Counts, PlannedUnit, RunReport, UnitOutcome } from '../core/run.ts';
import type { ChunkQueueName, UnitProgress } from '../queue/port.ts';
import type { ProductionDataService } from '../service/production-data-service.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface JobParts {
  readonly service: ProductionDataService;
  readonly warehouse: Warehouse;
  readonly now: () => number;
}

/** A unit that did not settle, and why. */
export interface Leftover {
  readonly unit: PlannedUnit;
  readonly error: unknown;
}

/** How far a unit has come that takes long; counts are those from its beginning, whichever worker began it. */
export type Advance = Omit<UnitProgress, 'attempt'>;

export interface ChunkOfWork<Params> {
  readonly runId: string;
  readonly params: Params;
  /** The units of the chunk that are still open. */
  readonly units: readonly PlannedUnit[];
  readonly signal: AbortSignal;
  /** Units that cannot be settled now will fail: nobody tries the item again. */
  readonly isLastAttempt: boolean;
  /** For an exclusive job: false when another worker may be at the chunk, so that nothing must be sent or written. */
  readonly isHeld: () => boolean;
  /** To be told how far a unit has come, after that is durable. What came further is given all its attempts anew. */
  readonly advanced: (advance: Advance) => Promise<void>;
  /** To be told of outcomes after they are durable in the warehouse, for the progress. */
  readonly settled: (outcomes: readonly UnitOutcome[]) => Promise<void>;
}

export interface Job<Params> {
  /** As the operator knows it: `export daily-production`. */
  readonly name: string;
  readonly queue: ChunkQueueName;
  /** Checks the parameters of a run, when it is asked for and when it is read back. They hold no secret (G10). */
  readonly params: z.ZodType<Params>;
  /** Cuts a run into units with dense ordinals and chunk numbers. May be called again for the same run after a crash. */
  plan(params: Params, parts: JobParts, runId: string): Promise<readonly PlannedUnit[]>;
  /**
   * Works the open units of a chunk: commits what succeeds with its outcomes in one warehouse transaction each, tells
   * `settled`, and returns what is left with its errors. One unit that fails does not stop the others. Throws only where
   * no unit can go on.
   */
  work(chunk: ChunkOfWork<Params>, parts: JobParts): Promise<readonly Leftover[]>;
  /** The sum of G2, over what the units counted or over the units themselves. */
  balance(counts: Counts, units: RunReport['units']): Balance;
  /** One worker at a time for each queue item, even after a stall: for work that must keep an order (G5). */
  readonly isExclusive?: boolean;
  /** Counts that make a finished run `done, with …` (exit code 3) when they are not 0. */
  readonly exceptions: readonly string[];
  /** Called when no unit is open any more, before the report is made; may be called again. */
  atEnd?(runId: string, parts: JobParts): Promise<void>;
  /** Throws UsageError where what failed in a run must not be taken up again. */
  checkRetry?(runId: string, parts: Pick<JobParts, 'warehouse' | 'now'>): Promise<void>;
}

/** A job whose parameter type the engine need not know. */
export type AnyJob = Job<unknown>;

/** Hides the parameter type of a job: every call checks the parameters with the job's own schema first. */
export function anyJob<Params>(job: Job<Params>): AnyJob {
  return {
    ...job,
    plan: (params, parts, runId) => job.plan(job.params.parse(params), parts, runId),
    work: (chunk, parts) => job.work({ ...chunk, params: job.params.parse(chunk.params) }, parts),
  };
}
