/** Owns the tables of time series definitions in DuckDB. */
import type { TimeSeriesReading, TimeSeriesStore } from '../definitions.ts';
import type { DatabaseFile } from './database-file.ts';
import { commitDefinitions, type DefinitionTable } from './definition-store.ts';
import { readRows } from './sql.ts';

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
