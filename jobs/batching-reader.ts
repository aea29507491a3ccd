/**
 * Reads the units of a chunk concurrently and commits the readings in batches, whenever a batch is full. A failed unit
 * does not stop the others.
 */
import type { PlannedUnit } from '../src/core/run/run.ts';
import { isForAll } from '../src/core/run/retry-decision.ts';
import type { UnsettledUnit } from '../src/runs/job.ts';

interface GatheredWork<Reading> {
  /** Number of units read concurrently. */
  readonly concurrency: number;
  /** Reads a unit to its end. */
  read(unit: PlannedUnit): Promise<Reading>;
  /** Memory of a reading, in the unit of `maxWeight`. */
  weigh(reading: Reading): number;
  /** Limit of a batch before it is committed; readers wait meanwhile (G8). */
  readonly maxWeight: number;
  /**
   * The shared budget for readings, if there is one: while it is short, a batch is committed early, unless one is under
   * way that will give back its own room. Many small batches would cost more than the wait.
   */
  readonly room?: {
    readonly isShort: boolean;
    /** Returns a function that ends the calls. */
    whenShort(giveBack: () => void): () => void;
  };
  /** Makes readings durable with the outcomes of their units. Calls never overlap. */
  commit(readings: readonly Reading[]): Promise<void>;
}

/** Returns the units that did not settle, with their errors. */
export async function readInBatches<Reading>(
  units: readonly PlannedUnit[],
  work: GatheredWork<Reading>,
): Promise<readonly UnsettledUnit[]> {
  const { room } = work;
  const left: UnsettledUnit[] = [];
  let batch: Array<{ readonly unit: PlannedUnit; readonly reading: Reading }> = [];
  let weight = 0;
  let committing: Promise<void> = Promise.resolve();
  /** Batches that are committed, or wait for it. */
  let commits = 0;
  /** An error that every further unit would meet as well: no further unit is begun. */
  let forAll: unknown;

  const leave = (unit: PlannedUnit, error: unknown): void => {
    letGoOfFrames(error);
    left.push({ unit, error });
  };
  const commit = (): Promise<void> => {
    const entries = batch;
    batch = [];
    weight = 0;
    if (entries.length === 0) return committing;
    commits += 1;
    committing = committing.then(async () => {
      try {
        await work.commit(entries.map(({ reading }) => reading));
      } catch (error) {
        for (const { unit } of entries) leave(unit, error);
      }
      commits -= 1;
      if (room?.isShort) void commitEarly();
    });
    return committing;
  };
  const commitEarly = async (): Promise<void> => {
    if (commits === 0) await commit();
  };
  const read = async (unit: PlannedUnit): Promise<void> => {
    if (forAll !== undefined) return leave(unit, forAll);
    try {
      const reading = await work.read(unit);
      batch.push({ unit, reading });
      weight += work.weigh(reading);
      if (weight >= work.maxWeight) await commit();
      else if (room?.isShort) await commitEarly();
    } catch (error) {
      if (isForAll(error)) forAll = error;
      leave(unit, error);
    }
  };

  const next = units.values();
  const endCalls = room?.whenShort(() => void commitEarly());
  const readers = Array.from({ length: work.concurrency }, async () => {
    for (const unit of next) await read(unit);
  });
  await Promise.all(readers);
  await commit();
  endCalls?.();
  return left;
}

/**
 * Reads the stack of an error. Until then the error retains everything that its frames could see: here, every row of
 * the batch (G8).
 */
function letGoOfFrames(error: unknown): void {
  for (let each = error; each instanceof Error; each = each.cause) void each.stack;
}
