/**
 * Decides which slices may be in flight together: one whose pipe is in an unsettled earlier slice waits for that slice, so
 * that two requests never race for the same pipe and the last row of the file wins (G5).
 */

/** The pipes of a slice: a set, or a map by pipe. */
export interface PipeKeys {
  has(key: string): boolean;
  keys(): Iterable<string>;
}

interface Unsettled {
  readonly slice: number;
  readonly keys: PipeKeys;
  /** Unsettled earlier slices that hold one of its pipes. */
  blockers: number;
  /** Slices that wait for this one. */
  readonly waiters: Unsettled[];
}

/**
 * Holds the keys of unsettled slices only, so its memory is bounded by what the caller lets be unsettled. Each slice keeps
 * its own keys: one map of all, that every row enters and leaves, cost a fifth of a push in garbage.
 */
export class PipeFlight {
  readonly #unsettled = new Map<number, Unsettled>();

  /** The number of slices that are added and not settled, waiting ones included. */
  get size(): number {
    return this.#unsettled.size;
  }

  /** Takes slices in the order of the file. True when it may go at once. */
  add(slice: number, keys: PipeKeys): boolean {
    const entry: Unsettled = { slice, keys, blockers: 0, waiters: [] };
    for (const earlier of this.#unsettled.values()) {
      if (!haveCommon(keys, earlier.keys)) continue;
      earlier.waiters.push(entry);
      entry.blockers += 1;
    }
    this.#unsettled.set(slice, entry);
    return entry.blockers === 0;
  }

  /** Marks a slice as settled: every item of it accepted, rejected or given up. Returns those that may go now. */
  settle(slice: number): readonly number[] {
    const entry = this.#unsettled.get(slice);
    if (entry === undefined) return [];
    this.#unsettled.delete(slice);
    for (const waiter of entry.waiters) waiter.blockers -= 1;
    return entry.waiters.filter((waiter) => waiter.blockers === 0).map((waiter) => waiter.slice);
  }
}

function haveCommon(left: PipeKeys, right: PipeKeys): boolean {
  for (const key of left.keys()) if (right.has(key)) return true;
  return false;
}
