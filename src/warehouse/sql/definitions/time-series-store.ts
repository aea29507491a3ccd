import type { DeletionTarget } from '../../../core/cleanup/target.ts';
import type { TimeSeriesReading, TimeSeriesStore } from '../../port/definitions.ts';
import {
  commitDefinitions,
  endVersions,
  settleUnknownDefinitions,
  type DefinitionTable,
  type Noticed,
} from './definition-store.ts';
import { jsonText } from '../json-text.ts';
import type { SqlDatabase, SqlSession } from '../session.ts';
import { always } from '../../../core/daily/read-order.ts';
import { keepReads, placeInOrder } from '../reads/read-order.ts';
import { takeTurn } from '../writer-turn.ts';

interface TimeSeriesRow {
  readonly equipment: string;
  readonly xid: string;
  readonly equipment_xid: string;
  readonly source_id: string;
  readonly measurement: string;
  readonly unit: string | null;
}

const timeSeriesTable: DefinitionTable<TimeSeriesReading, TimeSeriesRow> = {
  name: 'time_series',
  columns: {
    equipment: 'VARCHAR',
    xid: 'UUID',
    equipment_xid: 'UUID',
    source_id: 'VARCHAR',
    measurement: 'VARCHAR',
    unit: 'VARCHAR',
  },
  owner: 'equipment',
  kind: 'equipment',
  key: 'xid',
  rowsOf: ({ target, records }) =>
    records.map(({ xid, equipmentXid, sourceId, measurement, unit }) => ({
      equipment: target,
      xid,
      equipment_xid: equipmentXid,
      source_id: sourceId,
      measurement,
      unit,
    })),
  definitionOf: ({ xid, equipment_xid: equipmentXid, source_id: sourceId, measurement, unit }) => ({
    key: xid,
    alias: sourceId,
    content: JSON.stringify([equipmentXid, sourceId, measurement, unit]),
  }),
};

export function createTimeSeriesStore(database: SqlDatabase): TimeSeriesStore {
  return {
    commit: async (batch) =>
      batch.readings.length === 0
        ? []
        : database.transact((session) => commitDefinitions(session, timeSeriesTable, batch)),
    settleUnknown: (unknown) =>
      database.transact((session) => settleUnknownDefinitions(session, timeSeriesTable, unknown)),
    equipment: () =>
      database.transact(async (session) => {
        const rows = await session.rows<{ equipment: string }>(
          'SELECT DISTINCT equipment FROM time_series ORDER BY equipment',
        );
        return rows.map(({ equipment }) => equipment);
      }),
  };
}

/**
 * Moves records that a cleanup deleted at the service from the table to its history. Runs in the caller's transaction,
 * that of their outcome.
 */
export async function endDeletedTimeSeries(
  session: SqlSession,
  deleted: readonly DeletionTarget[],
  noticed: Noticed,
): Promise<void> {
  if (deleted.length === 0) return;
  await takeTurn(session, 'definitions');
  const owners = new Set(deleted.map(({ ownerId }) => ownerId));
  await keepDeletion(session, noticed, [...owners]);
  const stored = await storedAmong(session, owners);
  const ended = deleted.flatMap(({ ownerId, sourceId }) =>
    stored.has(ownerId) ? [{ owner: ownerId, value: sourceId ?? '', change: 'deleted' as const }] : [],
  );
  if (ended.length === 0) return;
  await endVersions(session, timeSeriesTable, 'source_id', ended, noticed);
}

/** An answer that the service gave before the deletion has the records still. */
async function keepDeletion(session: SqlSession, { runId }: Noticed, targets: readonly string[]): Promise<void> {
  const batch = { kind: 'equipment', runId, readNo: undefined, targets, lastChange: 'NULL' } as const;
  const place = await placeInOrder(session, batch);
  const kept = targets.map((target) => ({ target, window: always }));
  await keepReads(session, 'equipment', place, kept);
}

/** Those of the pieces of equipment that the table has records of. */
async function storedAmong(session: SqlSession, equipment: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const rows = await session.rows<{ equipment: string }>(
    `SELECT DISTINCT equipment FROM time_series WHERE equipment IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText([...equipment])],
  );
  return new Set(rows.map((row) => row.equipment));
}
