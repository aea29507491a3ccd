/**
 * The first rows of a well. There is nothing to compare them with, so they go straight into the table: by a temporary one
 * they would be written twice.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Noticed, WellWindow } from '../../sql/daily/daily-tables.ts';
import { rowColumns } from '../schema/columns.ts';
import { rowsPerChunk } from '../file/column-chunk.ts';
import { appendWindows, microseconds, type NumberedWindow, type RowTable, wordsPerInstant } from './row-chunks.ts';

/**
 * Whether nothing is stored of the well, and its rows come in the order of the table. Extra fields are checked to be JSON on
 * their way through the temporary table.
 */
export function isFirst(window: WellWindow): boolean {
  return window.isNew && window.rows.extras.size === 0 && isInOrder(window);
}

/** Whether the rows come in the order of time. */
export function isInOrder({ rows }: WellWindow): boolean {
  return rows.instantsMs.every((instantMs, row) => row === 0 || instantMs >= (rows.instantsMs[row - 1] ?? 0));
}

/** Inserts the rows of the windows that are first, in their order. */
export async function insertFirstRows(
  connection: DuckDBConnection,
  windows: readonly WellWindow[],
  noticed: Noticed,
): Promise<void> {
  const first = windows.flatMap((window, windowNo) => (isFirst(window) ? [{ windowNo, window }] : []));
  if (first.length > 0) await appendWindows(connection, productionTable(first, noticed), first);
}

/** `internal.daily_production`: the key of the well, the row, and who inserted and changed it when. */
function productionTable(windows: readonly NumberedWindow<WellWindow>[], { runId, atMs }: Noticed): RowTable {
  const wells = new Map(windows.map(({ windowNo, window }) => [windowNo, window]));
  const wellIds = new Int32Array(rowsPerChunk);
  const instants = microseconds(new Float64Array(rowsPerChunk).fill(atMs));
  return {
    name: 'daily_production',
    schema: 'internal',
    catalog: null,
    xidColumn: 2,
    copyOwn: (columns, { windowNo, count }, row) => {
      const { wellId = 0, uwi = '' } = wells.get(windowNo) ?? {};
      const [wellIdColumn, uwiColumn] = columns;
      wellIdColumn?.copy(wellIds.fill(wellId, 0, count), 0, count, row);
      uwiColumn?.repeatText(uwi, count, row);
      const [insertedRun, changedRun, changedAt] = columns.slice(1 + rowColumns.length);
      insertedRun?.repeatText(runId, count, row);
      changedRun?.repeatText(runId, count, row);
      changedAt?.copy(instants, 0, count, row, wordsPerInstant);
    },
  };
}
