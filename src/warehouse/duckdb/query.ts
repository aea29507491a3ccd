/** Runs one reading statement of the operator and streams its rows. */
import { StatementType, type DuckDBConnection, type DuckDBPreparedStatement } from '@duckdb/node-api';
import { AbortedError, UsageError } from '../../core/errors.ts';
import type { QueryResult } from '../warehouse.ts';
import { wordsOf } from './engine-fault.ts';
import { jsonValue } from './json-value.ts';

/**
 * Only what DuckDB itself counts as a SELECT (with VALUES, WITH, FROM, SHOW, DESCRIBE, SUMMARIZE) is run: the file is
 * opened read-only, but COPY, ATTACH or SET would reach beyond it.
 */
export async function runQuery<T>(
  connection: DuckDBConnection,
  sql: string,
  use: (result: QueryResult) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const interrupt = (): void => connection.interrupt();
  signal?.addEventListener('abort', interrupt);
  try {
    return await useRows(await asUsage(() => prepareOne(connection, sql)), use);
  } catch (error) {
    if (signal?.aborted) throw new AbortedError('left before the end of the query', { cause: error });
    throw error;
  } finally {
    signal?.removeEventListener('abort', interrupt);
  }
}

/** Runs a statement that is prepared and bound, and lets go of it. */
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

async function prepareOne(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
  if (sql.trim() === '') throw new UsageError('a query is one statement; this is empty');
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) {
    throw new UsageError(`a query is one statement; this holds ${statements.count}`);
  }
  const statement = await statements.prepare(0);
  if (statement.statementType === StatementType.SELECT) return statement;
  statement.destroySync();
  throw new UsageError('a query can only read: a SELECT, or SHOW TABLES, DESCRIBE, SUMMARIZE', {
    hint: 'The warehouse is written by jobs alone. To keep a result: wellsync query --csv, or COPY from a copy of the file.',
  });
}

async function* rowsOf(chunks: AsyncIterator<readonly (readonly unknown[])[]>): AsyncGenerator<readonly unknown[]> {
  for (;;) {
    const next = await asUsage(() => chunks.next());
    if (next.done === true) return;
    yield* next.value;
  }
}

/** What DuckDB has against a statement is for its writer: a wrong name, or a cast that fails at some row. */
async function asUsage<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`the query has a fault: ${wordsOf(error).replace(/^Failed to extract statements: /, '')}`, {
      cause: error,
    });
  }
}
