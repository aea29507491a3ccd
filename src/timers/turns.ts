/**
 * Turns of the event loop, of which a process has one. A statement of a commit takes a millisecond or two of the engine's
 * thread, and then the loop to begin the next; to read a page takes the loop for as long. While pages went first, each
 * statement waited for one or two of them, and a commit took three times as long as its statements. So a page waits for
 * the statement that is under way: many are read for each commit, and they have the time of its long steps.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { after } from './sleep.ts';

interface Step {
  readonly sinceMs: number;
  readonly ended: Promise<void>;
}

export class Turns {
  readonly #mostStepMs: number;
  readonly #mostWaitMs: number;
  readonly #steps = new Set<Step>();
  /** Resolves in the order of the pages. */
  #line: Promise<void> = Promise.resolve();

  /**
   * A step that takes longer than `mostStepMs` is no short one: pages are read meanwhile. A page waits for `mostWaitMs`,
   * however many steps follow each other.
   */
  constructor({ mostStepMs, mostWaitMs }: { readonly mostStepMs: number; readonly mostWaitMs: number }) {
    this.#mostStepMs = mostStepMs;
    this.#mostWaitMs = mostWaitMs;
  }

  /** Does a step of the engine, which goes before the pages that wait for a turn. Settles as the step does. */
  async goFirst<T>(work: () => Promise<T>): Promise<T> {
    const result = work();
    const ended = result.then(
      () => {},
      () => {},
    );
    const step = { sinceMs: performance.now(), ended };
    this.#steps.add(step);
    try {
      return await result;
    } finally {
      this.#steps.delete(step);
    }
  }

  /** Resolves in a turn of the event loop in which no other page is read, once no short step is under way. */
  page(): Promise<void> {
    const untilMs = performance.now() + this.#mostWaitMs;
    return (this.#line = this.#line.then(() => this.#nextFree(untilMs)));
  }

  async #nextFree(untilMs: number): Promise<void> {
    for (;;) {
      // Whoever waited for a step begins the next one before this turn.
      await nextTurn();
      const nowMs = performance.now();
      const step = [...this.#steps].find(({ sinceMs }) => nowMs < sinceMs + this.#mostStepMs);
      if (step === undefined || nowMs >= untilMs) return;
      await endOf(step, step.sinceMs + this.#mostStepMs - nowMs);
    }
  }
}

/** Resolves when the step has ended, after `mostMs` at the latest. */
function endOf({ ended }: Step, mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = after(mostMs, resolve);
    void ended.then(() => {
      timer.cancel();
      resolve();
    });
  });
}

/** Those of this process. */
export const turns = new Turns({ mostStepMs: 5, mostWaitMs: 50 });
