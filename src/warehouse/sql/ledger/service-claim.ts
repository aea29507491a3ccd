/**
 * Keeps a warehouse to its service, in the transactions that create a run, save a profile, a plan or schedules (G11); and the
 * profiles of services.
 */
import { UsageError } from '../../../core/base/errors.ts';
import { recordLists } from '../../../core/definitions/record-list.ts';
import { normalAddress, type ServiceIdentity, shownService } from '../../../core/base/service-key.ts';
import { instantText } from '../../../core/base/text.ts';
import {
  epochMs,
  JsonText,
  lockRows,
  oneRow,
  type SqlDatabase,
  type SqlSession,
  takeTurn,
  transacted,
} from '../session.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { ProfileStore } from '../../port/runs.ts';

/**
 * Assigns a warehouse without a service to that of its handle, if that has one; does nothing if it belongs to it. Throws
 * UsageError for another service.
 */
export async function claimForService(session: SqlSession, { service }: Pick<SqlDatabase, 'service'>): Promise<void> {
  if (service === undefined) return;
  // What stands there stays until the end of the transaction: a change of the service waits for it.
  const isFirst = (await readService(session)) === undefined;
  await lockRows(session, 'SELECT 1 FROM warehouse', [], isFirst ? 'update' : 'share');
  const isClaimed = await checkForService(session, service);
  if (!isClaimed) await session.run('UPDATE warehouse SET service = $1', [service.key]);
  if (service.key === service.address) return;
  // Records hold addresses; the alias finds them by the id from now on.
  await session.run(
    `INSERT INTO service_alias VALUES ($1, $2, current_timestamp, 'service.id') ON CONFLICT DO NOTHING`,
    [service.address, service.key],
  );
}

/** As {@link claimForService}, once it is the turn of this transaction to look for runs and to make them. */
export async function takeRequestTurn(session: SqlSession, database: Pick<SqlDatabase, 'service'>): Promise<void> {
  await takeTurn(session, 'request');
  await claimForService(session, database);
}

/**
 * Returns whether the warehouse has its service recorded. Throws UsageError if that is another one, or is ambiguous.
 */
export async function checkForService(session: SqlSession, service: ServiceIdentity): Promise<boolean> {
  const written = await readService(session);
  const owner = written ?? (await serviceOfRecords(session));
  const isOwner = owner === service.key || (written === undefined && owner === service.address);
  if (owner !== undefined && !isOwner) throw await otherService(session, owner, service);
  return written !== undefined;
}

export async function readService(session: SqlSession): Promise<string | undefined> {
  const [row] = await session.rows<{ service: string | null }>('SELECT service FROM warehouse');
  return row?.service ?? undefined;
}

/**
 * The service of a warehouse that an earlier version filled: the only one in its records; undefined if it is empty.
 * Throws UsageError if the records name several, or none.
 */
async function serviceOfRecords(session: SqlSession): Promise<string | undefined> {
  const [only, ...others] = await readNamedServices(session);
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined && !(await hasRecords(session))) return undefined;
  const named = only === undefined ? 'no service' : `several services (${[only, ...others].join(', ')})`;
  throw new UsageError(`an earlier version wrote this warehouse, and its records name ${named}: nothing is written`, {
    action: { kind: 'adopt-service' },
  });
}

/** The normalised addresses in the records, in order. */
export async function readNamedServices(session: SqlSession): Promise<readonly string[]> {
  const rows = await session.rows<{ address: string | null }>(
    `SELECT base_url AS address FROM service_profile UNION SELECT service_url FROM cleanup_plan
     UNION SELECT service_url FROM push UNION SELECT service_url FROM push_body_limit
     UNION SELECT service_url FROM deletion_audit`,
  );
  return [...new Set(rows.flatMap(({ address }) => normalAddress(address ?? '') ?? []))].toSorted();
}

/** The service that an earlier version's records name, where they name one; it owns the warehouse before that is recorded. */
export async function onlyNamedService(session: SqlSession): Promise<string | undefined> {
  const [only, ...others] = await readNamedServices(session);
  return others.length === 0 ? only : undefined;
}

async function hasRecords(session: SqlSession): Promise<boolean> {
  const tables = ['run', 'daily_production', 'well', ...recordLists.map(({ table }) => table)];
  const found = `SELECT ${tables.map((table) => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ')} AS found`;
  return (await oneRow<{ found: boolean }>(session, found)).found;
}

async function otherService(session: SqlSession, owner: string, service: ServiceIdentity): Promise<UsageError> {
  const [alias] = await session.rows<{ moved_ms: number }>(
    `SELECT ${epochMs('moved_at')} AS moved_ms FROM service_alias WHERE address = $1 AND service = $2`,
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

// Names of the service of a warehouse: its key, and the addresses in its records.

/**
 * SQL of a relation with every name of the service at the address that is bound at `parameter`, including that address.
 */
export function namesOfService(parameter: string): string {
  const key = `coalesce((SELECT service FROM service_alias WHERE address = ${parameter}), ${parameter})`;
  return `(SELECT ${parameter} UNION SELECT ${key} UNION SELECT address FROM service_alias WHERE service = ${key})`;
}

export async function readNames(session: SqlSession, address: string): Promise<readonly string[]> {
  const rows = await session.rows<{ name: string }>(`SELECT name FROM ${namesOfService('$1')} n(name)`, [address]);
  return rows.map(({ name }) => name);
}

// Profiles of services (core/paging/service-profile.ts), and which run probes one.

/** Longer than any run goes on. */
const keptClaimsMs = 30 * DAY_MS;

export function createProfileStore(database: SqlDatabase): ProfileStore {
  return transacted<ProfileStore>(database, {
    read: async (session, baseUrl) => {
      const find = (which: string): Promise<readonly { readonly profile: string }[]> =>
        session.rows(`SELECT profile FROM service_profile WHERE ${which} ORDER BY saved_at DESC LIMIT 1`, [baseUrl]);
      // Under its own name mostly: the others take five times as long to find.
      const [own] = await find('base_url = $1');
      const [row] = own === undefined ? await find(`base_url IN ${namesOfService('$1')}`) : [own];
      return row?.profile;
    },
    save: async (session, baseUrl, profile, savedAtMs) => {
      await claimForService(session, database);
      await session.run(
        `INSERT INTO service_profile (base_url, profile, saved_at) VALUES ($1, $2::JSON, $3)
         ON CONFLICT (base_url) DO UPDATE SET profile = excluded.profile, saved_at = excluded.saved_at`,
        [baseUrl, new JsonText(profile), new Date(savedAtMs)],
      );
    },
    claimProbe: async (session, runId, nowMs) => {
      await session.run(`DELETE FROM profile_probe WHERE claimed_at < $1`, [new Date(nowMs - keptClaimsMs)]);
      const claim = 'INSERT INTO profile_probe VALUES ($1, $2) ON CONFLICT DO NOTHING';
      return (await session.run(claim, [runId, new Date(nowMs)])) > 0;
    },
  });
}
