/**
 * The connections of a process to one server: made at their first use, and kept for a while; and values on their way.
 */
import { readFile } from 'node:fs/promises';
import type { Client, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg';
import { UnreachableError } from '../../../core/base/errors.ts';
import { fileReason } from '../../../core/base/file-fault.ts';
import { JsonText, type SqlValue } from '../../sql/session.ts';
import type { PostgresAddress, TlsFiles } from './postgres-address.ts';

export interface ConnectionSettings {
  readonly address: PostgresAddress;
  /** Reads the password before each connection, so that a new one is taken without a restart; it is never kept (G10). */
  readonly password: () => Promise<string | undefined>;
}

/** More writers than this do not make the server quicker, and their rows wait in memory meanwhile. */
const mostConnections = 4;
const connectLimitMs = 10_000;
const idleLimitMs = 10_000;
/** The kernel sees within a few minutes that the other side is gone without a word. */
const keepAliveMs = 10_000;

/** With an empty one the library gives up without a word to the server, which then waits for it. */
const noPassword = 'no password was given';

export type SingleConnection = Client & { ref(): void; unref(): void };

export class Connections {
  readonly #settings: ConnectionSettings;
  #pool: Promise<Pool> | undefined;
  #hasConnected = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** Whether this process has ever reached the server: what fails then may pass. */
  get hasConnected(): boolean {
    return this.#hasConnected;
  }

  /** A connection of the pool. It must be released, with an error where its state is not known. */
  async take(): Promise<PoolClient> {
    const pool = await (this.#pool ??= this.#open()).catch((error: unknown) => {
      this.#pool = undefined;
      throw error;
    });
    const client = await pool.connect();
    this.#hasConnected = true;
    return client;
  }

  /** A connection beside the pool, for what a session of the server is known by; `unref` lets the process end meanwhile. */
  async single(): Promise<SingleConnection> {
    const pg = await import('pg');
    // The library has it, and its types do not.
    const client = new pg.Client(await this.#config(pg.types)) as SingleConnection;
    await client.connect();
    return client;
  }

  /** Idempotent; waits for the connections in use. */
  async end(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await (await pool)?.end();
  }

  async #open(): Promise<Pool> {
    const pg = await import('pg');
    const pool = new pg.Pool({
      ...(await this.#config(pg.types)),
      max: mostConnections,
      idleTimeoutMillis: idleLimitMs,
      allowExitOnIdle: true,
    });
    // The end of an idle connection concerns nobody; one in use fails its query. Without a listener either would end the process.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    return pool;
  }

  async #config(types: CustomTypesConfig): Promise<ClientConfig> {
    const { address, password } = this.#settings;
    const { host, port, user, database, tls } = address;
    return {
      host,
      port,
      user,
      database,
      password: async () => (await password()) ?? noPassword,
      ssl: tls === undefined ? false : await readTls(tls),
      application_name: 'wellsync',
      connectionTimeoutMillis: connectLimitMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      types: typesWith(types),
    };
  }
}

async function readTls({ isVerified, caFile, certFile, keyFile }: TlsFiles): Promise<object> {
  const [ca, cert, key] = await Promise.all([caFile, certFile, keyFile].map(readCredential));
  return { rejectUnauthorized: isVerified, ca, cert, key };
}

async function readCredential(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new UnreachableError('warehouse', `the file ${path} for TLS cannot be read: ${fileReason(error)}`, {
      hint: 'Check the path in the address of the warehouse, and who may read the file.',
      cause: error,
    });
  });
}

// Values on their way to PostgreSQL and back. Those that come are JSON values, as DuckDB's are
// (../../duckdb/file/engine-text.ts), so that both warehouses answer alike.

/** A text as a value may be written: PostgreSQL holds no U+0000, and half a character becomes U+FFFD in UTF-8. */
export function storableText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}

/** JSON without an escaped U+0000, which would make every member of its object unreadable in PostgreSQL. */
export function storableJson(json: string): string {
  if (!json.includes('\\u0000')) return json;
  return json.replaceAll(/\\\\|\\u0000/g, (escape) => (escape.length === 2 ? escape : '\\ufffd'));
}

/** The text of a value, as the server reads it for a parameter of any type. */
export function textOf(value: Exclude<SqlValue, null>): string {
  if (value instanceof JsonText) return storableJson(value.text);
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? storableText(value) : String(value);
}

export function parametersOf(values: readonly SqlValue[]): Array<string | null> {
  return values.map((value) => (value === null ? null : textOf(value)));
}

type Parser = (text: string) => unknown;

/** A type by its number and that of its lists, from pg_type.dat of PostgreSQL, and how its text is read. */
const parsed: ReadonlyArray<readonly [name: string, oid: number, listOid: number, parser: Parser]> = [
  ['bytea', 17, 1001, asItIs],
  ['int8', 20, 1016, safeNumber],
  ['json', 114, 199, asItIs],
  ['date', 1082, 1182, asItIs],
  ['timestamp', 1114, 1115, (text) => text.replace(' ', 'T')],
  ['timestamptz', 1184, 1185, (text) => text.replace(' ', 'T').replace(/\+00$/, 'Z')],
  ['interval', 1186, 1187, asItIs],
  ['numeric', 1700, 1231, asItIs],
  ['jsonb', 3802, 3807, asItIs],
];

const parsers = new Map(parsed.map(([, oid, , parser]) => [oid, parser]));
const itemParsers = new Map(parsed.map(([, , listOid, parser]) => [listOid, parser]));
const textListOid = 1009;

function asItIs(text: string): string {
  return text;
}

function safeNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** Lists may hold lists, and nulls. */
function eachItem(list: unknown, parser: Parser): unknown {
  if (Array.isArray(list)) return list.map((item) => eachItem(item, parser));
  return typeof list === 'string' ? parser(list) : list;
}

/** The `types` of a connection: those that the library would change, and its own for the others. */
function typesWith(library: CustomTypesConfig): CustomTypesConfig {
  // The library declares the numbers of single types alone.
  const textsOf = (library.getTypeParser as (oid: number) => Parser)(textListOid);
  const parserOf = (...[id, format]: Parameters<CustomTypesConfig['getTypeParser']>): unknown => {
    const itemParser = itemParsers.get(id);
    if (itemParser !== undefined) return (text: string) => eachItem(textsOf(text), itemParser);
    return parsers.get(id) ?? library.getTypeParser(id, format);
  };
  return { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };
}
