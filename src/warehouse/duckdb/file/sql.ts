/** Statements and values for DuckDB: transactions, rows as objects, and lists of objects as relations. */
import type { Units } from '../../../core/daily/units.ts';
import type { DuckDBConnection, DuckDBDataChunk, DuckDBMaterializedResult, DuckDBValue, Json } from '@duckdb/node-api';
import { withSteps } from '../../../core/base/failpoint.ts';
import type { ReadColumns } from '../../sql/session.ts';
import { jsonValue } from './engine-text.ts';
import { bindings, DuckDBTypeId } from './engine.ts';

const transaction = withSteps('transaction', {
  begin: (connection: DuckDBConnection) => connection.run('BEGIN TRANSACTION'),
  commit: (connection: DuckDBConnection) => connection.run('COMMIT'),
});

/** Commits all changes of `work`, or none. */
export async function inTransaction<T>(connection: DuckDBConnection, work: () => Promise<T>): Promise<T> {
  await transaction.begin(connection);
  try {
    const result = await work();
    await transaction.commit(connection);
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
  const rows: T[] = [];
  for (let index = 0; index < result.chunkCount; index += 1) {
    for (const row of rowsOf(result.getChunk(index), names)) rows.push(row as T);
  }
  return rows;
}

/** The rows of a statement by columns (../../sql/session.ts): the values of a chunk are copied together. */
export async function readColumns(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): Promise<ReadColumns> {
  const result = await runStatement(connection, sql, values);
  const length = result.rowCount;
  const numbers: Float64Array[] = [];
  const texts: Array<Array<string | null>> = [];
  for (const [column, { typeId }] of result.columnTypes().entries()) {
    const isNumber = typeId === DuckDBTypeId.DOUBLE;
    const doubles = new Float64Array(isNumber ? length : 0);
    const strings: Array<string | null> = [];
    let from = 0;
    for (let index = 0; index < result.chunkCount; index += 1) {
      const chunk = result.getChunk(index);
      if (isNumber) doubles.set(doublesOf(chunk, column), from);
      else for (let row = 0; row < chunk.rowCount; row += 1) strings.push(textAt(chunk, column, row));
      from += chunk.rowCount;
    }
    if (isNumber) numbers.push(doubles);
    else texts.push(strings);
  }
  return { length, numbers, texts };
}

function doublesOf({ chunk, rowCount }: DuckDBDataChunk, column: number): Float64Array {
  const bytes = bindings.vector_get_data(
    bindings.data_chunk_get_vector(chunk, column),
    rowCount * Float64Array.BYTES_PER_ELEMENT,
  );
  return new Float64Array(bytes.buffer, bytes.byteOffset, rowCount);
}

function textAt(chunk: DuckDBDataChunk, column: number, row: number): string | null {
  const text = chunk.getColumnVector(column).getItem(row);
  return typeof text === 'string' ? text : null;
}

/** Streams the rows of a statement, valid during its transaction; few are in memory at one time. */
export async function* streamRows<T extends object>(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): AsyncGenerator<T> {
  const result = await connection.stream(sql, values);
  const names = result.deduplicatedColumnNames();
  for await (const chunk of result) yield* rowsOf(chunk, names) as readonly T[];
}

/** The rows of a chunk as objects. The library makes an array of each row first, and a pair of each value. */
function rowsOf(chunk: DuckDBDataChunk, names: readonly string[]): readonly object[] {
  const columns = names.map((name, index) => ({ name, vector: chunk.getColumnVector(index) }));
  return Array.from({ length: chunk.rowCount }, (_, index) => {
    const row: Record<string, Json> = {};
    for (const { name, vector } of columns) row[name] = jsonValue(vector.getItem(index), vector.type, jsonValue);
    return row;
  });
}

/** SQL of a relation over a list of objects, bound as one JSON text at `parameter`; `fields`: its columns with their types. */
export function relationOf(parameter: string, fields: Readonly<Record<string, string>>): string {
  return `(SELECT unnest(from_json(${parameter}::JSON, '${JSON.stringify([fields])}'), recursive := true))`;
}

/** SQL of an instant bound as whole milliseconds since 1970 (as a BigInt, or inside a JSON relation as BIGINT). */
export function instant(expression: string): string {
  return `make_timestamptz((${expression})::BIGINT * 1000)`;
}

/** A text of SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

// Conditions with constants on the rows of a batch, for the engine to prune with: it skips row groups, and parts of
// them, by the smallest and largest value of a column. A join alone does not make it skip enough.

/** Keys with no wider gaps between them count as a range: their rows lie in the same row groups, or in the next ones. */
const joinedApart = 16;
/** Each row group is compared with every key of a list. */
const mostListed = 4_096;

/**
 * SQL of a condition on `column` that holds for all of `keys`, and for few others, unless they lie apart and are more than
 * {@link mostListed}: then for all between the first and the last. Keys are integers, at least one. A list and not ranges
 * with OR, by which the engine skips nothing (DuckDB 1.5).
 */
export function isAmongKeys(column: string, keys: Iterable<number>): string {
  const sorted = [...new Set(keys)].toSorted((left, right) => left - right);
  const isDense = sorted.every((key, index) => key - (sorted[index - 1] ?? key) <= joinedApart);
  if (isDense || sorted.length > mostListed) return `${column} BETWEEN ${sorted[0]} AND ${sorted.at(-1)}`;
  return `${column} IN (${sorted.join(', ')})`;
}

/** SQL of a condition on the instants of `column`: from `fromMs` on, before `toMs`. */
export function isBetweenInstants(column: string, fromMs: number, toMs: number): string {
  return `(${column} >= ${instant(String(fromMs))} AND ${column} < ${instant(String(toMs))})`;
}

/** An option of COPY to Parquet: the units of columns as JSON, under the key `units`; empty without any. */
export function unitsMetadata(units: Units = {}): string {
  return Object.keys(units).length === 0 ? '' : `, KV_METADATA { units: ${literal(JSON.stringify(units))} }`;
}
