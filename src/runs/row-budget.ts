/**
 * Owns how many rows a process holds between the service and the warehouse: whoever reads reserves first, so memory stays
 * bounded whatever the wells, the windows and the number of chunks at one time (G8).
 */
import { AbortedError } from '../core/errors.ts';

export interface RowReservation {
  /** Corrects the reservation to what really came; never waits, since the rows are there already. */
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
  #heldRows = 0;
  readonly #line: Waiting[] = [];

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
  }

  /** Whether somebody waits for rows to be given back: what is gathered should be committed now. */
  get isWaitedFor(): boolean {
    return this.#line.length > 0;
  }

  /**
   * Resolves when `rows` more may be held, first come first served. A reservation larger than the whole budget is let in
   * when nothing else is held. Rejects with AbortedError.
   */
  async reserve(rows: number, signal: AbortSignal): Promise<RowReservation> {
    if (signal.aborted) throw new AbortedError();
    if (this.#line.length > 0 || !this.#fits(rows)) await this.#wait(rows, signal);
    else this.#heldRows += rows;
    return this.#reservation(rows);
  }

  #fits(rows: number): boolean {
    return this.#heldRows === 0 || this.#heldRows + rows <= this.#maxRows;
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
    });
  }

  #letIn(): void {
    for (let next = this.#line[0]; next !== undefined && this.#fits(next.rows); next = this.#line[0]) {
      this.#line.shift();
      this.#heldRows += next.rows;
      next.letIn();
    }
  }

  #reservation(reservedRows: number): RowReservation {
    let heldRows = reservedRows;
    const change = (rows: number): void => {
      this.#heldRows += rows - heldRows;
      heldRows = rows;
      this.#letIn();
    };
    return { hold: change, release: () => change(0) };
  }
}
