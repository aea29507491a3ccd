/** A PostgreSQL database with the tables of a warehouse, as the stores use it (../../sql/session.ts). */
import type { PoolClient, QueryArrayResult } from 'pg';
import { UnreachableError } from '../../../core/base/errors.ts';
import { roughDurationText } from '../../../core/base/text.ts';
import type { ServiceIdentity } from '../../../core/base/service-key.ts';
import { sleep } from '../../../timers/sleep.ts';
import { type Fence, requireEpoch } from '../../sql/ledger/ownership-store.ts';
import {
  argumentsOf,
  type ReadColumns,
  type SqlColumns,
  type SqlDatabase,
  type SqlDialect,
  type SqlSession,
  type SqlType,
  type SqlValue,
} from '../../sql/session.ts';
import {
  Connections,
  type ConnectionSettings,
  parametersOf,
  type PostgresAddress,
  storableJson,
  storableText,
  textOf,
} from './connections.ts';
import { classified, isConflict, isLostConnection, sqlStateOf } from './server-fault.ts';
import { inTransaction, type TransactionOptions } from './transaction.ts';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from, to } from 'pg-copy-streams';

export interface PostgresSettings extends ConnectionSettings {
  readonly service?: ServiceIdentity | undefined;
  /**
   * Longest time for which a server that does not answer is waited for, and work is done again after lost connections: a
   * failover takes some seconds.
   */
  readonly retryMs: number;
  /**
   * Whether a server that this process never reached is waited for too. Without it that is an error at once: its address
   * may be wrong.
   */
  readonly isAwaited?: boolean | undefined;
  /** Called once for each outage that is waited for. */
  readonly onWait?: ((message: string) => void) | undefined;
  /** Brings the tables to the schema of this version. */
  readonly prepare: (session: PostgresSession) => Promise<void>;
}

/** The work of other transactions in the way is short: one that meets so many of them is in a circle. */
const mostConflicts = 10;
const firstDelayMs = 25;
const longestDelayMs = 2_000;
/** A connection that is lost now and then is no outage that an operator has to hear of. */
const quietMs = 1_000;

/** undefined_table, undefined_column, datatype_mismatch, cannot_coerce, undefined_function, invalid_text_representation. */
const tableFaultStates = ['42P01', '42703', '42804', '42846', '42883', '22P02'];

const oldestRelease = 140_000;

type Work<T> = (session: PostgresSession) => Promise<T>;

export class PostgresDatabase implements SqlDatabase {
  readonly service: ServiceIdentity | undefined;
  readonly address: PostgresAddress;
  readonly connections: Connections;
  readonly #settings: PostgresSettings;
  #prepared: Promise<void> | undefined;
  /** Since the first connection that was lost after the last work that succeeded. */
  #outage: { readonly sinceMs: number; isReported: boolean } | undefined;
  #fence: Fence | undefined;

  constructor(settings: PostgresSettings) {
    this.#settings = settings;
    this.service = settings.service;
    this.address = settings.address;
    this.connections = new Connections(settings);
  }

  fence(epoch: number, onTakenOver: (error: Error) => void): () => void {
    const own = { epoch, onTakenOver };
    this.#fence = own;
    return () => {
      if (this.#fence === own) this.#fence = undefined;
    };
  }

  tableFault(error: unknown): string | undefined {
    return error instanceof Error && tableFaultStates.includes(sqlStateOf(error) ?? '') ? error.message : undefined;
  }

  async transact<T>(work: Work<T>): Promise<T> {
    return this.#classified(async () => {
      await this.#prepare();
      return this.#again(() => this.#fenced(work));
    });
  }

  async transactOnce<T>(work: Work<T>): Promise<T> {
    return this.#classified(async () => {
      await this.#prepare();
      return this.#fenced(work);
    });
  }

  /** A transaction that reads, without a migration and without the fence. May run the work again. */
  async read<T>(work: Work<T>): Promise<T> {
    return this.#classified(() => this.#again(() => this.#reading(work)));
  }

  /**
   * As {@link read}, for a statement of an operator: never runs the work again, since it hands rows on, and takes back what
   * functions of the statement did.
   */
  async readOnce<T>(work: Work<T>): Promise<T> {
    return this.#classified(() => this.#reading(work, true));
  }

  /** Runs the work without a migration and without the fence, and takes back what it did. */
  async onTrial(work: Work<void>): Promise<void> {
    return this.#classified(() => this.#again(() => this.#unfenced(work, { isTakenBack: true })));
  }

  #reading<T>(work: Work<T>, isTakenBack = false): Promise<T> {
    return this.#unfenced(work, { mode: 'READ ONLY', isTakenBack });
  }

  #unfenced<T>(work: Work<T>, options?: Pick<TransactionOptions, 'mode' | 'isTakenBack'>): Promise<T> {
    return this.#inTransaction(async (client) => work(await sessionOf(client, this.address)), options);
  }

  async #inTransaction<T>(
    work: (client: PoolClient) => Promise<T>,
    options: Pick<TransactionOptions, 'mode' | 'isTakenBack'> = {},
  ): Promise<T> {
    const { address } = this;
    const limits = { address, checkLimitMs: this.#settings.retryMs };
    const result = await inTransaction(this.connections, work, { ...options, ...limits });
    this.#outage = undefined;
    return result;
  }

  /** Cancels what a backend of the server does, over another connection. Does nothing where that fails. */
  async cancel(pid: number): Promise<void> {
    const client = await this.connections.take().catch(() => undefined);
    await client?.query('SELECT pg_cancel_backend($1)', [pid]).catch(() => undefined);
    client?.release();
  }

  async close(): Promise<void> {
    await this.connections.end();
  }

  async #fenced<T>(work: Work<T>): Promise<T> {
    return this.#inTransaction(async (client) => {
      const session = new PostgresSession(client);
      if (this.#fence !== undefined) await requireEpoch(session, this.#fence, this.service);
      return work(session);
    });
  }

  /** Once a process; again after it failed. */
  async #prepare(): Promise<void> {
    this.#prepared ??= this.#again(() => this.#unfenced(this.#settings.prepare));
    try {
      await this.#prepared;
    } catch (error) {
      this.#prepared = undefined;
      throw error;
    }
  }

  /** Conflicts and lost connections pass; every other error is that of the work. */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1, conflicts = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        conflicts += isConflict(error) ? 1 : 0;
        const mayPass = isLostConnection(error) ? this.#mayComeBack(error) : isConflict(error);
        if (!mayPass || conflicts > mostConflicts) throw error;
        // Two that met must not meet again.
        await sleep(Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1)) * (0.5 + Math.random()));
      }
    }
  }

  /**
   * Whether to try again after a lost connection. The time of the wait is that of the outage, not of each work that meets
   * it: what comes later in it fails at its first try, so that waits do not add up.
   */
  #mayComeBack(error: unknown): boolean {
    const { retryMs, isAwaited = false, onWait, address } = this.#settings;
    if (!this.connections.hasConnected && !isAwaited) return false;
    const now = performance.now();
    this.#outage ??= { sinceMs: now, isReported: false };
    const forMs = now - this.#outage.sinceMs;
    if (forMs > retryMs) return false;
    if (!this.#outage.isReported && forMs >= quietMs) {
      this.#outage.isReported = true;
      onWait?.(`${messageOf(classified(error, address))}: waiting for it, ${roughDurationText(retryMs)} at most.`);
    }
    return true;
  }

  async #classified<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw classified(error, this.address);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function sessionOf(client: PoolClient, { location }: PostgresAddress): Promise<PostgresSession> {
  const session = new PostgresSession(client);
  const [row] = await session.rows<ServerRelease>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS name`,
  );
  requireRelease(row, location);
  return session;
}

/** What a server says of itself: 140023 and `14.23`, for example. */
export interface ServerRelease {
  readonly number: number;
  readonly name: string;
}

/** Throws UnreachableError for a server that is older than wellsync works with. */
export function requireRelease(release: ServerRelease | undefined, location: string): void {
  if (release !== undefined && release.number >= oldestRelease) return;
  throw new UnreachableError('warehouse', `${location} is PostgreSQL ${release?.name ?? 'of an unknown version'}`, {
    hint: 'wellsync needs PostgreSQL 14 or later.',
  });
}

// The statements of one transaction on PostgreSQL (../../sql/session.ts).

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
  firstBy: (value, keys) => `(array_agg(${value} ORDER BY ${keys.join(', ')}))[1]`,
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
