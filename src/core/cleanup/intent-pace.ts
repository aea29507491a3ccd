/**
 * How many deletions have their intents written at once. Each writing is a transaction, so that one for every few requests
 * would take a quick service most of its speed. But an intent says that a request may have been sent: one that still waits
 * when the process is killed makes an outcome uncertain that is none.
 */

/** Time within which the last request of a group is sent, as far as the group before tells. */
const intentAheadMs = 250;

/** A quick answer or two may be chance. */
const mostGrowth = 4;

export class IntentPace {
  readonly #concurrency: number;
  #groupSize: number;

  /** `concurrency`: requests that are sent at once, and the smallest group. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
    this.#groupSize = concurrency;
  }

  /** How many deletions the next group has. */
  get groupSize(): number {
    return this.#groupSize;
  }

  /** Takes in how long the requests of a group took. The rest at the end of a list, which is no whole group, tells little. */
  note(size: number, tookMs: number): void {
    const answered = Math.floor((size * intentAheadMs) / Math.max(1, tookMs));
    if (size < this.#groupSize && answered >= this.#groupSize) return;
    this.#groupSize = Math.max(this.#concurrency, Math.min(answered, size * mostGrowth));
  }
}
