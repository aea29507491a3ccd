/**
 * SIGINT, SIGTERM and SIGHUP (the terminal is gone) for a long-running command: the first requests a stop, the second ends
 * the process.
 */
import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { ExitCode } from '../../core/run/exit-code.ts';
import { sleep } from '../../timers/sleep.ts';

/** The sources of a signal for a process. */
type SignalSource = 'system' | 'parent';

/**
 * Counts requests to stop that may be reported twice. Ctrl-C reaches every process of a terminal's group, so the parent
 * forwards to its child a signal that the child already has; a signal to the parent alone is reported once. The number
 * of requests by a signal is the larger one of the two sources.
 */
export class StopCount {
  readonly #seen = new Map<string, Record<SignalSource, number>>();

  /** Whether this is a new request. */
  add(source: SignalSource, signal: string): boolean {
    const seen = this.#seen.get(signal) ?? { system: 0, parent: 0 };
    const known = Math.max(seen.system, seen.parent);
    seen[source] += 1;
    this.#seen.set(signal, seen);
    return seen[source] > known;
  }
}

export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
type StopSignal = (typeof stopSignals)[number];

/** For what a worker or server does behind its grace: 5 s in which work is handed back, and some to close. */
export const afterGraceMs = 10_000;

export interface StopSignals extends Disposable {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** The first signal. */
  readonly first: StopSignal | undefined;
}

const count = new StopCount();
const listeners = new Set<(signal: StopSignal) => void>();

/**
 * Listens until disposed. The second signal ends the process at once with `exitCode`: killing it loses nothing (G7). So
 * does `mostMs` after the first one, disposed or not: a part that hangs, such as a database that does not answer, keeps
 * no process that was told to stop.
 */
export function listenForStop(exitCode: ExitCode, { mostMs }: { readonly mostMs?: number } = {}): StopSignals {
  const controller = new AbortController();
  let first: StopSignal | undefined;
  const onStop = (signal: StopSignal): void => {
    if (controller.signal.aborted) endAtOnce(exitCode);
    first = signal;
    controller.abort();
    if (mostMs !== undefined) void sleep(mostMs, { ref: false }).then(() => endAtOnce(exitCode));
  };
  listeners.add(onStop);
  hearSystem();
  return {
    signal: controller.signal,
    get first() {
      return first;
    },
    [Symbol.dispose]() {
      listeners.delete(onStop);
      if (listeners.size === 0) leaveToSystem();
    },
  };
}

function endAtOnce(exitCode: ExitCode): never {
  try {
    writeSync(process.stderr.fd, 'wellsync: stopped at once.\n');
  } catch {
    // The terminal is gone.
  }
  process.exit(exitCode);
}

/**
 * Also receives signals from the parent process on this file descriptor, a name a line. When it closes, the parent has
 * ended in some way, SIGKILL included, and this process ends at once: nothing else would stop it.
 */
export function listenToParent(fileDescriptor: number): void {
  const pipe = new Socket({ fd: fileDescriptor, readable: true, writable: false });
  pipe.on('error', () => undefined);
  pipe.on('close', () => process.kill(process.pid, 'SIGKILL'));
  createInterface({ input: pipe }).on('line', (line) => {
    const signal = stopSignals.find((name) => name === line);
    if (signal !== undefined) receive('parent', signal);
  });
  pipe.unref();
}

function receive(source: SignalSource, signal: StopSignal): void {
  if (!count.add(source, signal)) return;
  for (const onStop of listeners) onStop(signal);
  if (listeners.size === 0) process.kill(process.pid, signal);
}

function onSystemSignal(signal: NodeJS.Signals): void {
  receive('system', signal as StopSignal);
}

function hearSystem(): void {
  leaveToSystem();
  for (const name of stopSignals) process.on(name, onSystemSignal);
}

/** Without a listener a signal has its default effect. */
function leaveToSystem(): void {
  for (const name of stopSignals) process.off(name, onSystemSignal);
}
