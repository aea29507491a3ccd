/**
 * Compares the readings of a batch with the rows that the warehouse has of their wells (docs/design.md section 4.1). The
 * steps write temporary tables of the merge's transaction:
 *
 *   merge_window   the windows of the batch, by number, with the integer key of their well
 *   staged_row     the rows that were read, but for those that go straight into the table (row-chunks.ts);
 *                  not written where all do
 *   compared       for wells that the warehouse knows, each row of the reading and each stored row of the windows, matched
 *                  by well and xid, with what becomes of it (../../sql/daily/comparison.ts); without it nothing is stored
 *                  of any well of the batch
 */
import type { WindowBatch } from '../../../core/daily/merge.ts';
import {
  addTallies,
  type ComparedCounts,
  followChanges,
  type MutableCounts,
  noCounts,
} from '../../sql/daily/comparison.ts';
import type { WellWindow } from '../../sql/daily/daily-tables.ts';
import { declared } from '../../sql/daily/row-fields.ts';
import { rowsPerChunk } from '../file/column-chunk.ts';
import { jsonText } from '../../sql/session.ts';
import type { DuckdbSession } from '../file/session.ts';
import { instant, isAmongKeys, isBetweenInstants, relationOf } from '../file/sql.ts';
import { measureColumns, valueColumns } from '../schema.ts';
import { appendWindows, type NumberedWindow, partWindows, type RowTable } from './row-chunks.ts';

const windowRelation = relationOf('$1', {
  window_no: 'INTEGER',
  well_id: 'INTEGER',
  uwi: 'VARCHAR',
  from_ms: 'BIGINT',
  to_ms: 'BIGINT',
  is_new: 'BOOLEAN',
  is_verified: 'BOOLEAN',
});

const mergeWindow = `
  CREATE OR REPLACE TEMP TABLE merge_window AS
    SELECT window_no, well_id, uwi, ${instant('from_ms')} AS from_at, ${instant('to_ms')} AS to_at, is_new, is_verified
    FROM ${windowRelation}`;

/** SQL of the condition that a row of `internal.daily_production d` lies in the window `merge_window w`. */
export const isInWindow = 'd.well_id = w.well_id AND d.date >= w.from_at AND d.date < w.to_at';

/** SQL of a condition on `internal.daily_production d` that holds for all rows inside the windows. */
export function isInWindows(windows: readonly WellWindow[]): string {
  const fromMs = windows.reduce((least, { window }) => Math.min(least, window.fromMs), Infinity);
  const toMs = windows.reduce((most, { window }) => Math.max(most, window.toMs), -Infinity);
  return `${isOfWells(windows)} AND ${isBetweenInstants('d.date', fromMs, toMs)}`;
}

/** SQL of a condition on `internal.daily_production d` that holds for all rows of the windows' wells. */
export function isOfWells(windows: readonly WellWindow[]): string {
  const ids = windows.map(({ wellId }) => wellId);
  return isAmongKeys('d.well_id', ids);
}

const differs = valueColumns.map(({ name }) => `r.${name} IS DISTINCT FROM s.${name}`).join(' OR ');

const compared = (windows: readonly WellWindow[]): string => `
  CREATE OR REPLACE TEMP TABLE compared AS
    WITH reading AS (SELECT s.rowid AS reading_id, w.well_id, s.* FROM staged_row s JOIN merge_window w USING (window_no)
                     WHERE NOT w.is_new),
         stored AS (SELECT w.window_no, d.rowid AS row_id, d.* FROM internal.daily_production d JOIN merge_window w
                      ON ${isInWindow} WHERE ${isInWindows(windows)})
    SELECT r.window_no, r.reading_id, r.production_day, r.date AS read_at, s.window_no AS stored_no, s.row_id,
      s.production_day AS stored_day, s.date AS stored_at, coalesce(r.well_id, s.well_id) AS well_id,
      coalesce(r.xid, s.xid) AS xid,
      CASE WHEN s.row_id IS NULL THEN 'fresh' WHEN r.reading_id IS NULL THEN 'removed'
        WHEN ${differs} THEN 'updated' ELSE 'same' END AS change
    FROM reading r FULL OUTER JOIN stored s ON r.well_id = s.well_id AND r.xid = s.xid`;

/** (uwi, xid) stays unique: a fresh row whose xid stands elsewhere in its well is that row, moved in time. */
const moved = (windows: readonly WellWindow[]): string => `
  UPDATE compared AS c SET row_id = d.row_id, stored_day = d.production_day, stored_at = d.date, change = 'updated'
  FROM (SELECT rowid AS row_id, well_id, xid, production_day, date FROM internal.daily_production d WHERE ${isOfWells(windows)}) d
  WHERE c.change = 'fresh' AND c.well_id = d.well_id AND c.xid = d.xid`;

/**
 * Stages rows, and returns what replacing each window would do, in the order of the windows. `windows` as core's settleBatch
 * returns them, by their keys, so that rows go into the table in that order: first those that go there straight.
 */
export async function compareWindows(
  session: DuckdbSession,
  windows: readonly WellWindow[],
): Promise<readonly ComparedCounts[]> {
  await session.run(mergeWindow, [jsonText(windows.map(windowRow))]);
  const { staged } = partWindows(windows);
  if (staged.length > 0) await stageRows(session, staged);
  const counts = windows.map(({ isNew, rows }): MutableCounts => {
    return { ...noCounts(), inserted: isNew ? rows.length : 0 };
  });
  const known = windows.filter(({ isNew }) => !isNew);
  if (known.length === 0) return counts;
  await session.run(compared(known));
  addTallies(counts, await followChanges(session, windows, () => session.run(moved(known))));
  return counts;
}

function windowRow({ wellId, uwi, window, isNew, isVerified }: WellWindow, index: number): object {
  const bounds = { from_ms: window.fromMs, to_ms: window.toMs };
  return { window_no: index, well_id: wellId, uwi, ...bounds, is_new: isNew, is_verified: isVerified };
}

// Loads rows into a temporary table, out of which they are compared with the stored ones and inserted.

/** The final types: the merge casts nothing. `extras` is JSON text. */
const stagedTable = `CREATE OR REPLACE TEMP TABLE staged_row
  (window_no INTEGER, xid UUID, date TIMESTAMPTZ, production_day DATE, ${declared(measureColumns)}, extras VARCHAR)`;

/** Creates and fills the temporary table `staged_row`. */
export async function stageRows(session: DuckdbSession, windows: readonly NumberedWindow[]): Promise<void> {
  await session.run(stagedTable);
  await appendWindows(session, stagedRows(), windows);
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
