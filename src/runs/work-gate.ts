/** Keeps the work of a process apart from work that may kill it, whose death would count against both. */
import { sleep } from '../timers/sleep.ts';

/** How long either kind waits for the other: some work takes hours. */
const defaultPatienceMs = 60_000;

export class WorkGate {
  readonly #patienceMs: number;
  readonly #together = new Set<Promise<unknown>>();
  /** Settles when all work that asked to be alone has ended. */
  #alone: Promise<unknown> = Promise.resolve();

  constructor(patienceMs = defaultPatienceMs) {
    this.#patienceMs = patienceMs;
  }

  /** Runs the work beside other work, and after work that is alone. */
  async together<T>(work: () => Promise<T>): Promise<T> {
    await this.#afterAlone();
    const running = work();
    this.#together.add(running);
    try {
      return await running;
    } finally {
      this.#together.delete(running);
    }
  }

  /** Runs the work after all other work of the process, and before work that comes later. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#alone;
    const running = this.#patiently(before).then(async () => {
      await this.#patiently(Promise.allSettled(this.#together));
      return work();
    });
    this.#alone = running.catch(() => undefined);
    return running;
  }

  async #afterAlone(): Promise<void> {
    const sinceMs = performance.now();
    for (;;) {
      const last = this.#alone;
      await this.#patiently(last);
      // More may have asked meanwhile.
      if (last === this.#alone || performance.now() - sinceMs >= this.#patienceMs) return;
    }
  }

  async #patiently(others: Promise<unknown>): Promise<void> {
    const ended = new AbortController();
    const late = sleep(this.#patienceMs, { signal: ended.signal, ref: false }).catch(() => undefined);
    await Promise.race([others, late]);
    ended.abort();
  }
}
