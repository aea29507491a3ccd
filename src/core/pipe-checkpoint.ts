/**
 * Decides how far a file is settled: slices settle in any order, and the checkpoint passes one when everything before it is
 * settled (DESIGN.md section 4.3, G7).
 */

/**
 * track -> resolve. Outcomes come back in the order of the file, each once and only when all before them are settled: what
 * is written with them (position, counts, rejects) is then the same whatever the order of the answers. Memory is bounded by
 * the number of slices that the caller tracks beyond the first unsettled one.
 */
export class SettledPrefix<Outcome extends object> {
  readonly #settled = new Map<number, Outcome>();
  #next = 0;
  #first = 0;

  /** Slices tracked and not passed yet: what holds back the reader when it is too many. */
  get size(): number {
    return this.#next - this.#first;
  }

  /** Takes the next slice of the file. Returns its number, dense from 0. */
  track(): number {
    const slice = this.#next;
    this.#next += 1;
    return slice;
  }

  /** Settles a slice. A second outcome of the same slice is ignored (G1). Returns the outcomes that may be passed now. */
  resolve(slice: number, outcome: Outcome): readonly Outcome[] {
    const isOpen = slice >= this.#first && slice < this.#next && !this.#settled.has(slice);
    if (!isOpen) return [];
    this.#settled.set(slice, outcome);
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
