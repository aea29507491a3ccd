/** Opens a DuckDB file, waiting for other processes that hold it, and says plainly why it cannot be had. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import type { Logger } from 'pino';
import { AbortedError, TransientError, UnreachableError, type WellsyncError } from '../../core/errors.ts';
import { lockHolder, wordsOf, type LockHolder } from './engine-fault.ts';
import { readRows } from './sql.ts';

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
  /** Told in a sentence who holds the file and until when it is waited for, once a wait, when it is no short one. */
  readonly onWait?: (words: string) => void;
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

/** Longer than a worker keeps the file in one go (see database-file.ts): who waits longer, waits for somebody else. */
const shortWaitMs = 2_500;

/** Many may have a file open READ_ONLY; READ_WRITE shuts out everybody else, readers too. */
export type AccessMode = 'READ_WRITE' | 'READ_ONLY';

/**
 * Throws TransientError('warehouse-busy') when another process holds the file longer than the set wait, UnreachableError
 * when it cannot be had at all, AbortedError when the signal aborts the wait.
 */
export async function openFile(settings: FileSettings, mode: AccessMode, signal: AbortSignal): Promise<OpenFile> {
  const { path, lockWaitMs = 30_000, log, onWait, now } = settings;
  if (mode === 'READ_WRITE') await makeFolderOf(path);
  const startedMs = performance.now();
  let isTold = false;
  for (;;) {
    try {
      return await connect(settings, mode);
    } catch (error) {
      const holder = lockHolder(error);
      if (holder === undefined) throw await cannotOpen(path, error);
      const waitedMs = performance.now() - startedMs;
      if (waitedMs >= lockWaitMs) throw busy(path, lockWaitMs, holder);
      log?.debug({ path, ...holder }, 'waiting for the warehouse file');
      if (!isTold && waitedMs >= shortWaitMs) {
        const until = new Date(now() + lockWaitMs - waitedMs).toISOString().slice(11, 19);
        onWait?.(`${holderText(holder)} holds the warehouse ${path}: waiting for it until ${until}Z at most.`);
        isTold = true;
      }
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
  await refuseForeign(instance, path);
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

/** A list or a table file is opened by DuckDB as well, as a view of an empty warehouse in memory. */
async function refuseForeign(instance: DuckDBInstance, path: string): Promise<void> {
  const connection = await instance.connect();
  try {
    const [file] = await readRows(
      connection,
      'SELECT 1 FROM duckdb_databases() WHERE NOT internal AND path IS NOT NULL',
    );
    if (file !== undefined) return;
  } finally {
    connection.closeSync();
  }
  instance.closeSync();
  throw new Error(`${path}: not a valid DuckDB database file`);
}

async function makeFolderOf(path: string): Promise<void> {
  try {
    await makeFolder(dirname(path));
  } catch (error) {
    const { code = '', path: where = dirname(path) } = error as NodeJS.ErrnoException;
    const reason = reasons[code] ?? wordsOf(error);
    throw new UnreachableError('warehouse', `the folder ${where} of the warehouse cannot be made: ${reason}`, {
      hint: 'Set WELLSYNC_WAREHOUSE to a place that can be written to.',
      cause: error,
    });
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EEXIST: 'a file is in its place',
  ENOENT: 'nothing can be made in that place',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is a file',
  EPERM: 'permission is denied',
  EROFS: 'the disk is read-only',
};

/** With those above it. Folder by folder: asked for all at once, Node tries for ever where nothing can be made, as in /proc. */
async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  if (dirname(folder) !== folder) await makeFolder(dirname(folder));
  try {
    await mkdir(folder);
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!(await isFolder(folder))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}

async function cannotOpen(path: string, cause: unknown): Promise<WellsyncError> {
  const words = wordsOf(cause);
  const hint = 'Set WELLSYNC_WAREHOUSE to a DuckDB file that can be read and written, or to a path where none is yet.';
  const fault = (message: string) => new UnreachableError('warehouse', message, { hint, cause });
  if (await isFolder(path)) return fault(`the warehouse ${path} is a folder, and must be a file`);
  const isForeign = /not a valid DuckDB database file/.test(words);
  return fault(isForeign ? `${path} is not a DuckDB file` : `the warehouse ${path} cannot be opened: ${words}`);
}

function holderText({ pid, program }: LockHolder): string {
  return pid === undefined ? 'another process' : `process ${pid} (${program})`;
}

function busy(path: string, waitedMs: number, holder: LockHolder): TransientError {
  const seconds = waitedMs / 1_000;
  return new TransientError('warehouse-busy', `${holderText(holder)} has held the warehouse ${path} for ${seconds} s`, {
    hint: 'Close the notebook or shell that has the file open; a worker lets go of it by itself.',
  });
}
