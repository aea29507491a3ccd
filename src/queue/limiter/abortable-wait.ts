/** Waits that end with an AbortedError when the signal aborts. */
import { AbortedError } from '../../core/base/errors.ts';
import { sleep } from '../../timers/sleep.ts';

export function givenUp(cause: unknown): AbortedError {
  return new AbortedError('given up while waiting for leave to send', { cause });
}

export async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, { signal }).catch((error: unknown) => {
    throw givenUp(error);
  });
}

/** Redis calls cannot be aborted: the caller stops waiting, and the answer is dropped. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) reject(new AbortedError());
    const onAbort = (): void => reject(givenUp(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
