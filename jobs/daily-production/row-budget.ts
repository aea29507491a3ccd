/**
 * Limits the rows that a process holds between the service and the warehouse. A reading reserves rows first, and reports
 * the rows that came before it requests more, so that memory is bounded for any wells, any windows and any number of
 * concurrent chunks (G8).
 *
 *   in line     waits for its reservation
 *   under way   reads; pauses between two pages while the budget is full. The oldest one pauses only for rows that others
 *               hold and will release, so that one reading always proceeds
 *   held        waits for the commit of its batch
 */
import { AbortedError } from '../../src/core/base/errors.ts';
import { RowBlocks } from '../../src/core/daily/row-columns.ts';
import type { DailyProductionSettings } from './settings.ts';

/** What all readings of daily production in a process share, whichever job reads. */
export interface ReadingRoom {
  readonly budget: RowBudget;
  readonly blocks: RowBlocks;
  readonly slots: ReadingSlots;
}

export function readingRoomOf(
  settings: Pick<DailyProductionSettings, 'rowsInMemory' | 'wellConcurrency'>,
): ReadingRoom {
  const budget = new RowBudget(settings.rowsInMemory);
  return { budget, blocks: new RowBlocks(() => budget.freeRows), slots: new ReadingSlots(readersOf(settings)) };
}

/** More than the requests that may be under way: a page is read while another's request is answered. */
export function readersOf({ wellConcurrency }: Pick<DailyProductionSettings, 'wellConcurrency'>): number {
  return 2 * wellConcurrency;
}

export interface RowReservation {
  /**
   * Reports the total number of rows so far. Resolves when more may be requested: at once while the budget lasts, and
   * for the oldest reading if nothing is held. Rejects with AbortedError.
   */
  came(rows: number): Promise<void>;
  /** Reports the final number of rows; never waits. They stay held until they are released. */
  hold(rows: number): void;
  /** Releases everything. Idempotent. */
  release(): void;
}

interface Waiting {
  readonly rows: number;
  readonly letIn: (reading: Reading) => void;
}

interface Reading {
  rows: number;
  /** Set during a pause. */
  goOn?: (() => void) | undefined;
}

export class RowBudget {
  readonly #maxRows: number;
  readonly #line: Waiting[] = [];
  /** The oldest first. */
  readonly #underWay = new Set<Reading>();
  #underWayRows = 0;
  #heldRows = 0;
  readonly #holders = new Set<() => void>();

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
  }

  /**
   * Whether held rows should be released now: a reading waits for room, and either no reading that would make room can
   * proceed, or more than half of the budget is held.
   */
  get isShort(): boolean {
    const isWaitedFor = this.#line.length > 0 || this.#takenRows > this.#maxRows;
    const [oldest] = this.#underWay;
    const isStuck = oldest === undefined || oldest.goOn !== undefined;
    return isWaitedFor && this.#heldRows > 0 && (isStuck || this.#heldRows >= this.#maxRows / 2);
  }

  /** Calls `giveBack` whenever the budget is short, until the returned function is called. */
  whenShort(giveBack: () => void): () => void {
    // A function of its own, so that the same callback may be registered twice.
    const holder = (): void => giveBack();
    this.#holders.add(holder);
    return () => void this.#holders.delete(holder);
  }

  /**
   * Resolves when `rows` more may be read, in the order of the calls. A reservation larger than the whole budget is
   * granted when there is no other. Rejects with AbortedError.
   */
  async reserve(rows: number, signal: AbortSignal): Promise<RowReservation> {
    if (signal.aborted) throw new AbortedError();
    const reading = this.#line.length > 0 || !this.#fits(rows) ? await this.#wait(rows, signal) : this.#begin(rows);
    return this.#reservation(reading, signal);
  }

  /** Rows that may still be read. */
  get freeRows(): number {
    return Math.max(0, this.#maxRows - this.#takenRows);
  }

  get #takenRows(): number {
    return this.#underWayRows + this.#heldRows;
  }

  #fits(rows: number): boolean {
    return this.#takenRows === 0 || this.#takenRows + rows <= this.#maxRows;
  }

  #begin(rows: number): Reading {
    const reading = { rows };
    this.#underWay.add(reading);
    this.#underWayRows += rows;
    return reading;
  }

  #wait(rows: number, signal: AbortSignal): Promise<Reading> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#line.splice(this.#line.indexOf(waiting), 1);
        reject(new AbortedError());
        this.#settle();
      };
      const waiting: Waiting = {
        rows,
        letIn: (reading) => {
          signal.removeEventListener('abort', onAbort);
          resolve(reading);
        },
      };
      this.#line.push(waiting);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#settle();
    });
  }

  /**
   * Called after every change: resumes the readings that may proceed, and calls the holders of rows that others need.
   */
  #settle(): void {
    const [oldest] = this.#underWay;
    const isFull = this.#takenRows > this.#maxRows;
    for (const reading of this.#underWay) {
      if (!isFull || (reading === oldest && this.#heldRows === 0)) reading.goOn?.();
    }
    for (let next = this.#line[0]; next !== undefined && this.#fits(next.rows); next = this.#line[0]) {
      this.#line.shift();
      next.letIn(this.#begin(next.rows));
    }
    if (this.isShort) for (const giveBack of this.#holders) giveBack();
  }

  #reservation(reading: Reading, signal: AbortSignal): RowReservation {
    let heldRows = 0;
    const hold = (rows: number): void => {
      if (this.#underWay.delete(reading)) this.#underWayRows -= reading.rows;
      this.#heldRows += rows - heldRows;
      heldRows = rows;
      this.#settle();
    };
    const came = async (rows: number): Promise<void> => {
      // The reservation for rows that have not come yet remains.
      this.#underWayRows += Math.max(0, rows - reading.rows);
      reading.rows = Math.max(rows, reading.rows);
      await this.#pause(reading, signal);
    };
    return { came, hold, release: () => hold(0) };
  }

  #pause(reading: Reading, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw new AbortedError();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        reading.goOn = undefined;
        reject(new AbortedError());
      };
      signal.addEventListener('abort', onAbort, { once: true });
      reading.goOn = () => {
        reading.goOn = undefined;
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      this.#settle();
    });
  }
}

/**
 * The slots of a process for the readings of a run that are under way at a time. They go to the oldest chunk first,
 * so that chunks end one after another: one commits its last rows while the next is read. Each run has its own, so
 * that a small one does not wait until a large one has read a well to its end: they share the requests
 * (docs/decisions/0022-runs-share-the-requests.md).
 */
interface Reader {
  readonly runId: string;
  /** Number of its chunk among those that this process began. */
  readonly chunkNo: number;
  readonly signal: AbortSignal;
}

interface WaitingReader {
  readonly reader: Reader;
  readonly letIn: () => void;
}

export class ReadingSlots {
  readonly #line: WaitingReader[] = [];
  /** Readings under way by run. */
  readonly #taken = new Map<string, number>();
  readonly #slots: number;

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Reads in a slot, once there is one. Rejects with AbortedError while it waits, or as the reading does. */
  async during<T>(reader: Reader, read: () => Promise<T>): Promise<T> {
    if (reader.signal.aborted) throw new AbortedError();
    if (this.#takenBy(reader.runId) >= this.#slots) await this.#wait(reader);
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
      const waiting: WaitingReader = { reader, letIn };
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
