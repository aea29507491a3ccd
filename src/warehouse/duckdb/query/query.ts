/** Runs an operator's read-only statement and streams its rows. */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { StatementType } from '../file/engine.ts';
import { AbortedError, UsageError } from '../../../core/base/errors.ts';
import type { QueryResult } from '../../port/query.ts';
import { messageOf } from '../file/engine-fault.ts';
import { literal } from '../file/sql.ts';
import { jsonValue } from './json-value.ts';
import { actingFunctionIn, beginsAsReading } from './reading-words.ts';

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
  if (statements.count !== 1) {
    throw new UsageError(`a query is one statement; this holds ${statements.count}`);
  }
  if (!beginsAsReading(sql)) throw writes();
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

function writes(because = ''): UsageError {
  const reason = because === '' ? 'a SELECT, or SHOW TABLES, DESCRIBE, SUMMARIZE' : because;
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
