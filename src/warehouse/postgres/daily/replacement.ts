/** Writes what the comparison of a batch found (comparison.ts), in its transaction, by a statement for each kind of change. */
import { type CountedWindow, type DailyTables, monthsOf, type Noticed, sumOf } from '../../sql/daily/daily-tables.ts';
import { changedAt, changedDays, ended } from '../../sql/daily/comparison.ts';
import { named } from '../../sql/daily/row-fields.ts';
import { jsonText, type SqlSession } from '../../sql/session.ts';
import { serviceColumns, valueColumns } from '../schema.ts';
import type { PostgresSession } from '../server/postgres-session.ts';
import { copyNewRows, instant } from './staging.ts';

const isStoredRow = 'd.well_id = c.well_id AND d.xid = c.stored_xid';

const history = `
  INSERT INTO daily_production_history (uwi, ${named(serviceColumns)}, change, run_id, noticed_at, known_from, known_run_id,
      next_xid)
    SELECT k.uwi, ${named(serviceColumns, 'd')}, c.change, $1, ${changedAt}, d.changed_at, d.changed_run_id,
      CASE WHEN c.change <> 'removed' THEN r.xid END
    FROM compared c CROSS JOIN LATERAL (SELECT * FROM internal.daily_production d WHERE ${isStoredRow} OFFSET 0) d
      JOIN well_key k ON k.well_id = d.well_id LEFT JOIN staged_row r ON r.row_no = c.reading_id
    WHERE c.change IN ${ended} ORDER BY k.uwi, d.date`;

const removal = `DELETE FROM internal.daily_production d USING compared c WHERE c.change = 'removed' AND ${isStoredRow}`;

const update = `
  UPDATE internal.daily_production d SET xid = r.xid, ${valueColumns.map(({ name }) => `${name} = r.${name}`).join(', ')},
    changed_run_id = $1, changed_at = ${changedAt}
  FROM compared c JOIN staged_row r ON r.row_no = c.reading_id
  WHERE c.change IN ('updated', 'replaced') AND ${isStoredRow}`;

const insertion = (from: string): string => `
  INSERT INTO internal.daily_production
      (well_id, ${named(serviceColumns)}, inserted_run_id, changed_run_id, changed_at)
    SELECT r.well_id, ${named(serviceColumns, 'r')}, $1, $1, $2 FROM ${from}`;

const insertionOfFresh = insertion(`compared c JOIN staged_row r ON r.row_no = c.reading_id WHERE c.change = 'fresh'`);
const insertionOfUnstored = insertion(`staged_row r JOIN merge_window w ON w.window_no = r.window_no AND NOT w.is_stored
  WHERE NOT EXISTS (SELECT 1 FROM compared c WHERE c.reading_id = r.row_no)`);

/** Takes the place of the marks that nobody else is about to replace: no commit waits for another one's. */
const touchedMonths = (days: string): string => `
  WITH touched AS (SELECT DISTINCT date_trunc('month', day)::date AS month FROM (${days}) AS days (day)),
    older AS (DELETE FROM internal.feed_touch WHERE ctid IN (
      SELECT ctid FROM internal.feed_touch
      WHERE production_month IN (SELECT month FROM touched) AND touched_at <= $1 FOR UPDATE SKIP LOCKED))
  INSERT INTO internal.feed_touch (production_month, touched_at) SELECT month, $1 FROM touched`;

/** Old values first, then removals, updates, new rows. */
export async function replaceWindows(
  session: PostgresSession,
  windows: readonly CountedWindow[],
  { runId, atMs }: Noticed,
): Promise<void> {
  const noticed = [runId, new Date(atMs)];
  const known = windows.filter(({ isNew }) => !isNew);
  const [updated, removed, inserted] = [sumOf(known, 'updated'), sumOf(known, 'removed'), sumOf(known, 'inserted')];
  if (updated + removed > 0) await session.run(history, noticed);
  if (removed > 0) await session.run(removal);
  if (updated > 0) await session.run(update, noticed);
  if (inserted > 0) {
    await session.run(insertionOfFresh, noticed);
    await session.run(insertionOfUnstored, noticed);
  }
  const added = windows.filter(({ isNew, rows }) => isNew && rows.length > 0);
  if (added.length > 0) await copyNewRows(session, added, { runId, atMs });
  if (updated + removed + inserted + added.length === 0) return;
  // Of a window of which nothing was stored all rows are inserted, or moved into it.
  const months = monthsOf(windows.filter((window) => window.inserted + window.updated === window.rows.length));
  await session.run(touchedMonths(changedDays(session, known.length > 0)), [new Date(atMs), jsonText(months)]);
}

const rowsNow = `
  SELECT w.window_no AS "windowNo", (SELECT count(*) FROM internal.daily_production d
    WHERE d.well_id = w.well_id AND d.date >= ${instant('w.from_ms')} AND d.date < ${instant('w.to_ms')}) AS rows
  FROM json_to_recordset($1) AS w (window_no INTEGER, well_id INTEGER, from_ms BIGINT, to_ms BIGINT)`;

/** After {@link replaceWindows}. */
export function countRows(
  session: SqlSession,
  windows: readonly CountedWindow[],
): ReturnType<DailyTables['countRows']> {
  const asked = windows.map(({ wellId, window }, index) => ({
    window_no: index,
    well_id: wellId,
    from_ms: window.fromMs,
    to_ms: window.toMs,
  }));
  return session.rows(rowsNow, [jsonText(asked)]);
}
