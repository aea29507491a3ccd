/**
 * Decides how far a file is settled: slices settle in any order, the checkpoint is the end of the last one before which
 * everything is settled (DESIGN.md section 4.3, G7).
 */

interface Tracked<Position, Outcome> {
  readonly position: Position;
  outcome: { readonly value: Outcome } | undefined;
}

/** A slice that the checkpoint may pass now, with what became of it. */
export interface Settled<Position, Outcome> {
  /** The end of the slice. */
  readonly position: Position;
  readonly outcome: Outcome;
}

/**
 * track -> resolve -> lowest. Outcomes come back in the order of the file, each once and only when all before them are
 * settled: what is written with them (counts, rejects) is then the same whatever the order of the answers. Memory is
 * bounded by the number of slices that the caller tracks beyond the first unsettled one.
 */
export class SettledPrefix<Position, Outcome> {
  readonly #tracked = new Map<number, Tracked<Position, Outcome>>();
  #next = 0;
  #first = 0;
  #lowest: Position;

  /** `start`: the position before the first slice, from the last checkpoint. */
  constructor(start: Position) {
    this.#lowest = start;
  }

  /** The position up to which all is settled. */
  get lowest(): Position {
    return this.#lowest;
  }

  /** Slices tracked and not passed yet: what holds back the reader when it is too many. */
  get size(): number {
    return this.#tracked.size;
  }

  /** Takes the end of the next slice of the file. Returns its number, dense from 0. */
  track(position: Position): number {
    const slice = this.#next;
    this.#next += 1;
    this.#tracked.set(slice, { position, outcome: undefined });
    return slice;
  }

  /** Settles a slice. A second outcome of the same slice is ignored (G1). Returns what `lowest` passed by it, in order. */
  resolve(slice: number, outcome: Outcome): readonly Settled<Position, Outcome>[] {
    const tracked = this.#tracked.get(slice);
    if (tracked === undefined || tracked.outcome !== undefined) return [];
    tracked.outcome = { value: outcome };
    return this.#pass();
  }

  #pass(): readonly Settled<Position, Outcome>[] {
    const passed: Settled<Position, Outcome>[] = [];
    for (;;) {
      const first = this.#tracked.get(this.#first);
      if (first?.outcome === undefined) return passed;
      this.#tracked.delete(this.#first);
      this.#first += 1;
      this.#lowest = first.position;
      passed.push({ position: first.position, outcome: first.outcome.value });
    }
  }
}
