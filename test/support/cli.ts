/** Runs the built command line as a user does: in a process and a folder of its own. */
import { randomUUID } from 'node:crypto';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { QueueKind } from '../../src/core/run/warehouse-queue.ts';
import { runHere } from './cli-here.ts';
import type { CommandResult } from './command-result.ts';
import { processTree } from './process-tree.ts';
import { sharedRedisUrl } from './redis.ts';

export const program = path.resolve('dist/src/cli/main.js');

export interface RunningCommand {
  readonly pid: number;
  /** The output so far, of both streams. */
  readonly said: () => string;
  /** Resolves when the text appears on either stream; rejects if the command ends without it. */
  hears(words: string): Promise<void>;
  /** Sends SIGKILL to every process of the command, any other signal to the first one. */
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<CommandResult>;
}

export interface CliRun {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}

/** A folder with the settings of an app: its own warehouse and data, and its own prefix on a shared Redis, or no Redis. */
export interface CliHome extends AsyncDisposable {
  readonly folder: string;
  readonly warehouseFile: string;
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[], how?: CliRun): Promise<CommandResult>;
  /**
   * Runs the command in this process, which is faster: for tests that do not depend on processes. Its working folder is
   * not that of the home.
   */
  here(args: readonly string[], how?: CliRun): Promise<CommandResult>;
  /** As {@link here}, at a terminal, where `typed` answers questions. */
  atTerminal(args: readonly string[], typed?: string): Promise<CommandResult>;
  start(args: readonly string[], how?: CliRun): RunningCommand;
  /** Writes a file into the folder; returns its path. */
  write(name: string, content: string | Uint8Array): Promise<string>;
}

/**
 * `serviceUrl`: address of the service; undefined leaves it unset. `redisUrl` replaces the shared Redis; `config` is
 * the text of a configuration file for every command, `warehouseUrl` the address of another warehouse than a new file; with an
 * embedded queue no Redis is named. Disposal ends every running command.
 */
export async function cliHome(
  serviceUrl?: string,
  {
    redisUrl = sharedRedisUrl(),
    config,
    warehouseUrl,
    queue = 'redis',
  }: {
    readonly redisUrl?: string;
    readonly config?: string;
    readonly warehouseUrl?: string;
    readonly queue?: QueueKind;
  } = {},
): Promise<CliHome> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-cli-'));
  const configFile = path.join(folder, 'wellsync.yaml');
  if (config !== undefined) await writeFile(configFile, config);
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...(queue === 'embedded' ? {} : { WELLSYNC_REDIS_URL: redisUrl, WELLSYNC_QUEUE_PREFIX: `cli-${randomUUID()}` }),
    ...(config === undefined ? {} : { WELLSYNC_CONFIG: configFile }),
    WELLSYNC_DATA_DIR: folder,
    ...(warehouseUrl === undefined ? {} : { WELLSYNC_WAREHOUSE: warehouseUrl }),
    ...(serviceUrl === undefined ? {} : { WELLSYNC_SERVICE_URL: serviceUrl }),
  };
  const running = new Set<RunningCommand>();

  function start(args: readonly string[], how: CliRun = {}): RunningCommand {
    const command = startCommand(args, { folder, env: { ...env, ...how.env }, stdin: how.stdin ?? '' });
    running.add(command);
    void command.ended.then(() => running.delete(command));
    return command;
  }

  return {
    folder,
    env,
    warehouseFile: path.join(folder, 'warehouse.duckdb'),
    start,
    run: async (args, how) => start(args, how).ended,
    here: (args, how = {}) => runHere(args, { ...env, ...how.env }, undefined, how.stdin),
    atTerminal: (args, typed = '') => runHere(args, env, typed),
    write: async (name, content) => {
      const file = path.join(folder, name);
      await writeFile(file, content);
      return file;
    },
    async [Symbol.asyncDispose]() {
      for (const command of running) command.signal('SIGKILL');
      await Promise.all([...running].map((command) => command.ended));
      await rm(folder, { recursive: true });
    },
  };
}

function startCommand(
  args: readonly string[],
  how: { readonly folder: string; readonly env: Record<string, string>; readonly stdin: string | Uint8Array },
): RunningCommand {
  const child = spawn(process.execPath, [program, ...args], { cwd: how.folder, env: how.env });
  child.stdin.on('error', () => {});
  child.stdin.end(how.stdin);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => (said += part));
  }
  const ended = resultOf(child);
  return {
    pid: child.pid ?? 0,
    said: () => said,
    ended,
    signal: (name) => signalTo(child.pid ?? 0, name),
    hears: (words) => heard(child, words, () => said),
  };
}

function signalTo(pid: number, name: NodeJS.Signals): void {
  for (const each of name === 'SIGKILL' ? processTree(pid) : [pid]) {
    try {
      process.kill(each, name);
    } catch (error) {
      // The process has already ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

async function resultOf(child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<CommandResult> {
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

function heard(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  words: string,
  said: () => string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (said().includes(words)) resolve();
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    child.once('close', () => reject(new Error(`ended without "${words}":\n${said()}`)));
    look();
  });
}
