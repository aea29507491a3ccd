/** Loads rows into a temporary table, out of which they are compared with the stored ones and inserted. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { declared } from '../../sql/daily/row-fields.ts';
import { rowsPerChunk } from '../file/column-chunk.ts';
import { measureColumns } from '../schema/columns.ts';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { appendWindows, type NumberedWindow, type RowTable } from './row-chunks.ts';

/** The final types: the merge casts nothing. `extras` is JSON text. */
const stagedTable = `CREATE OR REPLACE TEMP TABLE staged_row
  (window_no INTEGER, xid UUID, date TIMESTAMPTZ, production_day DATE, ${declared(measureColumns)}, extras VARCHAR)`;

/** Creates and fills the temporary table `staged_row`. */
export async function stageRows(connection: DuckDBConnection, windows: readonly NumberedWindow[]): Promise<void> {
  await connection.run(stagedTable);
  await appendWindows(connection, stagedRows(), windows);
}

function stagedRows(): RowTable<WindowBatch> {
  const windowNos = new Int32Array(rowsPerChunk);
  return {
    name: 'staged_row',
    schema: null,
    catalog: 'temp',
    xidColumn: 1,
    copyOwn: ([windowNo], slice, row) => {
      windowNo?.copy(windowNos.fill(slice.windowNo, 0, slice.count), 0, slice.count, row);
    },
  };
}
