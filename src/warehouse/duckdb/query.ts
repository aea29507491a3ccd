/** Runs an operator's read-only statement: streams its rows, or writes them to a file. */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { AbortedError, PermanentError, UsageError } from '../../core/base/errors.ts';
import { writeReason } from '../../core/base/file-fault.ts';
import { distinctNames } from '../../core/base/text.ts';
import type { CopyTarget, QueryResult } from '../port/query.ts';
import { headOf } from '../sql/session.ts';
import { engineText, jsonValue, messageOf, StatementType } from './file/engine.ts';
import { literal, unitsMetadata } from './file/session.ts';

/**
 * Accepts only statements that DuckDB classifies as SELECT (including VALUES, WITH, FROM, SHOW, DESCRIBE, SUMMARIZE):
 * the file is opened read-only, but COPY, ATTACH or SET would reach beyond it. The engine opens no other file for it.
 */
export async function runQuery<T>(
  connection: DuckDBConnection,
  sql: string,
  use: (result: QueryResult) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return interruptible(connection, signal, async () =>
    useRows(await asUsage(() => prepareReading(connection, sql)), use),
  );
}

/** Interrupts the engine when the signal aborts; the work then ends with AbortedError. */
async function interruptible<T>(
  connection: DuckDBConnection,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const interrupt = (): void => connection.interrupt();
  signal?.addEventListener('abort', interrupt);
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted) throw new AbortedError('interrupted before the end of the query', { cause: error });
    throw error;
  } finally {
    signal?.removeEventListener('abort', interrupt);
  }
}

/** Runs a prepared and bound statement, and releases it. */
async function useRows<T>(statement: DuckDBPreparedStatement, use: (result: QueryResult) => Promise<T>): Promise<T> {
  try {
    const result = await asUsage(() => statement.stream());
    const types = result.columnTypes();
    const columns = result.columnNames().map((name, index) => ({ name, type: String(types[index]) }));
    const chunks = result.yieldConvertedRows(jsonValue);
    return await use({ columns, rows: rowsOf(chunks) });
  } finally {
    statement.destroySync();
  }
}

/**
 * Prepares the statement if it is a single one that only reads. From then on the engine opens the warehouse, its spilled
 * data and `target`, for all connections of the open file, until it is closed.
 */
async function prepareReading(
  connection: DuckDBConnection,
  sql: string,
  target?: string,
): Promise<DuckDBPreparedStatement> {
  if (sql.trim() === '') throw new UsageError('a query is one statement; this is empty');
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) throw new UsageError(`a query is one statement; this holds ${statements.count}`);
  if (!readingStart.test(withoutLead(sql))) throw writes();
  const acting = actingFunctionIn(sql);
  if (acting !== undefined) throw writes(`${acting}() acts on the engine`);
  // Secrets lie in files of the same user, and a statement may come from somebody else.
  if (target !== undefined) await connection.run(`SET allowed_paths = [${literal(target)}]`);
  await connection.run('SET enable_external_access = false');
  // Even where a function reaches the settings, it cannot change them.
  await connection.run('SET lock_configuration = true');
  const statement = await statements.prepare(0).catch((error: unknown) => {
    throw isWriteToView(error) ? writes() : error;
  });
  if (statement.statementType === StatementType.SELECT) return statement;
  statement.destroySync();
  throw writes();
}

function writes(reason = 'a SELECT, or SHOW TABLES, DESCRIBE, SUMMARIZE'): UsageError {
  return new UsageError(`a query can only read: ${reason}`, {
    hint: 'Only jobs write to the warehouse.',
    action: { kind: 'save-query-result' },
  });
}

/** DuckDB refuses to prepare a statement that writes to a view, before it reports the type of the statement. */
function isWriteToView(error: unknown): boolean {
  return /^(?:Binder Error: can only \S+ .*base table|Catalog Error: \S+ is not an? table)/i.test(messageOf(error));
}

async function* rowsOf(chunks: AsyncIterator<readonly (readonly unknown[])[]>): AsyncGenerator<readonly unknown[]> {
  for (;;) {
    const next = await asUsage(() => chunks.next());
    if (next.done === true) return;
    yield* next.value;
  }
}

/**
 * Errors of DuckDB about a statement are usage errors of its author: a wrong name, or a cast that fails at some row.
 */
async function asUsage<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const file = closedFile(error);
    if (file !== undefined) throw opensFile(file, error);
    throw new UsageError(`the query has a fault: ${messageOf(error).replace(/^Failed to extract statements: /, '')}`, {
      cause: error,
    });
  }
}

/** The file or folder that the engine was not let open; undefined for another error. */
function closedFile(error: unknown): string | undefined {
  return /^Permission Error: Cannot access \w+ "([^]*?)" - file system operations are disabled/.exec(
    messageOf(error),
  )?.[1];
}

function opensFile(file: string, cause: unknown): UsageError {
  return new UsageError(`a query reads the warehouse alone: ${file} was not opened`, {
    hint: 'To join files, copy the warehouse (wellsync warehouse backup) and open the copy with DuckDB.',
    cause,
  });
}

// What the words of a statement show before DuckDB prepares it: preparing alone may act. Pure.

/** EXPORT DATABASE makes its folder when it is prepared, so the type of a prepared statement comes too late. */
const readingStart = /^(?:SELECT|WITH|FROM|VALUES|TABLE|SHOW|DESCRIBE|DESC|SUMMARIZE|PIVOT|UNPIVOT)\b|^\(/i;

/** Without the spaces and comments before the first word, as the engine takes them: a carriage return ends a line too. */
function withoutLead(sql: string): string {
  const rest = sql.replace(/^(?:\s+|--[^\n\r]*(?:[\n\r]|$))+/, '');
  return rest.startsWith('/*') ? withoutLead(rest.slice(endOfComment(rest))) : rest;
}

/** The index after the comment that the text begins with: comments in brackets nest. */
function endOfComment(text: string): number {
  let depth = 0;
  for (const { 0: bracket, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += bracket === '/*' ? 1 : -1;
    if (depth === 0) return index + bracket.length;
  }
  return text.length;
}

/**
 * Functions that DuckDB counts as reading and that act: on the settings and logs of the engine, which write files, or by
 * running a statement that stands in a text, where no look at the words helps.
 */
const actingFunctions = [
  'enable_logging',
  'disable_logging',
  'truncate_duckdb_logs',
  'enable_profiling',
  'disable_profiling',
  'enable_peg_parser',
  'disable_peg_parser',
  'checkpoint',
  'force_checkpoint',
  'query',
  'json_execute_serialized_sql',
  'write_log',
];

/** Behind a schema or not, in quotes or not; a comment may stand before the bracket, and counts as one. */
const actingCall = new RegExp(String.raw`(?<!\w)(${actingFunctions.join('|')})"?\s*(?:\(|--|/\*)`, 'i');

/** The first function in the text that acts; undefined without one. Text in quotes counts: it is rare, and safe. */
function actingFunctionIn(sql: string): string | undefined {
  return actingCall.exec(sql)?.[1]?.toLowerCase();
}

// Writes the rows of an operator's read-only statement to a file. The engine writes it where it can: 700,000 rows of 40
// columns take it seconds, and a conversion in JavaScript most of a minute.

const options: Readonly<Record<CopyTarget['format'], string>> = {
  csv: 'FORMAT csv, HEADER',
  ndjson: 'FORMAT json',
  parquet: 'FORMAT parquet, COMPRESSION zstd',
};

/**
 * Returns the number of rows. The statement is checked as `runQuery` checks it, and becomes a subquery of one COPY.
 * Throws PermanentError('output') if the file cannot be written.
 */
export async function copyQuery(
  connection: DuckDBConnection,
  sql: string,
  target: CopyTarget,
  signal?: AbortSignal,
): Promise<number> {
  return interruptible(connection, signal, async () => {
    const statement = await asUsage(() => prepareReading(connection, sql, target.path));
    const shown = shownColumns(statement, target);
    if (shown === undefined) return useRows(statement, (result) => writtenRows(result, target));
    statement.destroySync();
    const text = copyText(await withoutEnd(connection, sql), shown, target);
    try {
      return (await connection.run(text)).rowsChanged;
    } catch (error) {
      if (messageOf(error).startsWith('IO Error')) throw unwritable(error);
      return asUsage(() => Promise.reject(error as Error));
    }
  });
}

/** What the engine writes for each column; undefined if it has no form for one of them. Parquet has types of its own. */
function shownColumns(statement: DuckDBPreparedStatement, target: CopyTarget): readonly string[] | undefined {
  const { format } = target;
  const indexes = Array.from({ length: statement.columnCount }, (_, index) => index);
  const names = distinctNames(indexes.map((index) => statement.columnName(index)));
  const shown = names.flatMap((name, index) => {
    const column = `c${index}`;
    const text = format === 'parquet' ? column : engineText(column, statement.columnTypeId(index), format);
    return text === undefined ? [] : [`${text} AS ${quoted(format === 'csv' ? headOf(name, target) : name)}`];
  });
  return shown.length === names.length ? shown : undefined;
}

/** A line end before the bracket, since the statement may end in a comment. */
function copyText(sql: string, shown: readonly string[], { path, format, isGzip, units }: CopyTarget): string {
  const given = shown.map((_, index) => `c${index}`);
  const compression = isGzip && format !== 'parquet' ? ', COMPRESSION gzip' : '';
  return (
    `COPY (SELECT ${shown.join(', ')} FROM (\n${sql}\n) AS given(${given.join(', ')})) ` +
    `TO ${literal(path)} (${options[format]}${compression}${format === 'parquet' ? unitsMetadata(units) : ''}, USE_TMP_FILE false)`
  );
}

async function writtenRows(result: QueryResult, target: CopyTarget): Promise<number> {
  const { writeRows } = await import('../sql/session.ts');
  try {
    return await writeRows(result, target);
  } catch (error) {
    throw writeReason(error) === undefined ? error : unwritable(error);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The statement up to the semicolon that ends it, if any: what follows can only be a comment. */
async function withoutEnd(connection: DuckDBConnection, sql: string): Promise<string> {
  const end = sql.lastIndexOf(';');
  if (end < 0) return sql;
  // What is left before a semicolon within a text or a comment is no statement, or what follows is none.
  const isEnd =
    (await isStatement(connection, sql.slice(0, end))) && (await isStatement(connection, `SELECT 1${sql.slice(end)}`));
  return isEnd ? sql.slice(0, end) : sql;
}

async function isStatement(connection: DuckDBConnection, sql: string): Promise<boolean> {
  return connection.extractStatements(sql).then(
    ({ count }) => count === 1,
    () => false,
  );
}

function unwritable(cause: unknown): PermanentError {
  const message = writeReason(cause) ?? messageOf(cause);
  const reason = /No space left/.test(message) ? 'the disk is full' : message.replace(/^IO Error: /, '');
  return new PermanentError('output', `the file could not be written: ${reason}`, { cause });
}
