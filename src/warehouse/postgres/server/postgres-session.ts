/** The statements of one transaction on PostgreSQL (../../sql/session.ts). */
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient, QueryArrayResult } from 'pg';
import { from, to } from 'pg-copy-streams';
import {
  argumentsOf,
  type ReadColumns,
  type SqlColumns,
  type SqlDialect,
  type SqlSession,
  type SqlType,
  type SqlValue,
} from '../../sql/session.ts';
import { parametersOf, storableJson, storableText, textOf } from './connections.ts';

/** The number of DOUBLE PRECISION among the types of the server. */
const doubleType = 701;

/** Few rows are in memory at one time (G8). */
const rowsAtOnce = 1_000;

export class PostgresSession implements SqlSession {
  readonly dialect = postgresDialect;
  readonly #client: PoolClient;

  constructor(client: PoolClient) {
    this.#client = client;
  }

  async rows<Row extends object>(sql: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    // Never by name: a pooler may give the next statement to another connection, which has not prepared it.
    const { rows } = await this.#client.query<Row & Record<string, unknown>>(sql, parametersOf(values));
    return rows;
  }

  async *stream<Row extends object>(sql: string, values: readonly SqlValue[] = []): AsyncGenerator<Row> {
    await this.declare('streamed', sql, values);
    try {
      for (let isMore = true; isMore;) {
        const rows = await this.rows<Row>(`FETCH ${rowsAtOnce} FROM streamed`);
        isMore = rows.length === rowsAtOnce;
        yield* rows;
      }
    } finally {
      // After an error of the statement the transaction takes no other.
      await this.run('CLOSE streamed').catch(() => undefined);
    }
  }

  /**
   * Opens a cursor for one statement that reads; ends with the transaction. The extended protocol takes no second one, which
   * an operator's text may hold.
   */
  async declare(name: string, sql: string, values: readonly SqlValue[] = []): Promise<void> {
    const text = `DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`;
    // The types of the library do not name this setting.
    const extended = { queryMode: 'extended' };
    await this.#client.query({ text, values: parametersOf(values), ...extended });
  }

  /** The next rows of a cursor, as lists; with the columns that they have. */
  async fetch(name: string, rows: number): Promise<QueryArrayResult<unknown[]>> {
    return this.#client.query<unknown[]>({ text: `FETCH ${rows} FROM ${name}`, rowMode: 'array' });
  }

  async columns(sql: string, values: readonly SqlValue[] = []): Promise<ReadColumns> {
    const { rows, fields } = await this.#client.query<unknown[]>({
      text: sql,
      values: parametersOf(values),
      rowMode: 'array',
    });
    const indices = fields.map((_, index) => index);
    const isNumber = (index: number): boolean => fields[index]?.dataTypeID === doubleType;
    return {
      length: rows.length,
      numbers: indices.filter(isNumber).map((index) => Float64Array.from(rows, (row) => row[index] as number)),
      texts: indices.filter((index) => !isNumber(index)).map((index) => rows.map((row) => row[index] as string | null)),
    };
  }

  async run(sql: string, values: readonly SqlValue[] = []): Promise<number> {
    const { rowCount } = await this.#client.query(sql, parametersOf(values));
    return rowCount ?? 0;
  }

  async append<T>(table: string, columns: SqlColumns<T>, records: Iterable<T>): Promise<void> {
    const names = Object.keys(columns);
    await this.copy(`COPY ${table} (${names.join(', ')}) FROM STDIN`, linesOf(Object.values(columns), records));
  }

  /** Runs a COPY FROM STDIN with these chunks. The error of an iterable is thrown, and ends the copy. */
  async copy(sql: string, chunks: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>): Promise<void> {
    await pipeline(Readable.from(chunks), this.#client.query(from(sql)));
  }

  /** Runs a COPY TO STDOUT, whose bytes go into `target`. Its error is thrown, and ends the copy. */
  async copyOut(sql: string, target: Writable): Promise<void> {
    await pipeline(this.#client.query(to(sql)), target);
  }
}

/** Records on their way into a table by COPY, as text (PostgreSQL's manual, COPY, "Text Format"). */
const chunkChars = 128 * 1024;

function* linesOf<T>(columns: ReadonlyArray<(record: T) => SqlValue>, records: Iterable<T>): Generator<string, void> {
  let chunk = '';
  for (const record of records) {
    chunk += `${columns.map((read) => field(read(record))).join('\t')}\n`;
    if (chunk.length < chunkChars) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function field(value: SqlValue): string {
  return value === null ? '\\N' : textOf(value).replaceAll(/[\\\t\n\r]/g, (sign) => escapes[sign] ?? sign);
}

// SQL that PostgreSQL writes in its own way (../../sql/session.ts).

/** Text is in the order of its bytes here as well, whatever the order of the database. */
function typeOf(type: SqlType): string {
  return type === 'VARCHAR' ? 'VARCHAR COLLATE "C"' : type;
}

export const postgresDialect: SqlDialect = {
  each: (parameter, type) =>
    `CAST(json_array_elements_text(${parameter}::JSON) AS ${type})${type === 'VARCHAR' ? ' COLLATE "C"' : ''}`,
  relation: (parameter, fields) => {
    const columns = Object.entries(fields).map(([name, type]) => `"${name}" ${typeOf(type)}`);
    return `(SELECT * FROM json_to_recordset(${parameter}::JSON) AS each (${columns.join(', ')}))`;
  },
  members: (json) =>
    `(SELECT name, value, place FROM json_each_text(${json}) WITH ORDINALITY AS each (name, value, place))`,
  items: (json) =>
    `(SELECT value, place FROM json_array_elements_text(${json}) WITH ORDINALITY AS each (value, place))`,
  textAt: (json, names) => `(${json} #>> ARRAY[${names.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')}])`,
  jsonObject: (members) => `CAST(json_build_object(${argumentsOf(members)}) AS TEXT)`,
  sha256: (text) => `encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`,
  // JSONB puts names in an order of its own: most often there is nothing to merge with.
  merged: (base, changes) =>
    `CASE WHEN ${base} IS NULL THEN ${changes} ELSE CAST(CAST(${base} AS JSONB) || CAST(${changes} AS JSONB) AS JSON) END`,
  eachMonth: (first, last) =>
    `CAST(generate_series(date_trunc('month', ${first}), ${last}, INTERVAL '1 month') AS DATE)`,
  bitCount: (number) => `CAST(bit_count(CAST(CAST(${number} AS BIGINT) AS BIT(64))) AS INTEGER)`,
  highestBit: (number) => `(64 - position('1' IN CAST(CAST(CAST(${number} AS BIGINT) AS BIT(64)) AS TEXT)))`,
  temporaryTable: (name, columns) =>
    `CREATE TEMP TABLE ${name} (${columns.replaceAll('VARCHAR', typeOf('VARCHAR'))}) ON COMMIT DROP`,
  // An index finds them.
  amongKeys: () => 'true',
  rowLock: (mode) => (mode === 'update' ? 'FOR UPDATE' : 'FOR KEY SHARE'),
  clock: 'clock_timestamp()',
  rowId: 'ctid',
  rowIdType: 'TID',
  stored: (text) => storableText(text).toWellFormed(),
  storedJson: storableJson,
};
