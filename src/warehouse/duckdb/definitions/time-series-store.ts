import type { DuckDBConnection } from '@duckdb/node-api';
import type { DeletionTarget } from '../../../core/cleanup/target.ts';
import type { TimeSeriesReading, TimeSeriesStore } from '../../port/definitions.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import {
  commitDefinitions,
  endVersions,
  settleUnknownDefinitions,
  type DefinitionTable,
  type Noticed,
} from './definition-store.ts';
import { readRows } from '../file/sql.ts';

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

export function createTimeSeriesStore(file: DatabaseFile): TimeSeriesStore {
  return {
    commit: async (batch) =>
      batch.readings.length === 0
        ? []
        : file.transact((connection) => commitDefinitions(connection, timeSeriesTable, batch)),
    settleUnknown: (unknown) =>
      file.transact((connection) => settleUnknownDefinitions(connection, timeSeriesTable, unknown)),
    equipment: () =>
      file.transact(async (connection) => {
        const rows = await readRows<{ equipment: string }>(
          connection,
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
  connection: DuckDBConnection,
  deleted: readonly DeletionTarget[],
  noticed: Noticed,
): Promise<void> {
  if (deleted.length === 0) return;
  const ended = deleted.map(({ ownerId, sourceId }) => ({
    owner: ownerId,
    value: sourceId ?? '',
    change: 'deleted' as const,
  }));
  await endVersions(connection, timeSeriesTable, 'source_id', ended, noticed);
}
