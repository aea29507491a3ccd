/**
 * Keeps a DuckDB warehouse to its service, in the transactions that create a run, save a profile or save a plan (G11).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { UsageError } from '../../../core/base/errors.ts';
import { normalAddress, shownService, type ServiceIdentity } from '../../../core/base/service-key.ts';
import { instantText } from '../../../core/base/text.ts';
import { readRows } from '../file/sql.ts';

/**
 * Assigns a warehouse without a service to this one; does nothing if it has this one. Throws UsageError for another
 * service.
 */
export async function claimForService(connection: DuckDBConnection, service: ServiceIdentity): Promise<void> {
  const isClaimed = await checkForService(connection, service);
  if (!isClaimed) await connection.run('UPDATE warehouse SET service = $1', [service.key]);
  if (service.key === service.address) return;
  // Records hold addresses; the alias finds them by the id from now on.
  await connection.run(
    `INSERT INTO service_alias VALUES ($1, $2, current_timestamp, 'service.id') ON CONFLICT DO NOTHING`,
    [service.address, service.key],
  );
}

/**
 * Returns whether the warehouse has its service recorded. Throws UsageError if that is another one, or is ambiguous.
 */
export async function checkForService(connection: DuckDBConnection, service: ServiceIdentity): Promise<boolean> {
  const written = await readService(connection);
  const owner = written ?? (await serviceOfRecords(connection));
  const isOwner = owner === service.key || (written === undefined && owner === service.address);
  if (owner !== undefined && !isOwner) throw await otherService(connection, owner, service);
  return written !== undefined;
}

export async function readService(connection: DuckDBConnection): Promise<string | undefined> {
  const [row] = await readRows<{ service: string | null }>(connection, 'SELECT service FROM warehouse');
  return row?.service ?? undefined;
}

/**
 * The service of a warehouse that an earlier version filled: the only one in its records; undefined if it is empty.
 * Throws UsageError if the records name several, or none.
 */
async function serviceOfRecords(connection: DuckDBConnection): Promise<string | undefined> {
  const [only, ...others] = await readNamedServices(connection);
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined && !(await hasRecords(connection))) return undefined;
  const named = only === undefined ? 'no service' : `several services (${[only, ...others].join(', ')})`;
  throw new UsageError(`an earlier version wrote this warehouse, and its records name ${named}: nothing is written`, {
    action: { kind: 'adopt-service' },
  });
}

/** The normalised addresses in the records, in order. */
export async function readNamedServices(connection: DuckDBConnection): Promise<readonly string[]> {
  const rows = await readRows<{ address: string }>(
    connection,
    `SELECT base_url AS address FROM service_profile UNION SELECT service_url FROM cleanup_plan
     UNION SELECT service_url FROM push UNION SELECT service_url FROM push_body_limit
     UNION SELECT service_url FROM deletion_audit`,
  );
  const named = rows.map(({ address }) => normalAddress(address ?? '')).filter((address) => address !== undefined);
  return [...new Set(named)].toSorted();
}

/** The service that an earlier version's records name, where they name one; it owns the warehouse before that is recorded. */
export async function onlyNamedService(connection: DuckDBConnection): Promise<string | undefined> {
  const [only, ...others] = await readNamedServices(connection);
  return others.length === 0 ? only : undefined;
}

async function hasRecords(connection: DuckDBConnection): Promise<boolean> {
  const [row] = await readRows<{ found: boolean }>(
    connection,
    `SELECT EXISTS (FROM run) OR EXISTS (FROM internal.daily_production) OR EXISTS (FROM well)
       OR EXISTS (FROM time_series) AS found`,
  );
  return row?.found ?? false;
}

async function otherService(
  connection: DuckDBConnection,
  owner: string,
  service: ServiceIdentity,
): Promise<UsageError> {
  const [alias] = await readRows<{ moved_ms: number }>(
    connection,
    'SELECT epoch_ms(moved_at) AS moved_ms FROM service_alias WHERE address = $1 AND service = $2',
    [service.key, owner],
  );
  const asked = shownService(service);
  if (alias !== undefined) {
    return new UsageError(
      `the warehouse belongs to the service ${owner}, which ${asked} is an old name of since ${instantText(alias.moved_ms)}`,
      { hint: 'Set WELLSYNC_SERVICE_URL, or service.id where that is an id, to the new name.' },
    );
  }
  return new UsageError(`the warehouse belongs to the service ${owner}, and this is ${asked}: nothing was started`, {
    hint: 'Give each service a warehouse of its own (WELLSYNC_WAREHOUSE), or correct WELLSYNC_SERVICE_URL.',
    action: { kind: 'move-service', from: owner, to: service.key },
  });
}
