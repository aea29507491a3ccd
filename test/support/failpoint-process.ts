/** Processes of failpoint-runner.mjs, and what a test does around them: time passes, and the warehouse is asked. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, utimes } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { DuckDBInstance } from '@duckdb/node-api';
import type { Redis } from 'ioredis';

/** What a process does at a step, at its n-th time. */
export interface At {
  readonly step: string;
  readonly when: 'before' | 'after';
  readonly nth: number;
  readonly what: 'kill' | 'hang' | 'error' | 'transient';
}

export interface Command {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly at?: At;
  readonly isRecorded?: boolean;
}

export interface Ended {
  /** Null where the process was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly isMet: boolean;
  readonly steps?: readonly string[];
  readonly existing?: readonly string[];
}

const patienceMs = 120_000;
/** How long a process hangs beside the one that goes on with its work. */
const hungMs = 400;

/** One process at a time, a new one where the last was killed. */
export class Runner {
  #child: ChildProcess | undefined;
  #said = '';
  #isStopped = false;

  /** Resolves when the command has ended, or its process was killed or hangs; one that hangs is killed soon after. */
  async run({ at, ...command }: Command): Promise<Ended> {
    const child = (this.#child ??= await this.#start());
    const before = this.#said.length;
    const ending = new AbortController();
    const { signal } = ending;
    const late = setTimeout(() => child.kill('SIGKILL'), patienceMs);
    try {
      const answered = once(child, 'message', { signal }).then(([answer]) => answer as Ended);
      const reached = once(child.stdio[4] as Readable, 'data', { signal }).then(() => 'reached' as const);
      const died = once(child, 'close', { signal }).then(([code, by]) => `ended by ${String(by ?? code)}`);
      for (const each of [answered, died, reached]) each.catch(() => undefined);
      child.send({ ...command, at });
      const end = await Promise.race([answered, died, reached]);
      if (typeof end !== 'string') return { ...end, stderr: end.stderr + this.#said.slice(before) };
      this.#child = undefined;
      const stderr = this.#said.slice(before);
      if (end !== 'reached') throw new Error(`the process of ${command.args.join(' ')} ${end}: ${stderr}`);
      if (at?.what === 'hang') setTimeout(() => child.kill('SIGKILL'), hungMs);
      else await died;
      return { code: null, stdout: '', stderr, isMet: true };
    } finally {
      clearTimeout(late);
      ending.abort();
      // A process that was told to stop ends soon after, whatever it does by then.
      if (this.#isStopped) this.close();
      this.#isStopped = false;
    }
  }

  /** Tells a command to stop, as an operator does. */
  stop(): void {
    this.#isStopped = true;
    this.#child?.kill('SIGTERM');
  }

  close(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, ['test/support/failpoint-runner.mjs'], {
      env: { PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (part: Buffer) => (this.#said += String(part)));
    await once(child, 'message');
    return child;
  }
}

/** Within a minute all that is kept for so long runs out: locks of items, leases, holds; and a worker looks for stalled items. */
export async function aMinutePasses(redis: Redis, prefix: string, folder: string): Promise<void> {
  for (const key of await keysOf(redis, prefix)) {
    if (key.endsWith(':active')) {
      const items = await redis.lrange(key, 0, -1).catch(() => []);
      if (items.length > 0) await redis.sadd(key.replace(/:active$/, ':stalled'), ...items);
    } else {
      const leftMs = await redis.pttl(key);
      if (leftMs >= 0 && leftMs <= 60_000) await redis.del(key);
    }
  }
  const ago = new Date(Date.now() - 120_000);
  for (const kind of ['network-pipes', 'cleanup']) {
    const working = path.join(folder, 'inbox', kind, 'working');
    for (const claim of await readdir(working).catch(() => [])) {
      await utimes(path.join(working, claim), ago, ago).catch(() => undefined);
    }
  }
}

export async function keysOf(redis: Redis, prefix: string): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const some of redis.scanStream({ match: `${prefix}:*`, count: 1_000 })) keys.push(...(some as string[]));
  return keys;
}

export type Row = Readonly<Record<string, unknown>>;

async function openedFile(file: string, mode: string): Promise<DuckDBInstance> {
  for (let look = 1; ; look += 1) {
    try {
      return await DuckDBInstance.create(file, { access_mode: mode, threads: '1' });
    } catch (error) {
      if (look === 50 || !String(error).includes('Could not set lock')) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/**
 * The rows of statements on a file, in another engine than that of wellsync's processes. Waits some 5 s for a process that
 * has it, then throws.
 */
export async function askFile(
  file: string,
  statements: readonly string[],
  mode: 'READ_ONLY' | 'READ_WRITE' = 'READ_ONLY',
): Promise<readonly (readonly Row[])[]> {
  const instance = await openedFile(file, mode);
  try {
    const connection = await instance.connect();
    const answers: (readonly Row[])[] = [];
    for (const sql of statements) answers.push((await connection.runAndReadAll(sql)).getRowObjectsJson());
    connection.closeSync();
    return answers;
  } finally {
    instance.closeSync();
  }
}
