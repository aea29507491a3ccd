/** The side of DuckDB that the stores of src/warehouse/sql speak to. */
import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBDataChunk as DataChunk,
  DuckDBInstance,
  DuckDBMaterializedResult,
  DuckDBPreparedStatement,
  DuckDBTimestampTZValue as TimestampTZValue,
  DuckDBType,
  DuckDBValue,
  Json,
} from '@duckdb/node-api';
import { dayNumber } from '../../../core/time/production-day.ts';
import {
  argumentsOf,
  JsonText,
  type ReadColumns,
  type SqlDialect,
  type SqlSession,
  type SqlValue,
} from '../../sql/session.ts';
import { rowsPerChunk, textBytes } from './column-chunk.ts';
import {
  bindings,
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  DuckDBTypeId,
  DuckDBUUIDValue,
  jsonValue,
} from './engine.ts';
import type { Units } from '../../../core/daily/units.ts';
import { turns } from '../../../timers/turns.ts';
import { withSteps } from '../../../core/base/failpoint.ts';

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
  // An array in this order took six times as long.
  firstBy: (value, keys) => `arg_min_null(${value}, row(${keys.join(', ')}))`,
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

/**
 * A connection beside those of transactions, for one small statement that is asked again and again: it stays prepared, which is two
 * thirds of its time. Its plan stays too: it must not rest on how many rows there are.
 */
export class KeptSession implements Pick<SqlSession, 'dialect' | 'rows'> {
  readonly dialect = duckdbDialect;
  readonly #instance: DuckDBInstance;
  readonly #prepared = new Map<string, DuckDBPreparedStatement>();
  #connection: DuckDBConnection | undefined;

  constructor(instance: DuckDBInstance) {
    this.#instance = instance;
  }

  /** One call at a time. */
  async rows<T extends object>(sql: string): Promise<readonly T[]> {
    this.#connection ??= await this.#instance.connect();
    const prepared = this.#prepared.get(sql) ?? (await this.#connection.prepare(sql));
    this.#prepared.set(sql, prepared);
    return rowsOfResult(await turns.goFirst(() => prepared.run())) as readonly T[];
  }

  /** With its statements. */
  close(): void {
    this.#connection?.closeSync();
  }
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
function microsOf(text: string): bigint {
  const [, digits = ''] = /\.(\d+)Z$/.exec(text) ?? [];
  return BigInt(Date.parse(text)) * 1_000n + BigInt(digits.padEnd(6, '0').slice(3));
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

// Statements and values for DuckDB: transactions, rows as objects, and lists of objects as relations.

const transaction = withSteps('transaction', {
  begin: (connection: DuckDBConnection) => turns.goFirst(() => connection.run('BEGIN TRANSACTION')),
  commit: (connection: DuckDBConnection) => turns.goFirst(() => connection.run('COMMIT')),
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
 * Runs one statement. Each step of it on the engine's thread ends in a turn of the event loop, for which a page that was
 * begun is waited for: where the library takes four steps and more, this takes one without values, and two with values.
 */
async function runStatement(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): Promise<DuckDBMaterializedResult> {
  if (values.length === 0) return turns.goFirst(() => connection.run(sql));
  const prepared = await turns.goFirst(() => connection.prepare(sql));
  try {
    prepared.bind(values);
    return await turns.goFirst(() => prepared.run());
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
  return rowsOfResult(await runStatement(connection, sql, values)) as readonly T[];
}

function rowsOfResult(result: DuckDBMaterializedResult): readonly object[] {
  const names = result.deduplicatedColumnNames();
  const rows: object[] = [];
  for (let index = 0; index < result.chunkCount; index += 1) {
    for (const row of rowsOf(result.getChunk(index), names)) rows.push(row);
  }
  return rows;
}

/** The rows of a statement by columns (../../sql/session.ts): the values of a chunk are copied together. */
async function readColumns(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): Promise<ReadColumns> {
  const result = await runStatement(connection, sql, values);
  const length = result.rowCount;
  // Each is made anew by every call.
  const chunks = Array.from({ length: result.chunkCount }, (_, index) => result.getChunk(index));
  const numbers: Float64Array[] = [];
  const texts: Array<Array<string | null>> = [];
  for (const [column, { typeId }] of result.columnTypes().entries()) {
    if (typeId === DuckDBTypeId.DOUBLE) numbers.push(joinedDoubles(chunks, column, length));
    else texts.push(chunks.flatMap((chunk) => textsOf(chunk, column)));
  }
  return { length, numbers, texts };
}

function joinedDoubles(chunks: readonly DataChunk[], column: number, length: number): Float64Array {
  const doubles = new Float64Array(length);
  let from = 0;
  for (const chunk of chunks) {
    doubles.set(doublesOf(chunk, column), from);
    from += chunk.rowCount;
  }
  return doubles;
}

function doublesOf({ chunk, rowCount }: DataChunk, column: number): Float64Array {
  const bytes = bindings.vector_get_data(
    bindings.data_chunk_get_vector(chunk, column),
    rowCount * Float64Array.BYTES_PER_ELEMENT,
  );
  return new Float64Array(bytes.buffer, bytes.byteOffset, rowCount);
}

/**
 * Of texts most are null, or a short one that the row before has too, in the same form in the engine: few have to be made. The
 * library looks at each row.
 */
function textsOf(chunk: DataChunk, column: number): ReadonlyArray<string | null> {
  const { rowCount } = chunk;
  const vector = chunk.getColumnVector(column);
  const raw = bindings.data_chunk_get_vector(chunk.chunk, column);
  const forms = slotsOf(bindings.vector_get_data(raw, rowCount * textBytes));
  const texts = Array.from<string | null>({ length: rowCount }).fill(null);
  let [before, text]: [number, string | null] = [-1, null];
  for (const row of rowsWithValue(raw, rowCount)) {
    if (before === -1 || !isSameForm(forms, row, before)) {
      const made = vector.getItem(row);
      text = typeof made === 'string' ? made : null;
    }
    texts[row] = text;
    before = row;
  }
  return texts;
}

const slotsPerText = textBytes / Uint32Array.BYTES_PER_ELEMENT;

function isSameForm(forms: Uint32Array, row: number, other: number): boolean {
  const [at, to] = [row * slotsPerText, other * slotsPerText];
  for (let slot = 0; slot < slotsPerText; slot += 1) if (forms[at + slot] !== forms[to + slot]) return false;
  return true;
}

/** The engine has a bit for each row, 1 for a value, low bits first, in words of 64. */
function* rowsWithValue(
  vector: Parameters<typeof bindings.vector_get_validity>[0],
  rowCount: number,
): Generator<number> {
  // Null for a vector without nulls, whatever the library declares.
  const mask = bindings.vector_get_validity(vector, Math.ceil(rowCount / 64) * 8) as Uint8Array | null;
  const slots = mask === null ? undefined : slotsOf(mask);
  for (let first = 0; first < rowCount; first += 32) {
    const slot = slots?.[first / 32] ?? ~0;
    if (slot === 0) continue;
    const end = Math.min(32, rowCount - first);
    for (let bit = 0; bit < end; bit += 1) if ((slot & (1 << bit)) !== 0) yield first + bit;
  }
}

function slotsOf({ buffer, byteOffset, byteLength }: Uint8Array): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / Uint32Array.BYTES_PER_ELEMENT);
}

/** Streams the rows of a statement, valid during its transaction; few are in memory at one time. */
async function* streamRows<T extends object>(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[] = [],
): AsyncGenerator<T> {
  const result = await connection.stream(sql, values);
  const names = result.deduplicatedColumnNames();
  for await (const chunk of result) yield* rowsOf(chunk, names) as readonly T[];
}

/** The rows of a chunk as objects. The library makes an array of each row first, and a pair of each value. */
function rowsOf(chunk: DataChunk, names: readonly string[]): readonly object[] {
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
export const mostListed = 4_096;

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
