import { UsageError } from '../core/base/errors.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { createDuckdbWarehouse, type DuckdbSettings } from './duckdb/duckdb-warehouse.ts';
import type { WarehouseHandle } from './port/warehouse.ts';
import { createPostgresWarehouse, type PostgresWarehouseSettings } from './postgres/postgres-warehouse.ts';
import {
  isPostgresAddress,
  parsePostgresAddress,
  passwordReader,
  type PasswordSettings,
} from './postgres/server/connections.ts';

export type WarehouseSettings = Omit<DuckdbSettings, 'path'> &
  PasswordSettings & {
    /** Passwords are added to it, so that no text shows one (G10). */
    readonly secrets?: Secrets;
    /** Whether a server that this process never reached is waited for, as `lockWaitMs` says: it may be starting. */
    readonly isAwaited?: boolean | undefined;
  };

/**
 * Creates the handle for `address`: `duckdb:PATH`, where a relative path starts at the working directory, or
 * `postgres://USER@HOST:PORT/DATABASE`. Throws UsageError for any other address.
 */
export function createWarehouse(address: string, settings: WarehouseSettings): WarehouseHandle {
  if (isPostgresAddress(address)) return createPostgresWarehouse(postgresSettings(address, settings));
  return createDuckdbWarehouse({ ...settings, path: duckdbPath(address) });
}

/** The path in `duckdb:PATH`. Throws UsageError for any other address. */
export function duckdbPath(address: string): string {
  const [scheme, path] = partsOf(address);
  const fault = scheme === 'duckdb' ? pathFault(path) : `${scheme ?? 'an address without a scheme'} is not supported`;
  if (fault === undefined) return path;
  throw new UsageError(`the warehouse's address is not usable: ${fault}`, {
    hint: 'Write duckdb:PATH, for example duckdb:./data/warehouse.duckdb, or postgres://USER@HOST:PORT/DATABASE.',
  });
}

/** Path of the file of a warehouse; undefined for one on a server. Throws UsageError for an address that is not usable. */
export function databaseFileOf(address: string): string | undefined {
  return isPostgresAddress(address) ? undefined : duckdbPath(address);
}

/** A failover takes less. */
const usualRetryMs = 60_000;

/** Throws UsageError for an address that is not usable. */
export function postgresSettings(text: string, settings: WarehouseSettings): PostgresWarehouseSettings {
  const address = parsePostgresAddress(text);
  const { service, lockWaitMs: retryMs = usualRetryMs, isAwaited, onWait } = settings;
  return { address, service, retryMs, isAwaited, onWait, password: passwordReader(address, settings) };
}

/** Scheme, undefined without one, and rest. */
function partsOf(address: string): readonly [string | undefined, string] {
  const [, scheme, path = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(address) ?? [];
  return [scheme, path];
}

/**
 * The path becomes the name of the warehouse in reports and in its records, so it must be the path of a file: the
 * address of a server may hold a password or a token. Faults show the scheme alone (G10).
 */
function pathFault(path: string): string | undefined {
  if (path === '') return 'the path is missing after duckdb:';
  if (path.startsWith('//')) return 'duckdb:// is the address of a server, and must be the path of a file';
  const [scheme] = partsOf(path);
  if (scheme !== undefined) return `duckdb:${scheme}: is the address of a server, and must be the path of a file`;
  return path.includes('?') ? 'a path has no settings: leave away everything from the ? on' : undefined;
}
