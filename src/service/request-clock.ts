import { after, type Timer } from '../timers/sleep.ts';

/** Calls `expire` once after `limitMs`, in which it does not count its rests. */
export class RequestClock {
  readonly #expire: () => void;
  #leftMs: number;
  #restedMs = 0;
  #sinceMs = performance.now();
  /** Cancelled during a rest; undefined after the end. */
  #timer: Timer | undefined;

  constructor(limitMs: number, expire: () => void) {
    this.#expire = expire;
    this.#leftMs = limitMs;
    this.#timer = after(limitMs, expire);
  }

  /** Rests until the promise settles. Rests do not overlap. */
  restDuring(wait: Promise<void>): void {
    this.#timer?.cancel();
    this.#leftMs -= this.#sinceLast();
    const goOn = (): void => {
      this.#restedMs += this.#sinceLast();
      if (this.#timer !== undefined) this.#timer = after(this.#leftMs, this.#expire);
    };
    wait.then(goOn, goOn);
  }

  /** Ends the clock. Returns the milliseconds of its rests. */
  stop(): number {
    this.#timer?.cancel();
    this.#timer = undefined;
    return this.#restedMs;
  }

  #sinceLast(): number {
    const nowMs = performance.now();
    const passedMs = nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    return passedMs;
  }
}
