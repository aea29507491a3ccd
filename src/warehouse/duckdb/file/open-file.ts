/** Opens a DuckDB file, waits for other processes that hold it, and explains why it cannot be opened. */
import { constants, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DuckDBInstance as Instance } from '@duckdb/node-api';
import type { Logger } from 'pino';
import { AbortedError, OutageError, UnreachableError, type WellsyncError } from '../../../core/base/errors.ts';
import { sleep } from '../../../timers/sleep.ts';
import { diskOutage, DuckDBInstance, isDiskTrouble, lockHolder, type LockHolder, messageOf } from './engine.ts';
import { type DuckdbSession, KeptSession, readRows, sessionOf } from './session.ts';

export interface FileSettings {
  readonly path: string;
  /** Memory limit of DuckDB; beyond it, DuckDB spills beside the file. Default 128. */
  readonly memoryLimitMb?: number;
  /** Default 1: a merge is no faster with more, and takes more memory. */
  readonly threads?: number;
  /** How long to wait for other processes to release the file. Default 30,000. */
  readonly lockWaitMs?: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log?: Pick<Logger, 'info' | 'debug'>;
  /**
   * Called once per wait, unless it is short, with a sentence: who holds the file, and until when this process waits.
   */
  readonly onWait?: (message: string) => void;
  /** Called with a sentence after the schema of an earlier version was migrated. */
  readonly onMigrated?: (message: string) => void;
}

export interface OpenFile {
  /** Runs the work on a connection of its own, so that its temporary tables and variables end with it. */
  connected<T>(work: (session: DuckdbSession) => Promise<T>): Promise<T>;
  /** On one connection as long as the file is open, outside of any transaction. */
  readonly kept: KeptSession;
  close(): void;
}

/**
 * Interval between attempts at a held file: random, so that waiting processes do not retry in step, and shorter than
 * the pause that a holder makes for them (see database-file.ts).
 */
const pollAgainMs = { min: 10, spread: 40 } as const;

/**
 * Longer than a worker holds a file that is waited for (see database-file.ts): a longer wait is for another program. A wait that is
 * limited to little more is reported after a third of its limit.
 */
const shortWaitMs = 2_500;

/** Several processes may hold a file READ_ONLY; READ_WRITE excludes all others, readers too. */
export type AccessMode = 'READ_WRITE' | 'READ_ONLY';

/**
 * Throws OutageError if another process holds the file longer than the configured wait (`warehouse-busy`), or if its
 * disk is full or fails (`warehouse-io`), UnreachableError if it cannot be opened at all, AbortedError when the signal
 * aborts the wait. `beforeTry` is called before each attempt; what it throws ends the wait. `waitingSinceMs` (of
 * `performance.now`): since when whoever asks waits for other processes; the file is tried once at least.
 */
export async function openFile(
  settings: FileSettings,
  mode: AccessMode,
  signal: AbortSignal,
  {
    beforeTry = () => {},
    waitingSinceMs: startedMs = performance.now(),
  }: { readonly beforeTry?: () => void; readonly waitingSinceMs?: number } = {},
): Promise<OpenFile> {
  const { path, lockWaitMs = 30_000, log, onWait, now } = settings;
  if (mode === 'READ_WRITE') await makeFolderOf(path);
  let isReported = false;
  for (;;) {
    beforeTry();
    const isNew = !existsSync(path);
    try {
      const file = await connect(settings, mode);
      removeSign(path);
      return file;
    } catch (error) {
      const holder = lockHolder(error);
      if (holder === undefined) throw await cannotOpen(path, error, isNew);
      const waitedMs = performance.now() - startedMs;
      if (waitedMs >= lockWaitMs) {
        removeSign(path);
        throw busy(path, lockWaitMs, holder);
      }
      raiseSign(path);
      log?.debug({ path, ...holder }, 'waiting for the warehouse file');
      if (!isReported && waitedMs >= Math.min(shortWaitMs, lockWaitMs / 3)) {
        const until = new Date(now() + lockWaitMs - waitedMs).toISOString().slice(11, 19);
        onWait?.(`${holderText(holder)} holds the warehouse ${path}: waiting for it until ${until}Z at most.`);
        isReported = true;
      }
    }
    await sleep(pollAgainMs.min + Math.random() * pollAgainMs.spread, { signal }).catch(() => {
      removeSign(path);
      throw new AbortedError('the warehouse was closed while waiting for its file');
    });
  }
}

/**
 * The most that the log has before the engine brings it into the file by itself. Rows are brought in by their number
 * (database-file.ts): as many as that have 40 MB where they are as wide as the service's.
 */
const checkpointMb = 64;

async function connect({ path, memoryLimitMb = 128, threads = 1 }: FileSettings, mode: AccessMode): Promise<OpenFile> {
  const instance = await DuckDBInstance.create(path, {
    access_mode: mode,
    memory_limit: `${memoryLimitMb}MB`,
    threads: String(threads),
    temp_directory: `${path}.tmp`,
    checkpoint_threshold: `${checkpointMb}MB`,
    // All needed extensions are linked into the library; none is ever downloaded.
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  try {
    await prepare(instance, path);
  } catch (error) {
    // Otherwise it keeps the file, and the next opening makes a second handle.
    instance.closeSync();
    throw error;
  }
  const kept = new KeptSession(instance);
  return {
    kept,
    async connected(work) {
      const connection = await instance.connect();
      try {
        return await work(sessionOf(connection));
      } finally {
        connection.closeSync();
      }
    },
    close: () => {
      // An instance lets go of the file with its last connection.
      kept.close();
      instance.closeSync();
    },
  };
}

/**
 * Sets what all connections share. Throws for what is no database: DuckDB also opens a list or a table file, as a view of
 * an empty database in memory.
 */
async function prepare(instance: Instance, path: string): Promise<void> {
  const connection = await instance.connect();
  try {
    await connection.run("SET GLOBAL TimeZone = 'UTC'");
    const [file] = await readRows(
      connection,
      'SELECT 1 FROM duckdb_databases() WHERE NOT internal AND path IS NOT NULL',
    );
    if (file !== undefined) return;
  } finally {
    connection.closeSync();
  }
  throw new Error(`${path}: not a valid DuckDB database file`);
}

async function makeFolderOf(path: string): Promise<void> {
  try {
    await makeFolder(dirname(path));
  } catch (error) {
    const { code = '', path: where = dirname(path) } = error as NodeJS.ErrnoException;
    const reason = reasons[code] ?? messageOf(error);
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

/**
 * Creates the folder and its parents one by one: with `recursive`, Node retries for ever where none can be created, as
 * in /proc.
 */
async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  if (dirname(folder) !== folder) await makeFolder(dirname(folder));
  try {
    await mkdir(folder);
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!(await isFolder(folder))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}

/** `isNew`: there was no file before. */
async function cannotOpen(path: string, cause: unknown, isNew: boolean): Promise<WellsyncError> {
  const engineMessage = messageOf(cause);
  const hint = 'Set WELLSYNC_WAREHOUSE to a DuckDB file that can be read and written, or to a path where none is yet.';
  const fault = (text: string) => new UnreachableError('warehouse', text, { hint, cause });
  if (await isFolder(path)) return fault(`the warehouse ${path} is a folder, and must be a file`);
  const later = laterVersion.exec(engineMessage)?.groups;
  if (later !== undefined) return laterFile(path, later, cause);
  if (isPassing(engineMessage)) {
    // The engine leaves the beginning of a new file, and would refuse it from then on.
    if (isNew) await rm(path, { force: true }).catch(() => undefined);
    return diskOutage(cause, path);
  }
  const isForeign = /not a valid DuckDB database file/.test(engineMessage);
  return fault(isForeign ? `${path} is not a DuckDB file` : `the warehouse ${path} cannot be opened: ${engineMessage}`);
}

const laterVersion = /version number (?<found>\d+), but we can only read versions between \d+ and (?<last>\d+)/;

/** A program with a newer engine wrote the file, which this one cannot read. */
function laterFile(path: string, { found, last }: Readonly<Record<string, string>>, cause: unknown): UnreachableError {
  const message = `${path} has storage version ${found} of a later DuckDB; this wellsync reads up to ${last}`;
  return new UnreachableError('warehouse', message, {
    hint:
      'Use the wellsync that wrote it. Where a newer DuckDB did, copy it with that one: ATTACH a new file with ' +
      "(STORAGE_VERSION 'v1.5.0'), then COPY FROM DATABASE. The file stays as it is.",
    cause,
  });
}

/** `Cannot open file` alone is a wrong path or a lacking permission, which stays. */
function isPassing(engineMessage: string): boolean {
  return isDiskTrouble(engineMessage.replace(/^IO Error: /, ''));
}

function holderText({ pid, program }: LockHolder): string {
  return pid === undefined ? 'another process' : `process ${pid} (${program})`;
}

function busy(path: string, waitedMs: number, holder: LockHolder): OutageError {
  const message = `${holderText(holder)} holds the warehouse ${path}; waited ${waitedMs / 1_000} s`;
  return new OutageError('warehouse', 'warehouse-busy', message, {
    hint: isStopped(holder)
      ? `It is stopped: let it go on (kill -CONT ${holder.pid}), or end it (kill -KILL ${holder.pid}).`
      : 'Close the notebook or shell that has the file open; a worker lets go of it by itself.',
  });
}

/** A program that was stopped, as by Ctrl-Z, lets go of nothing. Where the system does not tell, false. */
function isStopped({ pid }: LockHolder): boolean {
  try {
    return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/**
 * A file beside the warehouse, `PATH.waiting`, which tells the process that holds the warehouse that another one waits
 * for it. Who waits makes it, again before each attempt; who opens the warehouse removes it, so one that is found
 * later is of a process that came later. Where the folder cannot be written to there is none, and a wait lasts longer.
 */
function signOf(path: string): string {
  return `${path}.waiting`;
}

export function isWaitedFor(path: string): boolean {
  return existsSync(signOf(path));
}

function raiseSign(path: string): void {
  try {
    if (!isWaitedFor(path)) writeFileSync(signOf(path), '');
  } catch {
    // The holder releases the file without it, later.
  }
}

function removeSign(path: string): void {
  try {
    rmSync(signOf(path), { force: true });
  } catch {
    // It belongs to somebody else: the holder releases the file more often than it has to.
  }
}

// Tells files apart by what they are, not by their names.

/** Tells a file from another one in its place; undefined if there is none. */
export function fileAt(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

/** Whether two paths lead to one file that exists, through links as well. */
export function isSameFile(path: string, other: string): boolean {
  const file = fileAt(path);
  return file !== undefined && file === fileAt(other);
}

/**
 * To be called while this process holds the file: nobody writes then. The database goes last: as its copy is closed, the
 * lock of this process ends, which the system ties to any of its handles on a file.
 */
export async function copyFiles(source: string, target: string): Promise<void> {
  if (existsSync(`${source}.wal`)) await copyFile(`${source}.wal`, `${target}.wal`, constants.COPYFILE_EXCL);
  await copyFile(source, target, constants.COPYFILE_EXCL);
}
