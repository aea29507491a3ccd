/** The address of a PostgreSQL warehouse, `postgres://USER@HOST:PORT/DATABASE`, taken apart. */
import { readFile } from 'node:fs/promises';
import { UnreachableError, UsageError } from '../../../core/base/errors.ts';
import { fileReason } from '../../../core/base/file-fault.ts';
import type { Secrets } from '../../../core/base/secrets.ts';

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

export interface TlsFiles {
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
