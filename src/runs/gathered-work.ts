/**
 * Owns how the units of a chunk are read side by side and merged together: what was read is gathered, and committed
 * whenever enough has come. One unit that fails does not stop the others.
 */
import type { PlannedUnit } from '../core/run.ts';
import { isForAll } from '../core/verdict.ts';
import type { Leftover } from './job.ts';

export interface GatheredWork<Reading> {
  /** Units that are read at one time. */
  readonly concurrency: number;
  /** Reads a unit to its end. */
  read(unit: PlannedUnit): Promise<Reading>;
  /** What a reading weighs in memory, in the unit of `maxWeight`. */
  weigh(reading: Reading): number;
  /** What may be gathered before it is committed: the readers are held back meanwhile (G8). */
  readonly maxWeight: number;
  /** The room that readings take, where others wait for it: what is gathered is committed early while it is short. */
  readonly room?: {
    readonly isShort: boolean;
    /** Returns how to be called no longer. */
    whenShort(giveBack: () => void): () => void;
  };
  /** Makes readings durable with the outcomes of their units. Never called twice at one time. */
  commit(readings: readonly Reading[]): Promise<void>;
}

/** Returns the units that did not settle, with their errors. */
export function workGathered<Reading>(
  units: readonly PlannedUnit[],
  work: GatheredWork<Reading>,
): Promise<readonly Leftover[]> {
  return new Gathering(work).run(units);
}

class Gathering<Reading> {
  readonly #work: GatheredWork<Reading>;
  readonly #left: Leftover[] = [];
  #gathered: { readonly unit: PlannedUnit; readonly reading: Reading }[] = [];
  #weight = 0;
  #committing: Promise<void> = Promise.resolve();
  /** An error that every further unit would meet as well: none is begun any more. */
  #forAll: unknown;

  constructor(work: GatheredWork<Reading>) {
    this.#work = work;
  }

  async run(units: readonly PlannedUnit[]): Promise<readonly Leftover[]> {
    const next = units.values();
    const leave = this.#work.room?.whenShort(() => void this.#commitGathered());
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
      this.#gathered.push({ unit, reading });
      this.#weight += this.#work.weigh(reading);
      if (this.#weight >= this.#work.maxWeight || this.#work.room?.isShort) await this.#commitGathered();
    } catch (error) {
      if (isForAll(error)) this.#forAll = error;
      this.#leave(unit, error);
    }
  }

  #leave(unit: PlannedUnit, error: unknown): void {
    letGoOfFrames(error);
    this.#left.push({ unit, error });
  }

  #commitGathered(): Promise<void> {
    const entries = this.#gathered;
    this.#gathered = [];
    this.#weight = 0;
    this.#committing = this.#committing.then(async () => {
      if (entries.length === 0) return;
      try {
        await this.#work.commit(entries.map(({ reading }) => reading));
      } catch (error) {
        for (const { unit } of entries) this.#leave(unit, error);
      }
    });
    return this.#committing;
  }
}

/**
 * Until somebody reads the stack of an error, it holds on to all that its frames could see: here, every row that was
 * gathered (G8).
 */
function letGoOfFrames(error: unknown): void {
  for (let each = error; each instanceof Error; each = each.cause) void each.stack;
}
