/** The side of DuckDB that the stores of src/warehouse/sql speak to. */
import type {
  DuckDBDataChunk as DataChunk,
  DuckDBAppender,
  DuckDBConnection,
  DuckDBType,
  DuckDBValue,
  DuckDBTimestampTZValue as TimestampTZValue,
} from '@duckdb/node-api';
import { dayNumber } from '../../../core/time/production-day.ts';
import { argumentsOf, JsonText, type SqlDialect, type SqlSession, type SqlValue } from '../../sql/session.ts';
import { rowsPerChunk } from './column-chunk.ts';
import { DuckDBDataChunk, DuckDBDateValue, DuckDBTimestampTZValue, DuckDBTypeId, DuckDBUUIDValue } from './engine.ts';
import { isAmongKeys, readColumns, readRows, relationOf, runStatement, streamRows } from './sql.ts';

/** One transaction writes at a time, and every one is fenced: no row needs a lock. */
export const duckdbDialect: SqlDialect = {
  each: (parameter, type) => `unnest(from_json(${parameter}::JSON, '["${type}"]'))`,
  relation: relationOf,
  members: (json) => `(SELECT key AS name, value->>'$' AS value, id AS place FROM json_each(${json}))`,
  items: (json) => `(SELECT value->>'$' AS value, id AS place FROM json_each(${json}))`,
  textAt: (json, names) => `json_extract_string(${json}, '${pathOf(names)}')`,
  jsonObject: (members) => `CAST(json_object(${argumentsOf(members)}) AS VARCHAR)`,
  sha256: (text) => `sha256(${text})`,
  merged: (base, changes) => `json_merge_patch(coalesce(${base}, '{}'), ${changes})`,
  eachMonth: (first, last) => `unnest(generate_series(date_trunc('month', ${first}), ${last}, INTERVAL 1 MONTH))::DATE`,
  bitCount: (number) => `bit_count(${number})::INTEGER`,
  highestBit: (number) => `floor(log2(${number}))::INTEGER`,
  temporaryTable: (name, columns) => `CREATE OR REPLACE TEMP TABLE ${name} (${columns})`,
  amongKeys: isAmongKeys,
  rowLock: () => '',
  clock: 'now()',
  rowId: 'rowid',
  rowIdType: 'BIGINT',
  stored: (text) => text.toWellFormed(),
  storedJson: (json) => json,
};

/** A JSON path, within a text of SQL. */
function pathOf(names: readonly string[]): string {
  return `$.${names.map((name) => `"${name}"`).join('.')}`.replaceAll("'", "''");
}

/** A session, with its connection for what is no statement: chunks of rows, and statements of operators. */
export interface DuckdbSession extends SqlSession {
  readonly connection: DuckDBConnection;
}

export function sessionOf(connection: DuckDBConnection): DuckdbSession {
  return {
    connection,
    dialect: duckdbDialect,
    rows: (sql, values) => readRows(connection, sql, bound(values)),
    stream: (sql, values) => streamRows(connection, sql, bound(values)),
    columns: (sql, values) => readColumns(connection, sql, bound(values)),
    run: async (sql, values) => (await runStatement(connection, sql, bound(values))).rowsChanged,
    append: (table, columns, records) => appendRows(connection, table, Object.values(columns), records),
  };
}

function bound(values: readonly SqlValue[] = []): DuckDBValue[] {
  return values.map((value) => {
    if (value instanceof Date) return instantOf(value);
    return value instanceof JsonText ? value.text : value;
  });
}

/** A value in the form that a column of the type takes. */
function storedValue(value: SqlValue, { typeId }: DuckDBType): DuckDBValue {
  if (value instanceof Date) return instantOf(value);
  if (value instanceof JsonText) return value.text;
  if (typeId === DuckDBTypeId.BIGINT && typeof value === 'number') return BigInt(value);
  if (typeof value !== 'string') return value;
  if (typeId === DuckDBTypeId.DATE) return new DuckDBDateValue(dayNumber(value));
  if (typeId === DuckDBTypeId.TIMESTAMP_TZ) return new DuckDBTimestampTZValue(microsOf(value));
  if (typeId === DuckDBTypeId.UUID) return DuckDBUUIDValue.fromUint128(BigInt(`0x${value.replaceAll('-', '')}`));
  return typeId === DuckDBTypeId.BIGINT ? BigInt(value) : value;
}

/** Microseconds since 1970 of an instant as {@link SqlSession} gives it: ISO 8601 in UTC, with up to six digits. */
function microsOf(instant: string): bigint {
  const [, digits = ''] = /\.(\d+)Z$/.exec(instant) ?? [];
  return BigInt(Date.parse(instant)) * 1_000n + BigInt(digits.padEnd(6, '0').slice(3));
}

function instantOf(value: Date): TimestampTZValue {
  return new DuckDBTimestampTZValue(BigInt(value.getTime()) * 1_000n);
}

// Appends records to a table by data chunks, without a statement or text per row.

/** `columns` reads the value of each column, in the table's order. */
async function appendRows<T>(
  connection: DuckDBConnection,
  table: string,
  columns: ReadonlyArray<(record: T) => SqlValue>,
  records: Iterable<T>,
): Promise<void> {
  const [name = table, schema = null] = table.split('.').toReversed();
  await withAppender({ connection }, { name, schema, catalog: null }, async (appender) => {
    // One chunk for all parts: its memory is only freed when it is collected, and the collector does not see its size.
    const chunk = DuckDBDataChunk.create(columns.map((_, index) => appender.columnType(index)));
    for (const part of partsOf(records, rowsPerChunk)) {
      fill(chunk, columns, part);
      appender.appendDataChunk(chunk);
    }
  });
}

function fill<T>(chunk: DataChunk, columns: ReadonlyArray<(record: T) => SqlValue>, records: readonly T[]): void {
  chunk.reset();
  chunk.rowCount = records.length;
  for (const [index, valueOf] of columns.entries()) {
    const vector = chunk.getColumnVector(index);
    for (const [row, record] of records.entries()) vector.setItem(row, storedValue(valueOf(record), vector.type));
    vector.flush();
  }
}

function* partsOf<T>(records: Iterable<T>, size: number): Iterable<readonly T[]> {
  let part: T[] = [];
  for (const record of records) {
    part.push(record);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

/** Appends to a table outside SQL, in the transaction of the connection. */
export interface AppendedTable {
  readonly name: string;
  /** Null for the usual one; so is `catalog`. */
  readonly schema: string | null;
  readonly catalog: string | null;
}

/**
 * Appends what `append` hands over. After an error nothing more is written: an appender that is closed with rows in it
 * writes them, fails again, and that error would hide what happened (no memory, a full disk).
 */
export async function withAppender(
  { connection }: Pick<DuckdbSession, 'connection'>,
  { name, schema, catalog }: AppendedTable,
  append: (appender: DuckDBAppender) => Promise<void>,
): Promise<void> {
  const appender = await connection.createAppender(name, schema, catalog);
  try {
    await append(appender);
    appender.flushSync();
  } catch (error) {
    discard(appender);
    throw error;
  }
  appender.closeSync();
}

function discard(appender: DuckDBAppender): void {
  try {
    appender.clear();
    appender.closeSync();
  } catch {
    // It tells again what the first error told.
  }
}
