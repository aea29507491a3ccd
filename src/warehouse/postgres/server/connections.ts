/**
 * The connections of a process to one server: made at their first use, and kept for a while; values on their way, and the
 * address.
 */
import { readFile } from 'node:fs/promises';
import type { Client, ClientConfig, CustomTypesConfig, Pool, PoolClient } from 'pg';
import { UnreachableError, UsageError } from '../../../core/base/errors.ts';
import { fileReason } from '../../../core/base/file-fault.ts';
import { JsonText, type SqlValue } from '../../sql/session.ts';
import type { Secrets } from '../../../core/base/secrets.ts';

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
// (../../duckdb/file/engine.ts), so that both warehouses answer alike.

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

// The address of a PostgreSQL warehouse, `postgres://USER@HOST:PORT/DATABASE`, taken apart.

export interface PostgresAddress {
  /** Without password and settings, for operators and records (G10, G11). */
  readonly location: string;
  /** A name, an address, or the folder of a Unix socket, which the setting `host` names in place of the host. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** The one that stands in the address. */
  readonly password: string | undefined;
  /** Undefined for a connection without TLS. */
  readonly tls: TlsFiles | undefined;
}

interface TlsFiles {
  /** False takes any certificate: the connection is private to whoever answers. */
  readonly isVerified: boolean;
  /** The authority of the server's certificate; the usual ones without it. */
  readonly caFile: string | undefined;
  /** The certificate and the key by which the server knows the client. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

const usualPort = 5432;
const schemes = ['postgres', 'postgresql'];
const settingNames = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host'];
const verifyingModes = ['require', 'verify-ca', 'verify-full'];

export function isPostgresAddress(address: string): boolean {
  return schemes.some((scheme) => address.toLowerCase().startsWith(`${scheme}:`));
}

/**
 * A connection uses TLS and verifies certificate and host unless `sslmode` is `no-verify` or `disable`, or, without an
 * `sslmode`, the server is on this machine. Throws UsageError, which shows nothing of the address: it may hold a password
 * in any of its parts (G10).
 */
export function parsePostgresAddress(address: string): PostgresAddress {
  const [url, isHostNamed] = urlOf(address);
  const settings = settingsOf(url);
  const named = isHostNamed ? decoded(url.hostname.replace(/^\[(.*)\]$/, '$1'), 'host') : '';
  const host = settings.get('host') ?? named;
  const user = decoded(url.username, 'user');
  const database = decoded(url.pathname.slice(1), 'database');
  if (host === '') throw unusable('it names no host');
  if (user === '') throw unusable('it names no user');
  if (database === '' || database.includes('/')) throw unusable('it names no database, which stands behind the host');
  return {
    location: `postgres://${url.username}@${shownPath(url, host, database)}`,
    host,
    port: url.port === '' ? usualPort : Number(url.port),
    user,
    database,
    password: url.password === '' ? undefined : decoded(url.password, 'password'),
    tls: tlsOf(settings, host),
  };
}

/** Scheme, user and password; host; port. */
const authority = /^([a-z]+:\/\/(?:[^/?#]*@)?)(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?(?=[/?#]|$)/i;
const lastPort = 65_535;

/** The parts of an address, and whether a host is one of them: one that the setting `host` names has no other. */
function urlOf(address: string): readonly [URL, boolean] {
  const [, , host, port] = authority.exec(address) ?? [];
  if (Number(port) > lastPort) throw unusable(`its port is above ${lastPort}`);
  const isHostNamed = host !== '';
  const whole = isHostNamed
    ? address
    : address.replace(authority, (found, before: string) => `${before}localhost${found.slice(before.length)}`);
  if (!URL.canParse(whole))
    throw unusable('it cannot be read. A password with special characters must be percent-encoded');
  return [new URL(whole), isHostNamed];
}

/** What stands behind the user in the address that operators read. */
function shownPath(url: URL, host: string, database: string): string {
  if (host.startsWith('/')) return `${url.host}/${database}?host=${host}`;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${name}${url.port === '' ? '' : `:${url.port}`}/${database}`;
}

function settingsOf(url: URL): ReadonlyMap<string, string> {
  const unknown = [...url.searchParams.keys()].find((name) => !settingNames.includes(name));
  if (unknown !== undefined)
    throw unusable(`it has a setting that is not known here; those are ${settingNames.join(', ')}`);
  return new Map(url.searchParams);
}

function tlsOf(settings: ReadonlyMap<string, string>, host: string): TlsFiles | undefined {
  const mode = settings.get('sslmode') ?? (isOnThisMachine(host) ? 'disable' : 'verify-full');
  if (mode === 'disable') return undefined;
  if (mode !== 'no-verify' && !verifyingModes.includes(mode)) {
    throw unusable(
      'its sslmode is none of verify-full (which require and verify-ca mean here too), no-verify and disable',
    );
  }
  return {
    isVerified: mode !== 'no-verify',
    caFile: settings.get('sslrootcert'),
    certFile: settings.get('sslcert'),
    keyFile: settings.get('sslkey'),
  };
}

function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function decoded(part: string, name: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw unusable(`its ${name} has a % that begins no encoded character`);
  }
}

function unusable(fault: string): UsageError {
  return new UsageError(`the address of the PostgreSQL warehouse is not usable: ${fault}`, {
    hint: 'Write postgres://USER@HOST:PORT/DATABASE, and the password into a file that warehouse.passwordFile names.',
  });
}

export interface PasswordSettings {
  readonly password?: string | undefined;
  /** Goes before {@link password}. */
  readonly passwordFile?: string | undefined;
}

/**
 * Reads the password of an address: its own, else that of the file, else the given one. The file is read at each call, so
 * that a new password is taken without a restart. Throws UnreachableError if it cannot be read; no error shows a password.
 */
export function passwordReader(
  { location, password: own }: PostgresAddress,
  { password, passwordFile, secrets }: PasswordSettings & { readonly secrets?: Secrets },
): () => Promise<string | undefined> {
  for (const known of [own, password]) secrets?.add(known);
  return async () => {
    if (own !== undefined || passwordFile === undefined) return own ?? password;
    const text = await readFile(passwordFile, 'utf8').catch((error: unknown) => {
      const message = `the password file ${passwordFile} of ${location} cannot be read: ${fileReason(error)}`;
      throw new UnreachableError('warehouse', message, {
        hint: 'Check the path in WELLSYNC_WAREHOUSE_PASSWORD_FILE or warehouse.passwordFile, and who may read the file.',
      });
    });
    secrets?.add(text);
    return text.trimEnd();
  };
}
