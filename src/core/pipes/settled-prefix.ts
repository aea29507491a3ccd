/**
 * Tracks how far a file is settled. Rows settle in any order; the checkpoint passes them when all rows before them are
 * settled (docs/design.md section 4.3, G7).
 */

/** Rows of the file that settle together: an item, or rejected rows. */
export interface Settleable {
  /** Undefined until they are settled. */
  readonly outcome: unknown;
}

/** The caller bounds its size, and with it the memory. */
export class SettledPrefix<Rows extends Settleable> {
  #rows: Rows[] = [];
  #first = 0;

  /** Entries tracked and not passed yet. */
  get size(): number {
    return this.#rows.length - this.#first;
  }

  /** Adds the next entry of the file. */
  track(rows: Rows): void {
    this.#rows.push(rows);
  }

  /** The entries that are settled, as are all before them: each once, in the order of the file. */
  pass(): readonly Rows[] {
    const from = this.#first;
    while (this.#first < this.#rows.length && this.#rows[this.#first]?.outcome !== undefined) this.#first += 1;
    const passed = this.#rows.slice(from, this.#first);
    // Now and then, so that a long list is not moved for each entry.
    if (this.#first * 2 > this.#rows.length) {
      this.#rows = this.#rows.slice(this.#first);
      this.#first = 0;
    }
    return passed;
  }
}
