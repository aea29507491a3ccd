/**
 * Work on a file, one piece at a time. Short work is done in the order of the calls. Long work lets short work go first:
 * the next chunk begins to read while the rows of the last ones wait to be committed, and not after them.
 */
export type WorkLength = 'short' | 'long';

interface Waiting {
  readonly length: WorkLength;
  readonly sinceMs: number;
  readonly begin: () => Promise<void>;
}

/** Short work that never ends keeps long work waiting no longer than this. */
const mostOvertakenMs = 500;

export class WorkLine {
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  /** Does the work when it is its turn; settles as the work does. */
  do<T>(work: () => Promise<T>, length: WorkLength = 'short'): Promise<T> {
    const done = new Promise<T>((resolve, reject) => {
      const begin = (): Promise<void> => work().then(resolve, reject);
      this.#waiting.push({ length, sinceMs: performance.now(), begin });
    });
    if (!this.#isBusy) void this.#work();
    return done;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) await next.begin();
    this.#isBusy = false;
  }

  #takeNext(): Waiting | undefined {
    const overdueMs = performance.now() - mostOvertakenMs;
    const goesFirst = this.#waiting.findIndex(({ length, sinceMs }) => length === 'short' || sinceMs <= overdueMs);
    return this.#waiting.splice(Math.max(0, goesFirst), 1)[0];
  }
}
