/**
 * Turns of the event loop, of which a process has one. A statement of a commit takes a millisecond or two of the engine's
 * thread, and then the loop to begin the next; to read a page takes the loop for as long. While pages went first, each
 * statement waited for one or two of them, and a commit took three times as long as its statements. So a page waits for
 * the statement that is under way: many are read for each commit, and they have the time of its long steps.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { after } from './sleep.ts';

/** A statement that takes longer is no short one: pages are read meanwhile. */
const mostStepMs = 5;

/** A page waits for short statements no longer than this, however many follow each other. */
const mostWaitMs = 50;

interface Step {
  readonly sinceMs: number;
  readonly ended: Promise<void>;
}

const steps = new Set<Step>();

/** Resolves in the order of the calls. */
let line: Promise<void> = Promise.resolve();

/** Does a step of a transaction, which goes before the pages that wait for a turn. Settles as the step does. */
export async function goFirst<T>(work: () => Promise<T>): Promise<T> {
  const result = work();
  const ended = result.then(
    () => {},
    () => {},
  );
  const step = { sinceMs: performance.now(), ended };
  steps.add(step);
  try {
    return await result;
  } finally {
    steps.delete(step);
  }
}

/** Resolves in a turn of the event loop in which no other page is read, once no short step is under way. */
export function turnOfPage(): Promise<void> {
  return (line = line.then(nextFree));
}

async function nextFree(): Promise<void> {
  const untilMs = performance.now() + mostWaitMs;
  for (;;) {
    // Whoever waited for a step begins the next one before this turn.
    await nextTurn();
    const nowMs = performance.now();
    const step = [...steps].find(({ sinceMs }) => nowMs < sinceMs + mostStepMs);
    if (step === undefined || nowMs >= untilMs) return;
    await endOf(step, step.sinceMs + mostStepMs - nowMs);
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
