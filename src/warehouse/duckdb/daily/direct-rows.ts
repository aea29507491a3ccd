/**
 * Rows of wells of which nothing is stored go straight into the table, where they can: through a temporary one they would be
 * written twice.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Noticed, WellWindow } from '../../sql/daily/daily-tables.ts';
import { rowColumns } from '../schema/columns.ts';
import { rowsPerChunk } from '../file/column-chunk.ts';
import { appendWindows, microseconds, type NumberedWindow, type RowTable, wordsPerInstant } from './row-chunks.ts';

/**
 * Parts the windows of a batch. Direct are those of a well of which nothing is stored, where all its windows have their
 * rows in the order of time, which is that of the table, and none has a row with extra fields: on their way through
 * `staged_row` those are checked to be JSON.
 */
export function partWindows<Window extends WellWindow>(
  windows: readonly Window[],
): Readonly<Record<'direct' | 'staged', readonly NumberedWindow<Window>[]>> {
  const others = new Set(windows.filter((window) => !isPlain(window)).map(({ wellId }) => wellId));
  const numbered = windows.map((window, windowNo) => ({ windowNo, window }));
  return {
    direct: numbered.filter(({ window }) => !others.has(window.wellId)),
    staged: numbered.filter(({ window }) => others.has(window.wellId)),
  };
}

function isPlain(window: WellWindow): boolean {
  return window.isNew && window.rows.extras.size === 0 && isInOrder(window);
}

/** Whether the rows come in the order of time. */
export function isInOrder({ rows }: WellWindow): boolean {
  const { instantsMs, length } = rows;
  for (let row = 1; row < length; row += 1) {
    if ((instantsMs[row] ?? 0) < (instantsMs[row - 1] ?? 0)) return false;
  }
  return true;
}

/** Inserts the rows of windows that {@link partWindows} calls direct, in their order. */
export async function insertDirect(
  connection: DuckDBConnection,
  windows: readonly NumberedWindow<WellWindow>[],
  noticed: Noticed,
): Promise<void> {
  if (windows.some(({ window }) => window.rows.length > 0))
    await appendWindows(connection, productionTable(noticed), windows);
}

/** `internal.daily_production`: the key of the well, the row, and which run inserted and changed it when. */
function productionTable({ runId, atMs }: Noticed): RowTable<WellWindow> {
  const wellIds = new Int32Array(rowsPerChunk);
  const instants = microseconds(new Float64Array(rowsPerChunk).fill(atMs));
  return {
    name: 'daily_production',
    schema: 'internal',
    catalog: null,
    xidColumn: 2,
    copyOwn: (columns, { window: { wellId, uwi }, count }, row) => {
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
