/**
 * Decides which slices may be in flight together: one whose pipe is in an unsettled earlier slice waits for that slice, so
 * that two requests never race for the same pipe and the last row of the file wins (G5).
 */

interface Waiting {
  readonly keys: readonly string[];
  /** Unsettled earlier slices that hold one of its pipes. */
  blockers: number;
  /** Slices that wait for this one. */
  readonly waiters: Waiting[];
  readonly slice: number;
}

/** Holds the keys of unsettled slices only, so its memory is bounded by what the caller lets be unsettled. */
export class PipeFlight {
  readonly #unsettled = new Map<number, Waiting>();
  /** The last unsettled slice that holds a pipe. It waits for the ones before it, so nobody else need be asked. */
  readonly #lastHolder = new Map<string, Waiting>();

  /** The number of slices that are added and not settled, waiting ones included. */
  get size(): number {
    return this.#unsettled.size;
  }

  /** Takes slices in the order of the file, keys different within each. True when it may go at once. */
  add(slice: number, keys: readonly string[]): boolean {
    const entry: Waiting = { slice, keys, blockers: 0, waiters: [] };
    const holders = new Set<Waiting>();
    for (const key of keys) {
      const holder = this.#lastHolder.get(key);
      if (holder !== undefined) holders.add(holder);
      this.#lastHolder.set(key, entry);
    }
    for (const holder of holders) holder.waiters.push(entry);
    entry.blockers = holders.size;
    this.#unsettled.set(slice, entry);
    return entry.blockers === 0;
  }

  /** Marks a slice as settled: every item of it accepted, rejected or given up. Returns those that may go now. */
  settle(slice: number): readonly number[] {
    const entry = this.#unsettled.get(slice);
    if (entry === undefined) return [];
    this.#unsettled.delete(slice);
    for (const key of entry.keys) if (this.#lastHolder.get(key) === entry) this.#lastHolder.delete(key);
    for (const waiter of entry.waiters) waiter.blockers -= 1;
    return entry.waiters.filter((waiter) => waiter.blockers === 0).map((waiter) => waiter.slice);
  }
}
