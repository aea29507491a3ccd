/**
 * The values of the engine's library, loaded as the CommonJS module that it is: an import would look for the names of
 * its exports in every one of its files, again for each re-export, which takes a quarter of a second of every command.
 */
import { createRequire } from 'node:module';
import type * as library from '@duckdb/node-api';
import type * as libraryBindings from '@duckdb/node-bindings';
import { OutageError, PermanentError, TransientError, WellsyncError } from '../../../core/base/errors.ts';
import type {
  DuckDBTimestampTZValue as TimestampTZValue,
  DuckDBTypeId as TypeId,
  DuckDBValueConverter,
  Json,
} from '@duckdb/node-api';

const engine = createRequire(import.meta.url)('@duckdb/node-api') as typeof library;

/** The engine's C interface, below the library. */
export const bindings = createRequire(import.meta.url)('@duckdb/node-bindings') as typeof libraryBindings;

export const {
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  DuckDBTypeId,
  DuckDBUUIDValue,
  StatementType,
  version,
} = engine;
const { DuckDBIntervalValue, DuckDBTimestampValue, JsonDuckDBValueConverter } = engine;

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

// How the engine writes a column into a text file, so that it reads as {@link jsonValue} shows it.

type TextFormat = 'csv' | 'ndjson';
type Expression = (column: string, format: TextFormat) => string;

/** The expression for a column; undefined for a type that the engine cannot write so. */
export function engineText(column: string, typeId: TypeId, format: TextFormat): string | undefined {
  return expressions.get(typeId)?.(column, format);
}

const asItIs: Expression = (column) => column;
/** Of JSON as well, which the engine would write as an object. */
const asText: Expression = (column) => `CAST(${column} AS VARCHAR)`;

const wholeNumber: Expression = (column, format) => {
  if (format === 'csv') return column;
  const isSafe = `abs(CAST(${column} AS DOUBLE)) <= ${Number.MAX_SAFE_INTEGER}`;
  return `CASE WHEN ${isSafe} THEN to_json(TRY_CAST(${column} AS BIGINT)) ELSE to_json(CAST(${column} AS VARCHAR)) END`;
};

/** A FLOAT gets the digits of the same number as a DOUBLE. */
const fraction: Expression = (column, format) => {
  const number = `CAST(${column} AS DOUBLE)`;
  const shown = format === 'csv' ? (text: string) => `CAST(${text} AS VARCHAR)` : (text: string) => `to_json(${text})`;
  const infinity = `CAST('Infinity' AS DOUBLE)`;
  return `CASE WHEN isnan(${number}) THEN ${shown(`'NaN'`)} WHEN ${number} = ${infinity} THEN ${shown(`'Infinity'`)} WHEN ${number} = -${infinity} THEN ${shown(`'-Infinity'`)} ELSE ${shown(number)} END`;
};

const localTime: Expression = (column) => `regexp_replace(CAST(${column} AS VARCHAR), ' ', 'T')`;

const instant: Expression = (column) =>
  `CASE WHEN isfinite(${column}) THEN ${localTime(`CAST(${column} AS TIMESTAMP)`, 'csv')} || 'Z' ELSE CAST(${column} AS VARCHAR) END`;

const expressions: ReadonlyMap<TypeId, Expression> = new Map([
  ...each(asItIs, 'BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'UTINYINT', 'USMALLINT', 'UINTEGER'),
  ...each(wholeNumber, 'BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT'),
  ...each(fraction, 'FLOAT', 'DOUBLE'),
  ...each(asText, 'DECIMAL', 'VARCHAR', 'DATE', 'ENUM', 'UUID'),
  ...each(localTime, 'TIMESTAMP'),
  ...each(instant, 'TIMESTAMP_TZ'),
]);

function each(expression: Expression, ...types: ReadonlyArray<keyof typeof DuckDBTypeId>) {
  return types.map((type) => [DuckDBTypeId[type], expression] as const);
}

// Lossless conversion of DuckDB's values to JSON.

/**
 * Numbers stay numbers, whole ones of any width if they are safe, else text; a DECIMAL is text, to keep its digits; NaN
 * and infinities are text. Days and timestamps are ISO text, instants in UTC with a Z, or `infinity` and `-infinity`. An interval is text, as
 * `3 days`. Lists are arrays, structs objects, maps arrays of {key, value}.
 */
export const jsonValue: DuckDBValueConverter<Json> = (value, type, converter) => {
  // Most values by far, which the library would compare with every type that it has.
  if (value === null || typeof value === 'string' || Number.isFinite(value)) return value as string | number | null;
  if (typeof value === 'bigint') return safeNumber(value);
  if (value instanceof DuckDBIntervalValue) return value.toString();
  if (value instanceof DuckDBDateValue && !value.isFinite) return value.days > 0 ? 'infinity' : '-infinity';
  if (value instanceof DuckDBTimestampTZValue) return instantText(value);
  if (localTimestampTypes.has(type.typeId)) return String(value).replace(' ', 'T');
  return JsonDuckDBValueConverter(value, type, converter);
};

const localTimestampTypes: ReadonlySet<TypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
]);

/** The library formats an instant in the time zone of the machine. */
function instantText({ micros }: TimestampTZValue): string {
  const utc = new DuckDBTimestampValue(micros);
  return utc.isFinite ? `${utc.toString().replace(' ', 'T')}Z` : utc.toString();
}

function safeNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
