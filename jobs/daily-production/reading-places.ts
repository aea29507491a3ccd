/**
 * The places of a process for the readings of a run that are under way at a time. They go to the oldest chunk first, so
 * that chunks end one after another: one commits its last rows while the next is read. Each run has its own, so that a
 * small one does not wait until a large one has read a well to its end: they share the requests (docs/decisions/0022-runs-share-the-requests.md).
 */
import { AbortedError } from '../../src/core/base/errors.ts';

export interface Reader {
  readonly runId: string;
  /** Number of its chunk among those that this process began. */
  readonly chunkNo: number;
  readonly signal: AbortSignal;
}

interface Waiting {
  readonly reader: Reader;
  readonly letIn: () => void;
}

export class ReadingPlaces {
  readonly #line: Waiting[] = [];
  /** Readings under way by run. */
  readonly #taken = new Map<string, number>();
  readonly #places: number;

  constructor(places: number) {
    this.#places = places;
  }

  /** Reads in a place, once there is one. Rejects with AbortedError while it waits, or as the reading does. */
  async during<Reading>(reader: Reader, read: () => Promise<Reading>): Promise<Reading> {
    if (reader.signal.aborted) throw new AbortedError();
    if (this.#takenBy(reader.runId) >= this.#places) await this.#wait(reader);
    else this.#begin(reader);
    try {
      return await read();
    } finally {
      this.#end(reader);
    }
  }

  #wait(reader: Reader): Promise<void> {
    const { signal } = reader;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#line.splice(this.#line.indexOf(waiting), 1);
        reject(new AbortedError());
      };
      const letIn = (): void => {
        signal.removeEventListener('abort', onAbort);
        this.#begin(reader);
        resolve();
      };
      const waiting: Waiting = { reader, letIn };
      this.#line.push(waiting);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #begin({ runId }: Reader): void {
    this.#taken.set(runId, this.#takenBy(runId) + 1);
  }

  #end({ runId }: Reader): void {
    const left = this.#takenBy(runId) - 1;
    if (left === 0) this.#taken.delete(runId);
    else this.#taken.set(runId, left);
    const [next] = this.#line
      .filter(({ reader }) => reader.runId === runId)
      .toSorted((one, other) => one.reader.chunkNo - other.reader.chunkNo);
    if (next === undefined) return;
    this.#line.splice(this.#line.indexOf(next), 1);
    next.letIn();
  }

  #takenBy(runId: string): number {
    return this.#taken.get(runId) ?? 0;
  }
}
