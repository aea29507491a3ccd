import { TakenOverError, UsageError } from '../../../core/base/errors.ts';
import type { ServiceIdentity } from '../../../core/base/service-key.ts';
import type { QueueKind, QueueStateKind, QueueStateStore } from '../../../core/run/warehouse-queue.ts';
import type { Ownership, ServiceChange, ServiceRecords, WarehouseIdentity } from '../../port/warehouse.ts';
import {
  epochMs,
  type InSession,
  jsonText,
  lockRows,
  membersOf,
  oneRow,
  recordOf,
  type RowOf,
  type SqlDatabase,
  type SqlSession,
  transacted,
} from '../session.ts';
import {
  checkForService,
  claimForService,
  onlyNamedService,
  readNamedServices,
  readNames,
  readService,
} from './service-claim.ts';

export function createOwnership(database: SqlDatabase, beat: Beat): Ownership {
  return {
    ...transacted<Pick<Ownership, 'read' | 'aliases' | 'namesOf' | 'checkService' | 'renew' | 'useQueue'>>(database, {
      read: readIdentity,
      aliases: readAliases,
      namesOf: readNames,
      checkService: async (session, service) => void (await checkForService(session, service)),
      renew,
      useQueue: async (session, kind) => {
        await lockRows(session, 'SELECT 1 FROM warehouse');
        await session.run('UPDATE warehouse SET queue_kind = $1, queue_id = NULL, taken_at = NULL, epoch = epoch + 1', [
          kind,
        ]);
      },
    }),
    takeOver: async (queueId, seenEpoch, kind) => {
      let written: number | undefined;
      const writeBeat: Beat['replace'] = async (id, epoch, session) => {
        written = epoch;
        await beat.replace(id, epoch, session);
      };
      try {
        return await database.transact((session) =>
          takeOver(session, { queueId, kind, seenEpoch, database, writeBeat }),
        );
      } catch (error) {
        // A rollback does not remove a beat in a file. Left there, it would make every other queue wait for one that owns
        // nothing. Another worker of this queue may have written one of the same epoch, and live.
        if (written !== undefined) await beat.remove({ queueId, epoch: written }).catch(() => undefined);
        throw error;
      }
    },
    adopt: async (service, change) => {
      const adopted = await database.transact((session) => adopt(session, service, change));
      if (!change.dryRun) await endAnyBeat(beat);
      return adopted;
    },
    move: async (from, to, change) => {
      const records = await database.transact((session) => move(session, from, to, change));
      if (!change.dryRun) await endAnyBeat(beat);
      return records;
    },
    fence: (epoch, onTakenOver) => database.fence(epoch, onTakenOver),
    beatOf: () => beat.queueId(),
    beatAgeMs: () => beat.ageMs(),
    beat: async (queueId, epoch) => {
      // Only the warehouse knows who has it: a missing or damaged beat must not end its queue.
      const isOwn = (await beat.isOf(queueId, epoch)) || (await database.transact(readIdentity)).epoch === epoch;
      if (!isOwn) throw new TakenOverError();
      await beat.replace(queueId, epoch);
    },
    endBeat: (queueId, epoch) => beat.remove({ queueId, epoch }),
  };
}

/** A change of the service ends the right of every worker: a worker of the new name must not wait for their beat. */
async function endAnyBeat(beat: Beat): Promise<void> {
  // The change is made; a beat that stays becomes old.
  await beat.remove().catch(() => undefined);
}

async function readIdentity(session: SqlSession): Promise<WarehouseIdentity> {
  const members = membersOf('warehouseId', 'service', 'queueId', 'queueKind', 'epoch');
  const row = await oneRow<RowOf<WarehouseIdentity>>(session, `SELECT ${members} FROM warehouse`);
  return { ...recordOf<WarehouseIdentity>(row), service: row.service ?? (await onlyNamedService(session)) };
}

const readAliases: InSession<Ownership['aliases']> = (session) =>
  session.rows(
    `SELECT address, ${epochMs('moved_at')} AS "movedAtMs", coalesce(moved_by, '') AS "movedBy" FROM service_alias
     ORDER BY moved_at DESC, address`,
  );

interface Takeover {
  readonly queueId: string;
  readonly kind: QueueKind;
  readonly seenEpoch: number;
  readonly database: SqlDatabase;
  /** Writes the first beat. */
  readonly writeBeat: Beat['replace'];
}

async function takeOver(
  session: SqlSession,
  { queueId, kind, seenEpoch, database, writeBeat }: Takeover,
): Promise<number | undefined> {
  // Lock the row before sharing it: two transactions that share it and then change its epoch wait for each other.
  await lockRows(session, 'SELECT 1 FROM warehouse');
  // A queue works for one service: what it is given belongs to that one.
  await claimForService(session, database);
  const [taken] = await session.rows<{ epoch: number }>(
    `UPDATE warehouse SET queue_id = $1, queue_kind = $3, epoch = epoch + 1, taken_at = current_timestamp WHERE epoch = $2
     RETURNING epoch`,
    [queueId, seenEpoch, kind],
  );
  if (taken !== undefined) await writeBeat(queueId, taken.epoch, session);
  return taken?.epoch;
}

async function renew(session: SqlSession): Promise<string> {
  await lockRows(session, 'SELECT 1 FROM warehouse');
  const { id } = await oneRow<{ id: string }>(
    session,
    `UPDATE warehouse SET warehouse_id = gen_random_uuid()::VARCHAR, queue_id = NULL, taken_at = NULL, epoch = epoch + 1
     RETURNING warehouse_id AS id`,
  );
  return id;
}

const adopt: InSession<Ownership['adopt']> = async (session, service, change) => {
  await lockRows(session, 'SELECT 1 FROM warehouse');
  const owner = await readService(session);
  if (owner !== undefined) {
    throw new UsageError(`the warehouse belongs to the service ${owner} already`, {
      action: { kind: 'move-service', from: owner },
    });
  }
  const named = await readNamedServices(session);
  const adopted = service ?? (named.length === 1 ? named[0] : undefined);
  if (adopted === undefined) {
    const what = named.length === 0 ? 'name no service' : `name several services (${named.join(', ')})`;
    throw new UsageError(`the records of the warehouse ${what}`, { action: { kind: 'adopt-service' } });
  }
  // A service that the records do not name would merge another one's data into them (G11).
  if (named.length > 0 && !named.includes(adopted)) {
    throw new UsageError(`the records of the warehouse name ${named.join(' and ')}, and not ${adopted}`, {
      hint: 'Adopt the service that they name. Where it has a new address now, record that after it.',
      action: { kind: 'move-service', from: named[0] ?? '', to: adopted },
    });
  }
  if (change.dryRun) return adopted;
  await session.run('UPDATE warehouse SET service = $1, epoch = epoch + 1', [adopted]);
  // The names hold who adopted it and when.
  await nameService(session, adopted, adopted, change);
  return adopted;
};

const move: InSession<Ownership['move']> = async (session, from, to, change) => {
  await lockRows(session, 'SELECT 1 FROM warehouse');
  const owner = (await readService(session)) ?? (await onlyNamedService(session));
  if (from === to) throw new UsageError(`${from} and ${to} are the same service`);
  if (owner !== from && owner !== to) {
    throw new UsageError(
      owner === undefined ? 'the warehouse has no service yet' : `the warehouse belongs to the service ${owner}`,
      { hint: 'One of the two must be its service.', action: { kind: 'show-service' } },
    );
  }
  const records = await countRecords(session, from);
  if (change.dryRun) return records;
  // A warehouse belongs to one service: every name of it now leads to the new key.
  await session.run('DELETE FROM service_alias WHERE address = $1', [to]);
  await session.run('UPDATE service_alias SET service = $1', [to]);
  await nameService(session, from, to, change);
  await session.run('UPDATE warehouse SET service = $1, epoch = epoch + 1', [to]);
  return records;
};

async function nameService(
  session: SqlSession,
  address: string,
  service: string,
  { by, atMs }: ServiceChange,
): Promise<void> {
  await session.run(
    `INSERT INTO service_alias (address, service, moved_at, moved_by) VALUES ($1, $2, $3, $4)
     ON CONFLICT (address) DO UPDATE SET service = excluded.service, moved_at = excluded.moved_at, moved_by = excluded.moved_by`,
    [address, service, new Date(atMs), by],
  );
}

function countRecords(session: SqlSession, address: string): Promise<ServiceRecords> {
  return oneRow(
    session,
    `SELECT (SELECT count(*) FROM service_profile WHERE base_url = $1) AS profiles,
       (SELECT count(*) FROM run WHERE service = $1) AS runs,
       (SELECT count(*) FROM push WHERE service_url = $1) AS pushes,
       (SELECT count(*) FROM cleanup_plan WHERE service_url = $1) AS plans`,
    [address],
  );
}

/** The sign of life of the queue that works a warehouse: the last one alone is kept. */
export interface Beat {
  /**
   * Milliseconds since the beat; undefined without one. A beat from the future says nothing about when it was written: it
   * counts as written now, and is dated so.
   */
  ageMs(): Promise<number | undefined>;
  isOf(queueId: string, epoch: number): Promise<boolean>;
  queueId(): Promise<string | undefined>;
  /**
   * Writes a beat; in this transaction, where the warehouse itself holds it. Throws UnreachableError('warehouse') if it
   * cannot be written.
   */
  replace(queueId: string, epoch: number, session?: SqlSession): Promise<void>;
  /** Removes the beat of this queue and epoch; without them, that of any. */
  remove(of?: { readonly queueId: string; readonly epoch: number }): Promise<void>;
}

// Keeps a queue that lost the warehouse from writing to it (G11).

/** The epoch in which a handle may write, and whom to tell that it is over. */
export interface Fence {
  readonly epoch: number;
  readonly onTakenOver: (error: Error) => void;
}

/**
 * To be called first in every transaction of a fenced handle, or before it where nobody else can write until it ends: keeps a
 * worker that was suspended from committing after another queue took the warehouse over. In PostgreSQL the row stays locked for
 * sharing, so that a takeover waits for the transactions that were begun before it; what changes its other columns does not wait.
 */
export async function requireEpoch(
  session: Pick<SqlSession, 'dialect' | 'rows'>,
  { epoch, onTakenOver }: Fence,
  service: ServiceIdentity | undefined,
): Promise<void> {
  const [row] = await session.rows<{ epoch: number; owner: string | null }>(
    `SELECT epoch, service AS owner FROM warehouse ${session.dialect.rowLock('share')}`,
  );
  // A worker may have started before the first run wrote the service of the warehouse.
  const isOfService = service === undefined || row?.owner === null || row?.owner === service.key;
  if (row?.epoch === epoch && isOfService) return;
  const error = new TakenOverError();
  onTakenOver(error);
  throw error;
}

// What of an embedded queue outlives its process (src/core/run/warehouse-queue.ts).

/** How long the lines of the log of a run are kept. */
const keepLogs = `INTERVAL '7 days'`;

export function createQueueStateStore(database: SqlDatabase): QueueStateStore {
  return transacted<QueueStateStore>(database, { read, write });
}

const read: InSession<QueueStateStore['read']> = async (session, kinds, key) => {
  const rows = await session.rows<{ kind: QueueStateKind; key: string; value: string }>(
    `SELECT kind, key, CAST(value AS VARCHAR) AS value FROM queue_state
     WHERE kind IN (SELECT ${session.dialect.each('$1', 'VARCHAR')}) AND ($2::VARCHAR IS NULL OR key = $2)
     ORDER BY kind, key`,
    [jsonText(kinds), key ?? null],
  );
  return rows.map(({ value, ...entry }) => ({ ...entry, value: JSON.parse(value) as unknown }));
};

const write: InSession<QueueStateStore['write']> = async (session, changes) => {
  const { dialect } = session;
  const removed = changes.filter(({ value }) => value === undefined);
  if (removed.length > 0) {
    await session.run(
      `DELETE FROM queue_state WHERE (kind, key) IN (
         SELECT e.kind, e.key FROM ${dialect.relation('$1', { kind: 'VARCHAR', key: 'VARCHAR' })} e)`,
      [jsonText(removed)],
    );
  }
  const kept = changes.flatMap(({ kind, key, value }) =>
    value === undefined ? [] : [{ kind, key, value: JSON.stringify(value) }],
  );
  if (kept.length === 0) return;
  const fields = { kind: 'VARCHAR', key: 'VARCHAR', value: 'VARCHAR' } as const;
  await session.run(
    `INSERT INTO queue_state (kind, key, value, noted_at)
     SELECT e.kind, e.key, CAST(e.value AS JSON), ${dialect.clock} FROM ${dialect.relation('$1', fields)} e
     ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, noted_at = excluded.noted_at`,
    [jsonText(kept)],
  );
  if (kept.some(({ kind }) => kind === 'log')) {
    await session.run(`DELETE FROM queue_state WHERE kind = 'log' AND noted_at < ${dialect.clock} - ${keepLogs}`);
  }
};
