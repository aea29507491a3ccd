/** Runs an operator's read-only statement and streams its rows. */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { AbortedError, UsageError } from '../../../core/base/errors.ts';
import type { QueryResult } from '../../port/query.ts';
import { messageOf, StatementType } from '../file/engine.ts';
import { literal } from '../file/sql.ts';
import { jsonValue } from './engine-text.ts';

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
export async function interruptible<T>(
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
export async function useRows<T>(
  statement: DuckDBPreparedStatement,
  use: (result: QueryResult) => Promise<T>,
): Promise<T> {
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
export async function prepareReading(
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
export async function asUsage<T>(step: () => Promise<T>): Promise<T> {
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
