/**
 * The rule for chunks in flight together: a chunk with a pipe of an unsettled earlier chunk waits for that chunk, so
 * that two requests never race for the same pipe and the last row of the file wins (G5).
 */

/** Keys of the pipes of a chunk: a Set or a Map. */
export interface PipeKeys {
  has(key: string): boolean;
  keys(): Iterable<string>;
}

interface Unsettled {
  readonly chunk: number;
  readonly keys: PipeKeys;
  /** Number of unsettled earlier chunks with one of its pipes. */
  blockers: number;
  /** Later chunks that wait for this one. */
  readonly waiters: Unsettled[];
}

/**
 * Holds the keys of unsettled chunks only, so the caller's limit on unsettled chunks bounds its memory. Each chunk
 * keeps its own keys: one map of all chunks, which every row enters and leaves, cost a fifth of a push in garbage.
 */
export class PipesInFlight {
  readonly #unsettled = new Map<number, Unsettled>();

  /** Number of chunks added and not settled, including those that wait. */
  get size(): number {
    return this.#unsettled.size;
  }

  /** Adds a chunk; chunks come in the order of the file. Returns whether the chunk may be sent at once. */
  add(chunk: number, keys: PipeKeys): boolean {
    const entry: Unsettled = { chunk, keys, blockers: 0, waiters: [] };
    for (const earlier of this.#unsettled.values()) {
      if (!haveCommon(keys, earlier.keys)) continue;
      earlier.waiters.push(entry);
      entry.blockers += 1;
    }
    this.#unsettled.set(chunk, entry);
    return entry.blockers === 0;
  }

  /**
   * Marks a chunk as settled: each of its items is accepted, rejected or given up. Returns the chunks that may be sent
   * now.
   */
  settle(chunk: number): readonly number[] {
    const entry = this.#unsettled.get(chunk);
    if (entry === undefined) return [];
    this.#unsettled.delete(chunk);
    for (const waiter of entry.waiters) waiter.blockers -= 1;
    return entry.waiters.filter((waiter) => waiter.blockers === 0).map((waiter) => waiter.chunk);
  }
}

function haveCommon(left: PipeKeys, right: PipeKeys): boolean {
  for (const key of left.keys()) if (right.has(key)) return true;
  return false;
}
