/** Watches for a request to stop a run, from any host, while a process plans or works it. */
import { setMaxListeners } from 'node:events';
import { AbortedError } from '../core/base/errors.ts';
import type { RunQueue } from '../queue/port.ts';

const pollEveryMs = 1_000;

interface CancelWatch extends Disposable {
  /** Aborts, with an AbortedError, when the worker stops or the run is stopped. */
  readonly signal: AbortSignal;
}

/** Watches until disposed. A look that fails is left to the work itself, which uses the same queue. */
export function watchForStop(
  runId: string,
  { queue, workerSignal }: { readonly queue: Pick<RunQueue, 'progress'>; readonly workerSignal: AbortSignal },
): CancelWatch {
  const controller = new AbortController();
  // Every request of a chunk listens to the signal: many at once, none for long.
  setMaxListeners(0, controller.signal);
  const onStop = (): void => controller.abort(new AbortedError('the worker stops'));
  if (workerSignal.aborted) onStop();
  workerSignal.addEventListener('abort', onStop, { once: true });
  let isLooking = false;

  /** During an outage of Redis one look waits for it, not one a second. */
  async function poll(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      const progress = await queue.progress.read(runId);
      if (progress?.stopRequest !== undefined) controller.abort(new AbortedError('the run was cancelled or stopped'));
    } catch {
      // The next look may succeed.
    } finally {
      isLooking = false;
    }
  }

  const timer = setInterval(() => void poll(), pollEveryMs);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      clearInterval(timer);
      workerSignal.removeEventListener('abort', onStop);
    },
  };
}

/** The result of the work, or the reason of the signal as soon as it aborts; the work is then left to itself. */
export async function orStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let onAbort = (): void => {};
  const stopped = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Nobody waits for it any more.
    work.catch(() => undefined);
  }
}
