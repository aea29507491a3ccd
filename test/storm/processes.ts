/** The processes of an installation, kept running as systemd keeps them: one that ended starts again soon after. */
import path from 'node:path';
import { type Leashed, startLeashed } from '../../scripts/setup/leash.mjs';
import { processTree } from '../support/process-tree.ts';
import type { StormEvent } from './evidence.ts';
import { type Installation, program } from './installation.ts';

const restartMs = 500;
/** After another process was found at work (exit code 5). */
const restartWhenBusyMs = 4_000;

/** A worker or a server: the program, and the process with limits that it starts. */
export class Service {
  readonly name: string;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #log: string;
  readonly #note: (event: StormEvent) => void;
  #running: Leashed | undefined;
  #pid: number | undefined;
  #isWanted = false;
  #keeping: Promise<void> = Promise.resolve();
  readonly #stopped = new Set<number>();

  constructor(
    installation: Installation,
    of: { readonly name: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> },
    note: (event: StormEvent) => void,
  ) {
    this.name = of.name;
    this.#args = of.args;
    this.#env = of.env;
    this.#log = path.join(installation.logs, `${of.name}.log`);
    this.#note = note;
  }

  start(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#keeping = this.#keep();
  }

  /** The program first, then what it started; empty while it is down. */
  get pids(): readonly number[] {
    return this.#pid === undefined ? [] : processTree(this.#pid).toReversed();
  }

  get isUp(): boolean {
    return this.pids.length > 0;
  }

  /** Sends SIGKILL; returns whether there was a process. */
  kill(which: 'program' | 'inner' | 'all'): boolean {
    const { pids } = this;
    const chosen = { program: pids.slice(0, 1), inner: pids.slice(1), all: pids };
    return signal(chosen[which], 'SIGKILL');
  }

  /** SIGSTOP to all of its processes, until {@link goOn}. */
  pause(): void {
    const { pids } = this;
    for (const pid of pids) this.#stopped.add(pid);
    signal(pids, 'SIGSTOP');
  }

  /** Processes may be stopped whose program is gone: all go on that were stopped here. */
  goOn(): void {
    const stopped = [...this.#stopped];
    this.#stopped.clear();
    signal(stopped, 'SIGCONT');
  }

  /** A clean stop, and a start after it; returns whether there was a process. */
  terminate(): boolean {
    return signal(this.pids.slice(0, 1), 'SIGTERM');
  }

  /** Stops it for good: SIGTERM, and SIGKILL where that takes longer than `mostMs`. */
  async end(mostMs: number): Promise<void> {
    this.#isWanted = false;
    this.goOn();
    this.terminate();
    const late = setTimeout(() => this.kill('all'), mostMs);
    await this.#keeping;
    clearTimeout(late);
  }

  /** Lets it be, and starts no other one: a process of a host that nobody works with any more. */
  abandon(): void {
    this.#isWanted = false;
  }

  async #keep(): Promise<void> {
    while (this.#isWanted) {
      const running = startLeashed(
        'sh',
        ['-c', 'exec "$0" "$@" >>"$STORM_LOG" 2>&1', process.execPath, program, ...this.#args],
        { env: { ...this.#env, STORM_LOG: this.#log } },
      );
      this.#running = running;
      this.#pid = await running.pid;
      const startedMs = Date.now();
      const code = await running.exited;
      this.#note({
        atMs: startedMs,
        untilMs: Date.now(),
        kind: 'process-ended',
        at: this.name,
        detail: { code, pid: this.#pid },
      });
      this.#pid = undefined;
      const waitMs = code === 5 ? restartWhenBusyMs : restartMs;
      if (this.#isWanted) await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    await this.#running?.end();
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): boolean {
  let sent = false;
  for (const pid of pids) {
    try {
      process.kill(pid, name);
      sent = true;
    } catch {
      // It has ended meanwhile.
    }
  }
  return sent;
}
