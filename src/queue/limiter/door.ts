import { AbortedError } from '../../core/base/errors.ts';
import { orAbort } from './abortable-wait.ts';

/**
 * Admits a limited number of requests of this process, first come first served, so that only the workers of other
 * processes require polling of Redis.
 */
export class Door {
  #free: number;
  readonly #line: Array<() => void> = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Whether `enter` would resolve at once. */
  get isFree(): boolean {
    return this.#free > 0;
  }

  /** Resolves with the function that releases the place. Throws AbortedError if the signal aborts first. */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw new AbortedError();
    const leave = (): void => this.#leave();
    if (this.#free > 0) {
      this.#free -= 1;
      return leave;
    }
    await this.#waitInLine(signal);
    return leave;
  }

  #leave(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  async #waitInLine(signal: AbortSignal): Promise<void> {
    let letIn = (): void => undefined;
    const turn = new Promise<void>((resolve) => {
      letIn = resolve;
    });
    this.#line.push(letIn);
    try {
      await orAbort(turn, signal);
    } catch (error) {
      const place = this.#line.indexOf(letIn);
      // The place was assigned just as the caller left: passes it on.
      if (place === -1) this.#leave();
      else this.#line.splice(place, 1);
      throw error;
    }
  }
}
