/** Statements and values for DuckDB: transactions, rows as objects, and lists of objects as relations. */
import type { DuckDBConnection, DuckDBMaterializedResult, DuckDBValue } from '@duckdb/node-api';
import { jsonText as jsonOf } from '../../sql/json-text.ts';
import { jsonValue } from '../query/json-value.ts';

/** Commits all changes of `work`, or none. */
export async function inTransaction<T>(connection: DuckDBConnection, work: () => Promise<T>): Promise<T> {
  await connection.run('BEGIN TRANSACTION');
  try {
    const result = await work();
    await connection.run('COMMIT');
    return result;
  } catch (error) {
    // DuckDB may have ended the transaction already; the first error names the cause.
    await connection.run('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/**
 * Runs one statement. Each step of it on the engine's thread ends in a turn of the event loop, and while pages are read a
 * turn takes longer than a small statement: where the library takes four steps and more, this takes one without values,
 * and two with values.
 */
export async function runStatement(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): Promise<DuckDBMaterializedResult> {
  if (values.length === 0) return connection.run(sql);
  const prepared = await connection.prepare(sql);
  try {
    prepared.bind(values);
    return await prepared.run();
  } finally {
    prepared.destroySync();
  }
}

/** The rows of a statement, as objects by column name. `T` declares the selected columns. */
export async function readRows<T extends object>(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): Promise<readonly T[]> {
  const result = await runStatement(connection, sql, values);
  const names = result.deduplicatedColumnNames();
  const rows: object[] = [];
  for (let index = 0; index < result.chunkCount; index += 1) {
    for (const row of result.getChunk(index).convertRows(jsonValue)) {
      rows.push(Object.fromEntries(names.map((name, column) => [name, row[column]])));
    }
  }
  return rows as unknown as readonly T[];
}

/** Streams the rows of a statement, valid during its transaction; few are in memory at one time. */
export async function* streamRows<T extends object>(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): AsyncGenerator<T> {
  const result = await connection.stream(sql, values);
  for await (const rows of result.yieldConvertedRowObjects(jsonValue)) yield* rows as unknown as readonly T[];
}

/**
 * SQL of a relation over a list of objects, bound as one JSON text (see {@link jsonText}) at `parameter`; `fields` are
 * its columns with their types.
 */
export function relationOf(parameter: string, fields: Readonly<Record<string, string>>): string {
  return `(SELECT unnest(from_json(${parameter}::JSON, '${JSON.stringify([fields])}'), recursive := true))`;
}

/** JSON text of any value, in a form that DuckDB accepts. */
export function jsonText(value: unknown): string {
  return jsonOf(value).text;
}

/** SQL of an instant bound as whole milliseconds since 1970 (as a BigInt, or inside a JSON relation as BIGINT). */
export function instant(expression: string): string {
  return `make_timestamptz((${expression})::BIGINT * 1000)`;
}
