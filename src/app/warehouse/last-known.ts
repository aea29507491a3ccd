/**
 * How a server reads its warehouse (LedgerReader, below), and what pages show of one that is away: held by another process, stopped or removed. Each result stays in memory with
 * its time, up to a bound, and is shown until the warehouse can be read again (docs/design.md section 11).
 */
import { TransientError, UnreachableError, type WellsyncError } from '../../core/base/errors.ts';
import { sleep } from '../../timers/sleep.ts';

/** Of all results together: the page of a well of sixty years takes 2 MB. */
const mostKeptBytes = 32_000_000;

/** So soon after it was found away, the warehouse is not asked once more for what is not known. */
const foundAwayMs = 5_000;

/** What is not known waits no longer than this for a warehouse that was found away: it may be back. */
const mostWaitMs = 500;

export class LastKnownReader implements LedgerReader {
  readonly #reader: LedgerReader;
  readonly #now: () => number;
  readonly #maxBytes: number;
  /** The one that was read longest ago is the first. */
  readonly #kept = new Map<string, { readonly read: Read<unknown>; readonly bytes: number }>();
  #keptBytes = 0;
  #away: { readonly fault: WellsyncError; readonly atMs: number } | undefined;
  /** Whether it is back is seen by one read at a time. */
  #checking: Promise<void> | undefined;

  constructor(
    reader: LedgerReader,
    { now = Date.now, maxBytes = mostKeptBytes }: { readonly now?: () => number; readonly maxBytes?: number } = {},
  ) {
    this.#reader = reader;
    this.#now = now;
    this.#maxBytes = maxBytes;
  }

  /** While the warehouse is away, what is known is shown at once; whether it is back is seen meanwhile. */
  async read<T>(key: ReadKey, work: () => Promise<T>): Promise<Read<T>> {
    const away = this.#away;
    const known = this.#kept.get(JSON.stringify(key))?.read as Read<T> | undefined;
    if (away === undefined) return this.#readNow(key, work);
    if (known === undefined && this.#now() - away.atMs < foundAwayMs) throw away.fault;
    this.#checking ??= this.#check(key, work);
    if (known !== undefined) return { ...known, fault: away.fault };
    await Promise.race([this.#checking, sleep(mostWaitMs, { ref: false })]);
    if (this.#away !== undefined) throw this.#away.fault;
    const checked = this.#kept.get(JSON.stringify(key))?.read as Read<T> | undefined;
    return checked ?? this.#readNow(key, work);
  }

  /**
   * What the queue knows, which may have to read it from the warehouse: while that is away, what is known is shown unless an
   * answer comes at once.
   */
  async readLive<T>(key: ReadKey, work: () => Promise<T>, otherwise: () => T): Promise<T> {
    const known = (): T => {
      const kept = this.#kept.get(JSON.stringify(key));
      return kept === undefined ? otherwise() : (kept.read.value as T);
    };
    const answered = this.#liveNow(key, work).catch((error: unknown) => this.#awayOr(error, known));
    if (this.#away === undefined) return answered;
    const late = sleep(mostWaitMs, { ref: false }).then(known);
    return Promise.race([answered, late]);
  }

  async #liveNow<T>(key: ReadKey, work: () => Promise<T>): Promise<T> {
    const value = await work();
    this.#keep(key, { value, atMs: this.#now() });
    return value;
  }

  #awayOr<T>(error: unknown, known: () => T): T {
    if (!mayPass(error)) throw error;
    this.#away = { fault: error, atMs: this.#now() };
    return known();
  }

  async #readNow<T>(key: ReadKey, work: () => Promise<T>): Promise<Read<T>> {
    try {
      const read = await this.#reader.read(key, work);
      this.#away = read.fault && { fault: read.fault, atMs: this.#now() };
      this.#keep(key, read);
      return read;
    } catch (error) {
      this.#away = mayPass(error) ? { fault: error, atMs: this.#now() } : undefined;
      const known = this.#kept.get(JSON.stringify(key))?.read as Read<T> | undefined;
      if (known === undefined || this.#away === undefined) throw error;
      return { ...known, fault: this.#away.fault };
    }
  }

  /** Who asked has an answer: a fault is that of the next one. */
  async #check(key: ReadKey, work: () => Promise<unknown>): Promise<void> {
    await this.#readNow(key, work).catch(() => undefined);
    this.#checking = undefined;
  }

  #keep(asked: ReadKey, { value, atMs }: Read<unknown>): void {
    const key = JSON.stringify(asked);
    this.#forget(key);
    const bytes = roughBytesOf(value);
    this.#kept.set(key, { read: { value, atMs }, bytes });
    this.#keptBytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#keptBytes <= this.#maxBytes) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#keptBytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** Of a document: texts by their length, whatever else by about what it takes. */
function roughBytesOf(value: unknown): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (value instanceof Map) return roughBytesOf([...value]);
  // A list of figures, such as those of a plot.
  if (Array.isArray(value) && typeof value[0] === 'number') return 8 * value.length;
  return Object.values(value).reduce<number>((sum, part) => sum + 8 + roughBytesOf(part), 16);
}

/** The reads of one page: of when the oldest of them is, and what keeps the warehouse from being read. */
export class ReadsOfPage implements LedgerReader {
  readonly #reader: LastKnownReader;
  #asOfMs = Infinity;
  #fault: WellsyncError | undefined;

  constructor(reader: LastKnownReader) {
    this.#reader = reader;
  }

  get asOfMs(): number {
    return Math.min(this.#asOfMs, Date.now());
  }

  get fault(): WellsyncError | undefined {
    return this.#fault;
  }

  async read<T>(key: ReadKey, work: () => Promise<T>): Promise<Read<T>> {
    return this.counted(await this.#reader.read(key, work));
  }

  /** As {@link LastKnownReader.readLive}: of now, or as old as the rest of the page. */
  readLive<T>(key: ReadKey, work: () => Promise<T>, otherwise: () => T): Promise<T> {
    return this.#reader.readLive(key, work, otherwise);
  }

  /** Of what was read by another one. */
  counted<T>(read: Read<T>): Read<T> {
    this.#asOfMs = Math.min(this.#asOfMs, read.atMs);
    this.#fault ??= read.fault;
    return read;
  }

  /** What stands beside the data of the page: its age does not count. Undefined where it is not known now. */
  async readAside<T>(key: ReadKey, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const { value, fault } = await this.#reader.read(key, work);
      this.#fault ??= fault;
      return value;
    } catch (error) {
      if (!mayPass(error)) throw error;
      this.#fault ??= error;
      return undefined;
    }
  }
}

// Reads of the warehouse for a process that serves many clients. Beside a worker on a DuckDB file each opening keeps that
// worker waiting, so the file is opened seldom, for all that was asked for meanwhile; between, and while the file is held,
// clients see what was read last, with its time (docs/design.md section 11). What nobody has seen yet is not kept waiting: a
// person who goes from page to page keeps the file for a small share of the time.

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
function mayPass(error: unknown): error is TransientError | UnreachableError {
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
