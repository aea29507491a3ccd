/**
 * Owns how many rows a process holds between the service and the warehouse: whoever reads reserves first, and says what came
 * before it asks for more, so that memory stays bounded whatever the wells, the windows and the number of chunks at one
 * time (G8).
 *
 *   in line     waits for its reservation
 *   under way   reads; pauses between two pages while the budget is full: the oldest only for what others hold, and will
 *               give back, so that one always gets on
 *   held        waits for the commit of what is gathered with it
 */
import { AbortedError } from '../core/errors.ts';

export interface RowReservation {
  /**
   * So many rows have come by now. Resolves when more may be asked for: at once while the budget lasts, and for the oldest
   * reading where nothing is held. Rejects with AbortedError.
   */
  came(rows: number): Promise<void>;
  /** All rows have come, so many of them; never waits. From now on they are held, until somebody gives them back. */
  hold(rows: number): void;
  /** Gives everything back. Safe to call twice. */
  release(): void;
}

interface Waiting {
  readonly rows: number;
  readonly letIn: (reading: Reading) => void;
}

interface Reading {
  rows: number;
  /** Set while it pauses. */
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
   * Whether rows that are held should be given back now: somebody waits for room, and either no reading gets on that would
   * make any, or the better part of the budget is held.
   */
  get isShort(): boolean {
    const isWaitedFor = this.#line.length > 0 || this.#takenRows > this.#maxRows;
    const [oldest] = this.#underWay;
    const isStuck = oldest === undefined || oldest.goOn !== undefined;
    return isWaitedFor && this.#heldRows > 0 && (isStuck || this.#heldRows >= this.#maxRows / 2);
  }

  /** Calls `giveBack` whenever the budget is short, until the returned function is called. */
  whenShort(giveBack: () => void): () => void {
    // A function of its own, so that the same one may be given twice.
    const holder = (): void => giveBack();
    this.#holders.add(holder);
    return () => void this.#holders.delete(holder);
  }

  /**
   * Resolves when `rows` more may be read, first come first served. A reservation larger than the whole budget is let in
   * when nothing else is there. Rejects with AbortedError.
   */
  async reserve(rows: number, signal: AbortSignal): Promise<RowReservation> {
    if (signal.aborted) throw new AbortedError();
    const reading = this.#line.length > 0 || !this.#fits(rows) ? await this.#wait(rows, signal) : this.#begin(rows);
    return this.#reservation(reading, signal);
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

  /** After every change: whoever may go on goes on, and whoever holds rows that others need is told. */
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
      // What was reserved for rows that have not come yet stays reserved.
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
