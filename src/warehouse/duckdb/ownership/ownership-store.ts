import type { DuckDBConnection } from '@duckdb/node-api';
import { TakenOverError, UsageError } from '../../../core/base/errors.ts';
import type {
  Ownership,
  ServiceAlias,
  ServiceChange,
  ServiceRecords,
  WarehouseIdentity,
} from '../../port/ownership.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { instant, readRows } from '../file/sql.ts';
import { BeatFile } from './beat-file.ts';
import { checkForService, claimForService, onlyNamedService, readNamedServices, readService } from './service-claim.ts';
import { readNames } from './service-names.ts';

export function createOwnership(file: DatabaseFile, now: () => number): Ownership {
  const beat = new BeatFile(file.path, now);
  return {
    read: () => file.transact(readIdentity),
    aliases: () => file.transact(readAliases),
    namesOf: (address) => file.transact((connection) => readNames(connection, address)),
    checkService: (service) => file.transact(async (connection) => void (await checkForService(connection, service))),
    adopt: async (service, change) => {
      const adopted = await file.transact((connection) => adopt(connection, service, change));
      if (!change.dryRun) await endAnyBeat(beat);
      return adopted;
    },
    move: async (from, to, change) => {
      const records = await file.transact((connection) => move(connection, from, to, change));
      if (!change.dryRun) await endAnyBeat(beat);
      return records;
    },
    renew: () => file.transact(renew),
    takeOver: (queueId, seenEpoch) =>
      file.transact(async (connection) => {
        // A queue works for one service: what it is given belongs to that one.
        if (file.service !== undefined) await claimForService(connection, file.service);
        const epoch = await takeOver(connection, queueId, seenEpoch);
        if (epoch !== undefined) await beat.replace(queueId, epoch);
        return epoch;
      }),
    fence: (epoch, onTakenOver) => file.fence(epoch, onTakenOver),
    beatAgeMs: () => beat.ageMs(),
    beat: async (queueId, epoch) => {
      // Only the warehouse knows who has it: a missing or damaged beat must not end its queue.
      if (!(await beat.isOf(queueId, epoch))) await requireEpoch(file, epoch);
      await beat.replace(queueId, epoch);
    },
    endBeat: (queueId, epoch) => beat.remove({ queueId, epoch }),
  };
}

/** A change of the service ends the right of every worker: a worker of the new name must not wait for their beat. */
async function endAnyBeat(beat: BeatFile): Promise<void> {
  // The change is made; a beat that stays becomes old.
  await beat.remove().catch(() => undefined);
}

async function requireEpoch(file: DatabaseFile, epoch: number): Promise<void> {
  const identity = await file.transact(readIdentity);
  if (identity.epoch !== epoch) throw new TakenOverError();
}

async function readIdentity(connection: DuckDBConnection): Promise<WarehouseIdentity> {
  const [row] = await readRows<{ id: string; service: string | null; queue: string | null; epoch: number }>(
    connection,
    'SELECT warehouse_id AS id, service, queue_id AS queue, epoch FROM warehouse',
  );
  if (row === undefined) throw new Error('the table warehouse has no row');
  const { id: warehouseId, service, queue, epoch } = row;
  const owner = service ?? (await onlyNamedService(connection));
  return { warehouseId, service: owner, queueId: queue ?? undefined, epoch };
}

async function readAliases(connection: DuckDBConnection): Promise<readonly ServiceAlias[]> {
  const rows = await readRows<{ address: string; moved_ms: number; moved_by: string | null }>(
    connection,
    'SELECT address, epoch_ms(moved_at) AS moved_ms, moved_by FROM service_alias ORDER BY moved_at DESC, address',
  );
  return rows.map((row) => ({ address: row.address, movedAtMs: row.moved_ms, movedBy: row.moved_by ?? '' }));
}

async function takeOver(connection: DuckDBConnection, queueId: string, seenEpoch: number): Promise<number | undefined> {
  const [row] = await readRows<{ epoch: number }>(
    connection,
    `UPDATE warehouse SET queue_id = $1, epoch = epoch + 1, taken_at = current_timestamp WHERE epoch = $2
     RETURNING epoch`,
    [queueId, BigInt(seenEpoch)],
  );
  return row?.epoch;
}

async function renew(connection: DuckDBConnection): Promise<string> {
  const [row] = await readRows<{ id: string }>(
    connection,
    `UPDATE warehouse SET warehouse_id = uuid()::VARCHAR, queue_id = NULL, taken_at = NULL, epoch = epoch + 1
     RETURNING warehouse_id AS id`,
  );
  if (row === undefined) throw new Error('the table warehouse has no row');
  return row.id;
}

async function adopt(
  connection: DuckDBConnection,
  service: string | undefined,
  { by, atMs, dryRun }: ServiceChange,
): Promise<string> {
  const owner = await readService(connection);
  if (owner !== undefined) {
    throw new UsageError(`the warehouse belongs to the service ${owner} already`, {
      action: { kind: 'move-service', from: owner },
    });
  }
  const named = await readNamedServices(connection);
  const [only] = named;
  const adopted = service ?? (named.length === 1 ? only : undefined);
  if (adopted === undefined) {
    const what = named.length === 0 ? 'name no service' : `name several services (${named.join(', ')})`;
    throw new UsageError(`the records of the warehouse ${what}`, {
      action: { kind: 'adopt-service' },
    });
  }
  // A service that the records do not name would merge another one's data into them (G11).
  if (named.length > 0 && !named.includes(adopted)) {
    throw new UsageError(`the records of the warehouse name ${named.join(' and ')}, and not ${adopted}`, {
      hint: 'Adopt the service that they name. Where it has a new address now, record that after it.',
      action: { kind: 'move-service', from: named[0] ?? '', to: adopted },
    });
  }
  if (dryRun) return adopted;
  await connection.run('UPDATE warehouse SET service = $1, epoch = epoch + 1', [adopted]);
  // The names hold who adopted it and when.
  await nameService(connection, adopted, adopted, { by, atMs });
  return adopted;
}

async function move(
  connection: DuckDBConnection,
  from: string,
  to: string,
  { by, atMs, dryRun }: ServiceChange,
): Promise<ServiceRecords> {
  const owner = (await readService(connection)) ?? (await onlyNamedService(connection));
  if (from === to) throw new UsageError(`${from} and ${to} are the same service`);
  if (owner !== from && owner !== to) {
    throw new UsageError(
      owner === undefined ? 'the warehouse has no service yet' : `the warehouse belongs to the service ${owner}`,
      { hint: 'One of the two must be its service.', action: { kind: 'show-service' } },
    );
  }
  const records = await countRecords(connection, from);
  if (dryRun) return records;
  // A warehouse belongs to one service: every name of it now leads to the new key.
  await connection.run('DELETE FROM service_alias WHERE address = $1', [to]);
  await connection.run('UPDATE service_alias SET service = $1', [to]);
  await nameService(connection, from, to, { by, atMs });
  await connection.run('UPDATE warehouse SET service = $1, epoch = epoch + 1', [to]);
  return records;
}

async function nameService(
  connection: DuckDBConnection,
  address: string,
  service: string,
  { by, atMs }: Pick<ServiceChange, 'by' | 'atMs'>,
): Promise<void> {
  await connection.run(`INSERT OR REPLACE INTO service_alias VALUES ($1, $2, ${instant('$3')}, $4)`, [
    address,
    service,
    BigInt(atMs),
    by,
  ]);
}

async function countRecords(connection: DuckDBConnection, address: string): Promise<ServiceRecords> {
  const [row] = await readRows<ServiceRecords>(
    connection,
    `SELECT (SELECT count(*) FROM service_profile WHERE base_url = $1) AS profiles,
       (SELECT count(*) FROM run WHERE service = $1) AS runs,
       (SELECT count(*) FROM push WHERE service_url = $1) AS pushes,
       (SELECT count(*) FROM cleanup_plan WHERE service_url = $1) AS plans`,
    [address],
  );
  return row ?? { profiles: 0, runs: 0, pushes: 0, plans: 0 };
}
