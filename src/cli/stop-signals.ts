/** Owns what SIGINT and SIGTERM do to a command that works for a while: the first asks it to stop, the second ends it. */
import type { ExitCode } from './exit-codes.ts';

export interface StopSignals extends Disposable {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
}

/** Listens until disposed. The second signal ends the process at once with `exitCode`: killing it loses nothing (G7). */
export function listenForStop(exitCode: ExitCode): StopSignals {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(exitCode);
    controller.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal);
    },
  };
}
