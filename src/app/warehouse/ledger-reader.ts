/**
 * Reads of the warehouse for a process that serves many clients. Beside a worker on a DuckDB file each opening keeps that
 * worker waiting, so the file is opened seldom, for all that was asked for meanwhile; between, and while the file is held,
 * clients see what was read last, with its time (docs/design.md section 11). What nobody has seen yet is not kept waiting: a
 * person who goes from page to page keeps the file for a small share of the time.
 */
import { TransientError, UnreachableError, type WellsyncError } from '../../core/base/errors.ts';
import { sleep } from '../../timers/sleep.ts';

export interface Read<T> {
  readonly value: T;
  /** When it was read, milliseconds since 1970. */
  readonly atMs: number;
  /** Why it was not read now: the warehouse is away. */
  readonly fault?: WellsyncError;
}

/** What is read: the question, by one name in the whole program, and what it is about. Its answer is kept by it. */
export type ReadKey = readonly [question: string, ...about: readonly unknown[]];

export interface LedgerReader {
  /** Throws what `work` throws, unless an earlier result can be shown. */
  read<T>(key: ReadKey, work: () => Promise<T>): Promise<Read<T>>;
}

/** Whether the warehouse is away: it may be back, by itself or by what the hint says. */
export function mayPass(error: unknown): error is TransientError | UnreachableError {
  return error instanceof TransientError || error instanceof UnreachableError;
}

/**
 * For a process that has the warehouse to itself, or shares a server: every read is a new one. Of many that ask the same at once,
 * those that come during a read share the next one, which begins after all of them asked.
 */
export function directReader(now: () => number = Date.now): LedgerReader {
  const running = new Map<string, Promise<Read<unknown>>>();
  const next = new Map<string, Promise<Read<unknown>>>();
  const begin = async (key: string, work: () => Promise<unknown>): Promise<Read<unknown>> => {
    const atMs = now();
    const read = work().then((value) => ({ value, atMs }));
    running.set(key, read);
    return read.finally(() => running.delete(key));
  };
  const follow = async (
    key: string,
    before: Promise<unknown>,
    work: () => Promise<unknown>,
  ): Promise<Read<unknown>> => {
    await before.catch(() => undefined);
    next.delete(key);
    return begin(key, work);
  };
  return {
    async read<T>(asked: ReadKey, work: () => Promise<T>): Promise<Read<T>> {
      const key = JSON.stringify(asked);
      const before = running.get(key);
      if (before === undefined && !next.has(key)) return (await begin(key, work)) as Read<T>;
      const shared = next.get(key) ?? follow(key, before ?? Promise.resolve(), work);
      next.set(key, shared);
      return (await shared) as Read<T>;
    },
  };
}

/** Between two openings, as a multiple of how long the earlier one took: a tenth of the time is the readers'. */
const pausePerHeld = 9;
const leastPauseMs = 1_000;

/** Results that are kept; each is at most as long as an answer. */
const mostKept = 100;

interface Waiting {
  readonly work: () => Promise<unknown>;
  readonly promise: Promise<Read<unknown>>;
  readonly settle: (result: Promise<Read<unknown>>) => void;
}

export class RationedReader implements LedgerReader {
  readonly #everyMs: number;
  readonly #now: () => number;
  readonly #kept = new Map<string, Read<unknown>>();
  readonly #waiting = new Map<string, Waiting>();
  #openedAtMs = -Infinity;
  #heldMs = 0;
  #isTurning = false;

  /** `everyMs`: how old a result is that is read again. */
  constructor({ everyMs = 10_000, now = Date.now }: { readonly everyMs?: number; readonly now?: () => number } = {}) {
    this.#everyMs = everyMs;
    this.#now = now;
  }

  async read<T>(asked: ReadKey, work: () => Promise<T>): Promise<Read<T>> {
    const key = JSON.stringify(asked);
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#now() - kept.atMs < this.#everyMs) return kept as Read<T>;
    return (await this.#atNextTurn(key, work)) as Read<T>;
  }

  #atNextTurn(key: string, work: () => Promise<unknown>): Promise<Read<unknown>> {
    const known = this.#waiting.get(key);
    if (known !== undefined) return known.promise;
    let settle: Waiting['settle'] = () => undefined;
    const promise = new Promise<Read<unknown>>((resolve) => (settle = resolve));
    this.#waiting.set(key, { work, promise, settle });
    if (!this.#isTurning) {
      this.#isTurning = true;
      void this.#openNext();
    }
    return promise;
  }

  /** One opening: the file stays open between reads that follow each other at once. */
  async #openNext(): Promise<void> {
    const pauseMs = Math.min(this.#everyMs, Math.max(leastPauseMs, pausePerHeld * this.#heldMs));
    await sleep(Math.max(0, this.#openedAtMs + this.#heldMs + pauseMs - this.#now()), { ref: false });
    this.#openedAtMs = this.#now();
    // Also what is asked for during the turn.
    for (const [key, { work, settle }] of this.#waiting) {
      this.#waiting.delete(key);
      const result = this.#result(key, work);
      settle(result);
      await result.catch(() => undefined);
    }
    this.#heldMs = this.#now() - this.#openedAtMs;
    this.#isTurning = false;
  }

  async #result(key: string, work: () => Promise<unknown>): Promise<Read<unknown>> {
    try {
      const read = { value: await work(), atMs: this.#now() };
      this.#keep(key, read);
      return read;
    } catch (error) {
      const kept = this.#kept.get(key);
      if (kept === undefined || !mayPass(error)) throw error;
      return { ...kept, fault: error };
    }
  }

  #keep(key: string, read: Read<unknown>): void {
    this.#kept.delete(key);
    this.#kept.set(key, read);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > mostKept) this.#kept.delete(oldest);
  }
}
