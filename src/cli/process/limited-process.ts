/**
 * A worker in a process of its own, with memory limits (G8): heap and allocator read their limits only when a process
 * starts, and `node dist/…`, npx and a container start the program without any. The child shares the terminal, the
 * process group and the standard streams of its parent, which forwards signals and ends with the same status.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  configFileVariable,
  defaultConfigFile,
  memoryVariable,
  readSmallFile,
  redisVariable,
} from '../../../config/config-file.ts';
import type { Environment } from '../../../config/load.ts';
import { WellsyncError } from '../../core/base/errors.ts';
import { defaultMemoryMb, leastMemoryMb, type MemoryBudget } from '../../core/base/memory-budget.ts';
import type { ExitCode } from '../../core/run/exit-code.ts';
import { sleep } from '../../timers/sleep.ts';
import { stopSignals } from './stop-signals.ts';

/** Settings that return freed memory to the system soon; measured in docs/decisions/0008-how-chunks-travel.md. */
const allocatorSettings = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
  DUCKDB_JE_MALLOC_CONF: 'dirty_decay_ms:100,muzzy_decay_ms:0,narenas:1',
};

/**
 * No threads of the collector, which would take the time of the engine's (docs/decisions/0013-columns-travel.md). It changes
 * no compiled code, unlike other flags (heap-flags.ts).
 */
const collector = '--single-threaded-gc';

/** V8 begins with semi-spaces of 1 MB, and collects often until they have grown: a command of a second never gets there. */
const leastSemiSpaceMb = 8;

/** The first full collection comes when old space has so much, and not in a start, whose code it would mark. */
const initialOldSpaceMb = 48;

/** A signal that was not a request to stop ended the process of a worker. */
class WorkerEndedError extends WellsyncError {
  override readonly name = 'WorkerEndedError';
}

/**
 * Runs a program, a file, with these arguments in a child within the limits; returns its exit code. If a stop signal
 * ended the child, this process ends by the same signal. Throws WorkerEndedError if another signal did.
 */
export async function runLimited(
  program: string,
  args: readonly string[],
  budget: MemoryBudget,
  memoryMb: number,
): Promise<ExitCode> {
  const child = startChild(program, args, budget);
  const pipe = child.stdio[parentPipe] as Writable;
  // The child may have closed the pipe already.
  pipe.on('error', () => undefined);
  const handOn = (signal: NodeJS.Signals): void => void pipe.write(`${signal}\n`);
  for (const name of stopSignals) process.on(name, handOn);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  for (const name of stopSignals) process.off(name, handOn);
  if (code !== null) return code as ExitCode;
  if (stopSignals.some((name) => name === signal)) await endBy(signal as NodeJS.Signals);
  throw endedError(signal, memoryMb);
}

function startChild(program: string, args: readonly string[], { heapMb, semiSpaceMb }: MemoryBudget): ChildProcess {
  const limits = [
    `--max-old-space-size=${heapMb}`,
    `--initial-old-space-size=${Math.min(initialOldSpaceMb, heapMb)}`,
    `--min-semi-space-size=${Math.min(leastSemiSpaceMb, semiSpaceMb)}`,
    `--max-semi-space-size=${semiSpaceMb}`,
  ];
  return spawn(process.execPath, [...process.execArgv, ...limits, collector, mark(), program, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, ...allocatorSettings, [parentVariable]: String(process.pid) },
  });
}

/** Ends as the child did, so that a shell sees the signal. The first process of a container ignores it, and exits. */
async function endBy(signal: NodeJS.Signals): Promise<never> {
  process.kill(process.pid, signal);
  await sleep(1_000);
  return process.exit(128 + constants.signals[signal]);
}

function endedError(signal: NodeJS.Signals | null, memoryMb: number): WorkerEndedError {
  const isAbort = signal === 'SIGABRT' || signal === 'SIGTRAP';
  const reason = isAbort ? 'it needed more memory than its limit' : `${signal ?? 'something'} ended it`;
  return new WorkerEndedError('worker-ended', `the process that did the work is gone: ${reason}`, {
    hint:
      'Nothing that was done is lost, and the rest stays queued. ' +
      (isAbort
        ? `Raise worker.memoryMb (now ${memoryMb}), or lower worker.chunkConcurrency.`
        : `Where nobody killed it, the machine ran out of memory: it needs ${memoryMb} MB for this (worker.memoryMb).`),
  });
}

// The memory of a command that works, found without loading commands and configuration: a process that only starts
// another one would take a tenth of a second for them.

/**
 * worker.memoryMb, for a command line that runs in a process with memory limits (G8); undefined for any other one, and
 * where only the whole configuration tells. The process with the limits reports what is wrong with either.
 */
export function memoryAtOnce(args: readonly string[], environment: Environment): number | undefined {
  const end = args.indexOf('--');
  const ownArgs = args.slice(0, end < 0 ? undefined : end);
  const mayStart = ownArgs.includes('export') || ownArgs.includes('push');
  const works =
    ownArgs.includes('--inline') || ownArgs.includes('worker') || (mayStart && !mayNameRedis(ownArgs, environment));
  if (!works || ownArgs.some((arg) => ['--help', '-h', '--version', '-V', 'help'].includes(arg))) return undefined;
  const given = environment[memoryVariable] ?? '';
  if (given !== '') return /^\d{3,7}$/.test(given) && Number(given) >= leastMemoryMb ? Number(given) : undefined;
  return mayNameInFile(/memoryMb|\\/, ownArgs, environment) ? undefined : defaultMemoryMb;
}

/** Without Redis a command works the run that it starts. */
function mayNameRedis(ownArgs: readonly string[], environment: Environment): boolean {
  const isNamed = (environment[redisVariable] ?? '') !== '' || ownArgs.some((arg) => arg.startsWith('--redis-url'));
  return isNamed || mayNameInFile(/redis|\\/, ownArgs, environment);
}

/** Whether a configuration file may have a setting: only one that has the word, or a character in another form. */
function mayNameInFile(words: RegExp, ownArgs: readonly string[], environment: Environment): boolean {
  if (ownArgs.some((arg) => arg.startsWith('--config='))) return true;
  const flag = ownArgs.indexOf('--config');
  const named = flag < 0 ? environment[configFileVariable] : ownArgs[flag + 1];
  const file = named ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
  if (file === undefined) return false;
  try {
    const settings = readSmallFile(file, 'the configuration file', '').replaceAll(/^\s*#.*$/gm, '');
    return words.test(settings);
  } catch {
    return true;
  }
}

// Marks a process that runs with memory limits: an argument of node names a module to load before the program. It reaches no
// further process.

/** File descriptor of the pipe from the parent. */
export const parentPipe = 3;

/** The pid of the parent; parent-watch.ts removes it, so that it reaches no further process. */
export const parentVariable = 'WELLSYNC_PARENT_PID';

/** The argument of node that marks a child. Not --import, for which Node loads its loader of ECMAScript modules. */
function mark(): string {
  return `--require=${fileURLToPath(new URL(`parent-watch${path.extname(import.meta.url)}`, import.meta.url))}`;
}

/** Whether this process was started with memory limits. */
export function isLimited(): boolean {
  return process.execArgv.some((argument) => /^--require=.*[/\\]parent-watch\.c?[jt]s$/.test(argument));
}
