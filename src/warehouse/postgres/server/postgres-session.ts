/** The statements of one transaction on PostgreSQL (../../sql/session.ts). */
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { PoolClient, QueryArrayResult, QueryConfig } from 'pg';
import { from, to } from 'pg-copy-streams';
import type { SqlSession, SqlValue } from '../../sql/session.ts';
import { linesOf } from './copy-text.ts';
import { postgresDialect } from './postgres-dialect.ts';
import { parametersOf } from './wire-values.ts';

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
    const query: QueryConfig & { readonly queryMode: 'extended' } = {
      text,
      values: parametersOf(values),
      queryMode: 'extended',
    };
    await this.#client.query(query);
  }

  /** The next rows of a cursor, as lists; with the columns that they have. */
  async fetch(name: string, rows: number): Promise<QueryArrayResult<unknown[]>> {
    return this.#client.query<unknown[]>({ text: `FETCH ${rows} FROM ${name}`, rowMode: 'array' });
  }

  async run(sql: string, values: readonly SqlValue[] = []): Promise<number> {
    const { rowCount } = await this.#client.query(sql, parametersOf(values));
    return rowCount ?? 0;
  }

  async append<T>(
    table: string,
    columns: Readonly<Record<string, (record: T) => SqlValue>>,
    records: Iterable<T>,
  ): Promise<void> {
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
