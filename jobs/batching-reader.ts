/**
 * Reads the units of a chunk concurrently and commits the readings in batches, whenever a batch is full. A failed unit
 * does not stop the others.
 */
import type { PlannedUnit } from '../src/core/run/run.ts';
import { isForAll } from '../src/core/run/retry-decision.ts';
import type { UnsettledUnit } from '../src/runs/job.ts';

export interface GatheredWork<Reading> {
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
export function readInBatches<Reading>(
  units: readonly PlannedUnit[],
  work: GatheredWork<Reading>,
): Promise<readonly UnsettledUnit[]> {
  return new Gathering(work).run(units);
}

class Gathering<Reading> {
  readonly #work: GatheredWork<Reading>;
  readonly #left: UnsettledUnit[] = [];
  #batched: { readonly unit: PlannedUnit; readonly reading: Reading }[] = [];
  #weight = 0;
  #committing: Promise<void> = Promise.resolve();
  /** Batches that are committed, or wait for it. */
  #commits = 0;
  /** An error that every further unit would meet as well: no further unit is begun. */
  #forAll: unknown;

  constructor(work: GatheredWork<Reading>) {
    this.#work = work;
  }

  async run(units: readonly PlannedUnit[]): Promise<readonly UnsettledUnit[]> {
    const next = units.values();
    const leave = this.#work.room?.whenShort(() => void this.#commitEarly());
    const readers = Array.from({ length: this.#work.concurrency }, async () => {
      for (const unit of next) await this.#read(unit);
    });
    await Promise.all(readers);
    await this.#commitGathered();
    leave?.();
    return this.#left;
  }

  async #read(unit: PlannedUnit): Promise<void> {
    if (this.#forAll !== undefined) {
      this.#leave(unit, this.#forAll);
      return;
    }
    try {
      const reading = await this.#work.read(unit);
      this.#batched.push({ unit, reading });
      this.#weight += this.#work.weigh(reading);
      if (this.#weight >= this.#work.maxWeight) await this.#commitGathered();
      else if (this.#work.room?.isShort) await this.#commitEarly();
    } catch (error) {
      if (isForAll(error)) this.#forAll = error;
      this.#leave(unit, error);
    }
  }

  #leave(unit: PlannedUnit, error: unknown): void {
    letGoOfFrames(error);
    this.#left.push({ unit, error });
  }

  async #commitEarly(): Promise<void> {
    if (this.#commits === 0) await this.#commitGathered();
  }

  #commitGathered(): Promise<void> {
    const entries = this.#batched;
    this.#batched = [];
    this.#weight = 0;
    if (entries.length === 0) return this.#committing;
    this.#commits += 1;
    this.#committing = this.#committing.then(async () => {
      try {
        await this.#work.commit(entries.map(({ reading }) => reading));
      } catch (error) {
        for (const { unit } of entries) this.#leave(unit, error);
      }
      this.#commits -= 1;
      if (this.#work.room?.isShort) void this.#commitEarly();
    });
    return this.#committing;
  }
}

/**
 * Reads the stack of an error. Until then the error retains everything that its frames could see: here, every row of
 * the batch (G8).
 */
function letGoOfFrames(error: unknown): void {
  for (let each = error; each instanceof Error; each = each.cause) void each.stack;
}
