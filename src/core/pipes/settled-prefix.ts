/**
 * Tracks how far a file is settled. Chunks settle in any order; the checkpoint passes a chunk when all chunks before it
 * are settled (docs/design.md section 4.3, G7).
 */

/**
 * Call `track`, then `resolve`. Outcomes are returned in the order of the file, each once and only when all before them
 * are settled, so that the text written with them (position, counts, rejects) does not depend on the order of the
 * answers. The number of chunks tracked beyond the first unsettled one bounds the memory; the caller limits it.
 */
export class SettledPrefix<Outcome extends object> {
  readonly #settled = new Map<number, Outcome>();
  #next = 0;
  #first = 0;

  /** Chunks tracked and not passed yet. The reader pauses when there are too many. */
  get size(): number {
    return this.#next - this.#first;
  }

  /** Adds the next chunk of the file. Returns its number, from 0 without gaps. */
  track(): number {
    const chunk = this.#next;
    this.#next += 1;
    return chunk;
  }

  /** Settles a chunk. Ignores a second outcome of the same chunk (G1). Returns the outcomes that are passed now. */
  resolve(chunk: number, outcome: Outcome): readonly Outcome[] {
    const isOpen = chunk >= this.#first && chunk < this.#next && !this.#settled.has(chunk);
    if (!isOpen) return [];
    this.#settled.set(chunk, outcome);
    return this.#pass();
  }

  #pass(): readonly Outcome[] {
    const passed: Outcome[] = [];
    for (;;) {
      const first = this.#settled.get(this.#first);
      if (first === undefined) return passed;
      this.#settled.delete(this.#first);
      this.#first += 1;
      passed.push(first);
    }
  }
}
