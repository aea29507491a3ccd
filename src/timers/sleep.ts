/**
 * The one place that sets timers of any length. Node ends a timer beyond 2^31-1 ms (24.8 days) after 1 ms, so that a
 * loop around it spins: a longer one is set in slices.
 */
import { once } from 'node:events';
import { setTimeout as sleepOnce } from 'node:timers/promises';

/** The longest delay of a timer of Node. */
export const longestTimerMs = 2 ** 31 - 1;

export interface SleepOptions {
  /** Ends the sleep with the AbortError of Node; its cause is the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** False lets the process end during the sleep. */
  readonly ref?: boolean;
  /** Most milliseconds of one timer; tests set fewer. */
  readonly sliceMs?: number;
}

/** Resolves after `delayMs`; with `Infinity` never, until the signal aborts. */
export async function sleep(delayMs: number, options: SleepOptions = {}): Promise<void> {
  const { sliceMs = longestTimerMs, signal, ref = true } = options;
  for (let leftMs = delayMs; ; leftMs -= sliceMs) {
    await sleepOnce(Math.min(leftMs, sliceMs), undefined, signal === undefined ? { ref } : { ref, signal });
    if (!(leftMs > sliceMs)) return;
  }
}

/** Resolves when the signal aborts. The process lives meanwhile. */
export async function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const life = setInterval(() => {}, longestTimerMs);
  await once(signal, 'abort').finally(() => clearInterval(life));
}

export interface Timer {
  /** Safe to call at any time. */
  cancel(): void;
}

/** Calls `action` after `delayMs`, unless it is cancelled before. Cheap enough for every request. */
export function after(delayMs: number, action: () => void, { ref = true }: Pick<SleepOptions, 'ref'> = {}): Timer {
  let timer: NodeJS.Timeout;
  const set = (leftMs: number): void => {
    const next = leftMs > longestTimerMs ? () => set(leftMs - longestTimerMs) : action;
    timer = setTimeout(next, Math.min(leftMs, longestTimerMs));
    if (!ref) timer.unref();
  };
  set(delayMs);
  return { cancel: () => clearTimeout(timer) };
}
