/** Opens a DuckDB file, waiting for other processes that hold it, and says plainly why it cannot be had. */
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import type { Logger } from 'pino';
import { AbortedError, TransientError, UnreachableError, type WellsyncError } from '../../core/errors.ts';
import { lockHolder, wordsOf, type LockHolder } from './engine-fault.ts';

export interface FileSettings {
  readonly path: string;
  /** What DuckDB may take; beyond it, it spills beside the file. Default 128. */
  readonly memoryLimitMb?: number;
  /** Default 1: a merge is no faster with more, and takes more memory. */
  readonly threads?: number;
  /** How long to wait for other processes to let go of the file. Default 30,000. */
  readonly lockWaitMs?: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log?: Pick<Logger, 'info' | 'debug'>;
}

export interface OpenFile {
  /** Runs the work on a connection of its own, so that its temporary tables and variables go with it. */
  connected<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T>;
  close(): void;
}

/**
 * How long to wait before another look at a held file: by chance, so that waiting processes do not march in step, and
 * shorter than the pause that a holder makes for them (see database-file.ts).
 */
const lookAgainMs = { min: 10, spread: 40 } as const;

/** Many may have a file open READ_ONLY; READ_WRITE shuts out everybody else, readers too. */
export type AccessMode = 'READ_WRITE' | 'READ_ONLY';

/**
 * Throws TransientError('warehouse-busy') when another process holds the file longer than the set wait, UnreachableError
 * when it cannot be had at all, AbortedError when the signal aborts the wait.
 */
export async function openFile(settings: FileSettings, mode: AccessMode, signal: AbortSignal): Promise<OpenFile> {
  const { path, lockWaitMs = 30_000, log } = settings;
  if (mode === 'READ_WRITE') await makeDirectory(path);
  const startedMs = performance.now();
  for (;;) {
    try {
      return await connect(settings, mode);
    } catch (error) {
      const holder = lockHolder(error);
      if (holder === undefined) throw cannotOpen(path, error);
      if (performance.now() - startedMs >= lockWaitMs) throw busy(path, lockWaitMs, holder);
      log?.debug({ path, ...holder }, 'waiting for the warehouse file');
    }
    await delay(lookAgainMs.min + Math.random() * lookAgainMs.spread, undefined, { signal }).catch(() => {
      throw new AbortedError('the warehouse was closed while waiting for its file');
    });
  }
}

async function connect({ path, memoryLimitMb = 128, threads = 1 }: FileSettings, mode: AccessMode): Promise<OpenFile> {
  const instance = await DuckDBInstance.create(path, {
    access_mode: mode,
    memory_limit: `${memoryLimitMb}MB`,
    threads: String(threads),
    temp_directory: `${path}.tmp`,
    // What wellsync needs is linked into the library; nothing is ever fetched.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  return {
    async connected(work) {
      const connection = await instance.connect();
      try {
        await connection.run("SET TimeZone = 'UTC'");
        return await work(connection);
      } finally {
        connection.closeSync();
      }
    },
    close: () => instance.closeSync(),
  };
}

async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
  } catch (error) {
    throw new UnreachableError('warehouse', `the directory of the warehouse cannot be made: ${wordsOf(error)}`, {
      hint: 'Set WELLSYNC_WAREHOUSE to a place that can be written to.',
      cause: error,
    });
  }
}

function cannotOpen(path: string, cause: unknown): WellsyncError {
  const words = wordsOf(cause);
  const isForeign = /not a valid DuckDB database file/.test(words);
  const message = isForeign ? `${path} is not a DuckDB file` : `the warehouse ${path} cannot be opened: ${words}`;
  const hint = 'Set WELLSYNC_WAREHOUSE to a DuckDB file that can be read and written, or to a path where none is yet.';
  return new UnreachableError('warehouse', message, { hint, cause });
}

function busy(path: string, waitedMs: number, { pid, program }: LockHolder): TransientError {
  const who = pid === undefined ? 'another process' : `process ${pid} (${program})`;
  return new TransientError('warehouse-busy', `${who} has held the warehouse ${path} for ${waitedMs / 1000} s`, {
    hint: 'Close the notebook or shell that has the file open; a worker lets go of it by itself.',
  });
}
