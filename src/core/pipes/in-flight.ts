/**
 * The order keys of unsettled chunks. An item of such a key waits, so that two requests never race for one pipe and the
 * last row of the file wins (G5).
 */

/** Keys of the items of a chunk: a Set or a Map. */
export interface PipeKeys {
  has(key: string): boolean;
}

/**
 * Holds the keys of unsettled chunks only, so the caller's limit on unsettled rows bounds its memory. Each chunk keeps
 * its own keys: one map of all chunks, which every row enters and leaves, cost a fifth of a push in garbage.
 */
export class PipesInFlight {
  readonly #unsettled: PipeKeys[] = [];

  add(chunk: PipeKeys): void {
    this.#unsettled.push(chunk);
  }

  has(key: string): boolean {
    // By index: this runs for every row of a file.
    for (let index = 0; index < this.#unsettled.length; index += 1) {
      if (this.#unsettled[index]?.has(key) === true) return true;
    }
    return false;
  }

  /** Removes a chunk, each of whose items is accepted, rejected or given up. */
  settle(chunk: PipeKeys): void {
    const index = this.#unsettled.indexOf(chunk);
    if (index !== -1) this.#unsettled.splice(index, 1);
  }
}
