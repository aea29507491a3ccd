/**
 * What pages show of a warehouse that is away: held by another process, stopped or removed. Each result stays in memory with
 * its time, up to a bound, and is shown until the warehouse can be read again (docs/design.md section 11).
 */
import type { WellsyncError } from '../../core/base/errors.ts';
import { sleep } from '../../timers/sleep.ts';
import { type LedgerReader, mayPass, type Read, type ReadKey } from './ledger-reader.ts';

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
