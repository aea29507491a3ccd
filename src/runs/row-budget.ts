/**
 * Owns how many rows a process holds between the service and the warehouse: whoever reads reserves first, so memory stays
 * bounded whatever the wells, the windows and the number of chunks at one time (G8).
 */
import { AbortedError } from '../core/errors.ts';

export interface RowReservation {
  /** The rows came, so many of them; never waits. From now on they are held, until somebody gives them back. */
  hold(rows: number): void;
  /** Gives everything back. Safe to call twice. */
  release(): void;
}

interface Waiting {
  readonly rows: number;
  readonly letIn: () => void;
}

export class RowBudget {
  readonly #maxRows: number;
  /** Of readings under way: their end makes room by itself, since they reserve more than comes for the most part. */
  readonly #underWay = { readings: 0, rows: 0 };
  #heldRows = 0;
  readonly #line: Waiting[] = [];
  readonly #holders = new Set<() => void>();

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
  }

  /**
   * Whether rows that are held should be given back now: somebody waits for room, and either no reading is under way that
   * would make any, or the better part of the budget is held.
   */
  get isShort(): boolean {
    return this.#line.length > 0 && (this.#underWay.readings === 0 || this.#heldRows >= this.#maxRows / 2);
  }

  /** Calls `giveBack` whenever the budget is short, until the returned function is called. */
  whenShort(giveBack: () => void): () => void {
    // A function of its own, so that the same one may be given twice.
    const holder = (): void => giveBack();
    this.#holders.add(holder);
    return () => void this.#holders.delete(holder);
  }

  /**
   * Resolves when `rows` more may be held, first come first served. A reservation larger than the whole budget is let in
   * when nothing else is held. Rejects with AbortedError.
   */
  async reserve(rows: number, signal: AbortSignal): Promise<RowReservation> {
    if (signal.aborted) throw new AbortedError();
    if (this.#line.length > 0 || !this.#fits(rows)) await this.#wait(rows, signal);
    else this.#begin(rows);
    return this.#reservation(rows);
  }

  #fits(rows: number): boolean {
    const taken = this.#underWay.rows + this.#heldRows;
    return taken === 0 || taken + rows <= this.#maxRows;
  }

  #begin(rows: number): void {
    this.#underWay.readings += 1;
    this.#underWay.rows += rows;
  }

  #end(rows: number): void {
    this.#underWay.readings -= 1;
    this.#underWay.rows -= rows;
  }

  #wait(rows: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#line.splice(this.#line.indexOf(waiting), 1);
        reject(new AbortedError());
        this.#letIn();
      };
      const waiting: Waiting = {
        rows,
        letIn: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      this.#line.push(waiting);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#letIn();
    });
  }

  #letIn(): void {
    for (let next = this.#line[0]; next !== undefined && this.#fits(next.rows); next = this.#line[0]) {
      this.#line.shift();
      this.#begin(next.rows);
      next.letIn();
    }
    if (this.isShort) for (const giveBack of this.#holders) giveBack();
  }

  #reservation(reservedRows: number): RowReservation {
    let isUnderWay = true;
    let heldRows = 0;
    const hold = (rows: number): void => {
      if (isUnderWay) this.#end(reservedRows);
      isUnderWay = false;
      this.#heldRows += rows - heldRows;
      heldRows = rows;
      this.#letIn();
    };
    return { hold, release: () => hold(0) };
  }
}
