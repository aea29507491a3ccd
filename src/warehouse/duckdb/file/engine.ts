/**
 * The values of the engine's library, loaded as the CommonJS module that it is: an import would look for the names of
 * its exports in every one of its files, again for each re-export, which takes a quarter of a second of every command.
 */
import { createRequire } from 'node:module';
import type * as library from '@duckdb/node-api';
import type * as libraryBindings from '@duckdb/node-bindings';
import { OutageError, PermanentError, TransientError, WellsyncError } from '../../../core/base/errors.ts';

const engine = createRequire(import.meta.url)('@duckdb/node-api') as typeof library;

/** The engine's C interface, below the library. */
export const bindings = createRequire(import.meta.url)('@duckdb/node-bindings') as typeof libraryBindings;

export const {
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBIntervalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  DuckDBUUIDValue,
  JsonDuckDBValueConverter,
  StatementType,
  version,
} = engine;

// Classifies DuckDB's errors by their messages: they carry no code.

/** DuckDB's message, without the excerpt of the statement that follows it. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n\n', 1)[0] ?? message).trim();
}

export interface LockHolder {
  readonly pid: number | undefined;
  readonly program: string | undefined;
}

/** The process that holds the file, if the error names one. */
export function lockHolder(error: unknown): LockHolder | undefined {
  const message = messageOf(error);
  if (!/could not set lock on file/i.test(message)) return undefined;
  const holder = /held in (?<program>.+?) \(PID (?<pid>\d+)\)/.exec(message)?.groups;
  return { pid: holder?.['pid'] === undefined ? undefined : Number(holder['pid']), program: holder?.['program'] };
}

/** A commit, a checkpoint or an appender that lacks memory fails with an error of its own, which names it in its text alone. */
const outOfMemory =
  /^Out of Memory Error|^(?:(?:FATAL|TransactionContext) Error|Failed to append):.*(?:failed to pin block|could not allocate block|out of memory)/is;

/**
 * A state of the disk, which the engine names in errors of several kinds: that of a commit starts as TransactionContext. A
 * full disk that it meets while it puts data aside comes as lack of memory.
 */
const diskTrouble =
  /^IO Error|No space left on device|Disk quota exceeded|Read-only file system|Input\/output error|Stale file handle|Could not (?:write|truncate|fsync) file|failed to offload data block/i;

/** Whether the disk of the file is in a state that passes, by the words of the engine. */
export function isDiskTrouble(error: unknown): boolean {
  return diskTrouble.test(messageOf(error));
}

/** The disk of the warehouse is full, read-only or gone: the work is held. */
export function diskOutage(error: unknown, location: string): OutageError {
  const message = messageOf(error);
  const state = diskStates.find(([pattern]) => pattern.test(message))?.[1] ?? message;
  return new OutageError('warehouse', 'warehouse-io', `the warehouse ${location} cannot be used: ${state}`, {
    hint: 'Make room on its disk, or repair it: the work goes on then.',
    cause: error,
  });
}

const diskStates: ReadonlyArray<readonly [pattern: RegExp, state: string]> = [
  [/No space left on device/i, 'its disk is full'],
  [/Disk quota exceeded/i, 'its disk quota is used up'],
  [/Read-only file system/i, 'its file system is read-only'],
  [/Input\/output error/i, 'its disk reports an input/output error'],
  [/failed to offload data block/i, 'its disk is full: the engine cannot put aside what its memory does not hold'],
];

/**
 * Converts an error of the engine to wellsync's classes: a full disk is an outage, too little memory is permanent, and
 * an engine that has given up is opened anew. Returns any other error unchanged.
 */
export function classified(error: unknown, location: string): unknown {
  if (error instanceof WellsyncError) return error;
  const message = messageOf(error);
  if (isDiskTrouble(error)) return diskOutage(error, location);
  if (outOfMemory.test(message)) {
    const hint = 'Raise worker.memoryMb, or warehouse.memoryLimitMb where it is set.';
    return new PermanentError('warehouse-memory', `${location}: ${message}`, { hint, cause: error });
  }
  if (!message.startsWith('FATAL Error')) return error;
  const hint = 'See whether its disk is full or has gone.';
  return new TransientError('warehouse-io', `${location}: ${message}`, { hint, cause: error });
}
