/**
 * Merges staged readings: compares them with the warehouse and replaces their windows, in sets (docs/design.md section
 * 4.1). Every step reads and writes temporary tables of its transaction:
 *
 *   merge_window   the windows of the batch, by number, with the integer key of their well
 *   reading        the rows that were read, typed
 *   stored         the rows of the warehouse to compare with: all inside the windows, and rows outside with an xid of the
 *                  reading (a row that was moved in time is an update, not a second row)
 *   matched        reading -> stored by well and xid, and whether it differs
 *   vanished       stored inside a window, and in no reading
 *   replaced       vanished -> new on the same day: the record took a new xid
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { WindowBatch, WindowCounts, WindowStock } from '../../../core/daily/merge.ts';
import { measureColumns, named, rowColumns, valueColumns } from '../schema/columns.ts';
import { stageRows } from './staging.ts';
import { instant, jsonText, readRows, relationOf } from '../file/sql.ts';

const windowRelation = relationOf('$1', {
  window_no: 'INTEGER',
  uwi: 'VARCHAR',
  from_ms: 'BIGINT',
  to_ms: 'BIGINT',
  is_verified: 'BOOLEAN',
});

const quarantinedRelation = relationOf('$1', { window_no: 'INTEGER', xid: 'VARCHAR', production_day: 'DATE' });

const storedColumns = `d.rowid AS row_id, d.well_id, ${named(rowColumns, 'd')}, d.changed_at, d.changed_run_id`;

const compareSteps: readonly string[] = [
  `CREATE OR REPLACE TEMP TABLE reading AS
     SELECT window_no, w.well_id, w.uwi, s.xid::UUID AS xid, ${instant('instant_ms')} AS date, s.production_day::DATE AS production_day,
       ${named(measureColumns, 's')}, s.extras::JSON AS extras
     FROM staged_row s JOIN merge_window w USING (window_no)`,

  `CREATE OR REPLACE TEMP TABLE stored AS
     SELECT window_no, ${storedColumns}
     FROM internal.daily_production d JOIN merge_window w ON d.well_id = w.well_id AND d.date >= w.from_at AND d.date < w.to_at`,

  `INSERT INTO stored
     SELECT NULL, ${storedColumns}
     FROM internal.daily_production d
     JOIN (SELECT well_id, xid FROM reading ANTI JOIN stored USING (well_id, xid)) r USING (well_id, xid)`,

  `CREATE OR REPLACE TEMP TABLE matched AS
     SELECT r.window_no, r.xid, r.production_day, r.date, s.row_id,
       r.date = s.date AND r.production_day <> s.production_day AS other_day,
       ${valueColumns.map(({ name }) => `r.${name} IS DISTINCT FROM s.${name}`).join(' OR ')} AS differs
     FROM reading r LEFT JOIN stored s USING (well_id, xid)`,

  // G4: a row that stands for an unreadable record stays.
  `CREATE OR REPLACE TEMP TABLE vanished AS
     SELECT s.window_no, s.row_id, s.production_day, s.date, s.xid
     FROM stored s ANTI JOIN reading USING (well_id, xid)
     WHERE s.window_no IS NOT NULL AND NOT EXISTS (
       FROM unreadable q WHERE q.window_no = s.window_no AND CASE
         WHEN q.xid IS NOT NULL THEN lower(q.xid) = s.xid::VARCHAR
         ELSE coalesce(q.production_day = s.production_day, true) END)`,

  `CREATE OR REPLACE TEMP TABLE replaced AS
     WITH gone AS (SELECT *, row_number() OVER (PARTITION BY window_no, production_day ORDER BY date, xid) AS rank
                   FROM vanished),
          come AS (SELECT *, row_number() OVER (PARTITION BY window_no, production_day ORDER BY date, xid) AS rank
                   FROM matched WHERE row_id IS NULL)
     SELECT gone.row_id, come.xid, window_no FROM gone JOIN come USING (window_no, production_day, rank)`,
];

const countsQuery = `
  SELECT window_no AS windowNo, coalesce(stored, 0) AS stored, coalesce(fresh, 0) - coalesce(pairs, 0) AS inserted,
    coalesce(changed, 0) + coalesce(pairs, 0) AS updated, coalesce(same, 0) AS unchanged,
    coalesce(missing, 0) - coalesce(pairs, 0) AS leaving, coalesce(pairs, 0) AS replaced, coalesce(moved, 0) AS otherDay
  FROM merge_window
  LEFT JOIN (SELECT window_no, count(*) AS stored FROM stored GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) FILTER (row_id IS NULL) AS fresh, count(*) FILTER (row_id IS NOT NULL AND differs)
      AS changed, count(*) FILTER (row_id IS NOT NULL AND NOT differs) AS same, count(*) FILTER (other_day) AS moved FROM matched GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) AS missing FROM vanished GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) AS pairs FROM replaced GROUP BY ALL) USING (window_no)
  ORDER BY window_no`;

/**
 * Stages the windows and returns what replacing each would do, in the order of the windows. `windows` as core's
 * settleBatch returns them.
 */
export async function compareWindows(
  connection: DuckDBConnection,
  windows: readonly WindowBatch[],
): Promise<readonly WindowCounts[]> {
  await giveKeys(connection, windows);
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE merge_window AS
       SELECT window_no, well_id, uwi, ${instant('from_ms')} AS from_at, ${instant('to_ms')} AS to_at, is_verified
       FROM ${windowRelation} JOIN well_key USING (uwi)`,
    [
      jsonText(
        windows.map(({ uwi, window, isVerified }, index) => ({
          window_no: index,
          uwi,
          from_ms: window.fromMs,
          to_ms: window.toMs,
          is_verified: isVerified,
        })),
      ),
    ],
  );
  await connection.run(`CREATE OR REPLACE TEMP TABLE unreadable AS FROM ${quarantinedRelation}`, [
    jsonText(unreadable(windows)),
  ]);
  await stageRows(connection, windows);
  for (const step of compareSteps) await connection.run(step);
  return readRows<WindowCounts>(connection, countsQuery);
}

/**
 * Gives every well without a key the next integer key, by name. A key is never reused: rows of `well_key` are never
 * deleted.
 */
async function giveKeys(connection: DuckDBConnection, windows: readonly WindowBatch[]): Promise<void> {
  await connection.run(
    `INSERT INTO well_key
       SELECT (SELECT coalesce(max(well_id), 0) FROM well_key) + row_number() OVER (ORDER BY uwi), uwi
       FROM (SELECT DISTINCT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi) ANTI JOIN well_key USING (uwi)`,
    [jsonText(windows.map(({ uwi }) => uwi))],
  );
}

function unreadable(windows: readonly WindowBatch[]): readonly object[] {
  return windows.flatMap(({ quarantined }, index) =>
    quarantined.map(({ xid, day }) => ({ window_no: index, xid, production_day: day })),
  );
}

/**
 * Old values first, then removals, updates in place (which keep the row order that queries by well and day rely on),
 * new rows.
 */
const replaceSteps: readonly string[] = [
  `CREATE OR REPLACE TEMP TABLE removed AS
     SELECT row_id FROM vanished v ANTI JOIN replaced USING (row_id) WHERE v.window_no NOT IN (FROM held_window)`,

  `CREATE OR REPLACE TEMP TABLE rewritten AS
     SELECT row_id, 'replaced' AS change, xid, window_no FROM replaced
     UNION ALL SELECT row_id, 'updated', xid, window_no FROM matched WHERE row_id IS NOT NULL AND differs`,

  `CREATE OR REPLACE TEMP TABLE ended AS
     SELECT row_id, change, xid AS next_xid FROM rewritten UNION ALL SELECT row_id, 'removed', NULL FROM removed`,

  `INSERT INTO daily_production_history
       (${named(rowColumns)}, change, run_id, noticed_at, known_from, known_run_id, next_xid)
     SELECT ${named(rowColumns, 's')}, c.change, getvariable('run_id'), getvariable('noticed_at'),
       s.changed_at, s.changed_run_id, c.next_xid
     FROM stored s JOIN ended c USING (row_id)
     ORDER BY s.uwi, s.date`,

  `DELETE FROM internal.daily_production WHERE rowid IN (SELECT row_id FROM removed)`,

  `UPDATE internal.daily_production AS d SET xid = r.xid, ${valueColumns.map(({ name }) => `${name} = r.${name}`).join(', ')},
       changed_run_id = getvariable('run_id'), changed_at = getvariable('noticed_at')
     FROM reading r JOIN rewritten c ON r.window_no = c.window_no AND r.xid = c.xid
     WHERE d.rowid = c.row_id`,

  `INSERT INTO internal.daily_production
     SELECT r.well_id, ${named(rowColumns, 'r')}, getvariable('run_id'), getvariable('run_id'), getvariable('noticed_at')
     FROM reading r JOIN matched m USING (window_no, xid) ANTI JOIN replaced p USING (window_no, xid)
     WHERE m.row_id IS NULL ORDER BY r.well_id, r.date`,

  `INSERT INTO feed_month
     SELECT DISTINCT date_trunc('month', production_day)::DATE, getvariable('noticed_at') FROM (
       SELECT production_day FROM matched WHERE row_id IS NULL OR differs
       UNION ALL SELECT production_day FROM stored SEMI JOIN ended USING (row_id))
     ON CONFLICT DO UPDATE SET touched_at = excluded.touched_at`,
];

/**
 * The last day with a row of each well. Recomputed only if it is unknown, or if its row has left or moved and the
 * reading has no row as late.
 */
const lastDays = `
  UPDATE watermark SET last_day = settled.last_day FROM (
    WITH batch AS (
           SELECT w.well_id, w.uwi, max(r.production_day) AS newest
           FROM merge_window w LEFT JOIN reading r USING (window_no) GROUP BY ALL),
         ended_day AS (SELECT well_id, max(production_day) AS day FROM stored SEMI JOIN ended USING (row_id) GROUP BY well_id),
         known AS (
           SELECT well_id, uwi, last_day, newest,
             last_day IS NULL OR coalesce(day >= last_day, false) AND coalesce(newest < last_day, true) AS is_unsure
           FROM batch JOIN watermark USING (uwi) LEFT JOIN ended_day USING (well_id)),
         counted AS (
           SELECT well_id, max(production_day) AS day
           FROM internal.daily_production SEMI JOIN (SELECT well_id FROM known WHERE is_unsure) USING (well_id) GROUP BY well_id)
    SELECT uwi, CASE WHEN is_unsure THEN day ELSE greatest(last_day, newest) END AS last_day
    FROM known LEFT JOIN counted USING (well_id)) settled
  WHERE watermark.uwi = settled.uwi AND watermark.last_day IS DISTINCT FROM settled.last_day`;

/**
 * Updates the last day of the wells that have a watermark; in the transaction of the merge, after {@link
 * replaceWindows}.
 */
export async function keepLastDays(connection: DuckDBConnection): Promise<void> {
  await connection.run(lastDays);
}

/**
 * Rows of each window before and after the merge, counted in the table itself. A row that moved into a window counts as
 * one of it before as well.
 */
const stockQuery = `
  SELECT window_no, coalesce(kept, 0) + coalesce(others, 0) AS "rowsBefore", coalesce(now, 0) AS "rowsAfter"
  FROM merge_window
  LEFT JOIN (SELECT window_no, count(*) AS kept FROM matched WHERE row_id IS NOT NULL GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) AS others FROM stored ANTI JOIN reading USING (well_id, xid)
             WHERE window_no IS NOT NULL GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) AS now
             FROM internal.daily_production d JOIN merge_window w ON d.well_id = w.well_id AND d.date >= w.from_at AND d.date < w.to_at
             GROUP BY ALL) USING (window_no)
  ORDER BY window_no`;

/** In the order of the windows; in the transaction of the merge, after {@link replaceWindows}. */
export function countStock(connection: DuckDBConnection): Promise<readonly WindowStock[]> {
  return readRows<WindowStock>(connection, stockQuery);
}

/** Applies the result of {@link compareWindows}, in the same transaction; removes nothing from held windows. */
export async function replaceWindows(
  connection: DuckDBConnection,
  held: readonly number[],
  noticed: { readonly runId: string; readonly atMs: number },
): Promise<void> {
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE held_window AS SELECT unnest(from_json($1::JSON, '["INTEGER"]')) AS window_no`,
    [jsonText(held)],
  );
  await connection.run(`SET VARIABLE run_id = $1::VARCHAR`, [noticed.runId]);
  await connection.run(`SET VARIABLE noticed_at = ${instant('$1')}`, [BigInt(noticed.atMs)]);
  for (const step of replaceSteps) await connection.run(step);
}
