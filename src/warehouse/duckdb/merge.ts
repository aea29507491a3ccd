/**
 * Compares staged readings with the warehouse and replaces their windows, in sets (DESIGN.md section 4.1). Every step
 * reads and writes temporary tables of the transaction that it runs in:
 *
 *   merge_window   the windows of the batch, by number
 *   reading        the rows that were read, typed
 *   stored         the rows of the warehouse that they meet: all inside the windows, and those that carry an xid of the
 *                  reading but stand outside (a row that was moved in time is an update, not a second row)
 *   matched        reading -> stored by (uwi, xid), and whether it differs
 *   vanished       stored inside a window, and in no reading
 *   replaced       vanished -> new on the same day: the record took a new xid
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { WindowBatch, WindowTally } from '../../core/merge.ts';
import { measureColumns, named, rowColumns, valueColumns } from './columns.ts';
import { stageRows } from './staging.ts';
import { instant, jsonText, readRows, relationOf } from './sql.ts';

const windowRelation = relationOf('$1', {
  window_no: 'INTEGER',
  uwi: 'VARCHAR',
  from_ms: 'BIGINT',
  to_ms: 'BIGINT',
});

const quarantinedRelation = relationOf('$1', { window_no: 'INTEGER', xid: 'VARCHAR', production_day: 'DATE' });

const storedColumns = `d.rowid AS row_id, ${named(rowColumns, 'd')}, d.changed_at, d.changed_run_id`;

const compareSteps: readonly string[] = [
  `CREATE OR REPLACE TEMP TABLE reading AS
     SELECT window_no, w.uwi, s.xid::UUID AS xid, ${instant('instant_ms')} AS date, s.production_day::DATE AS production_day,
       ${named(measureColumns, 's')}, s.extras::JSON AS extras
     FROM staged_row s JOIN merge_window w USING (window_no)`,

  `CREATE OR REPLACE TEMP TABLE stored AS
     SELECT window_no, ${storedColumns}
     FROM daily_production d JOIN merge_window w ON d.uwi = w.uwi AND d.date >= w.from_at AND d.date < w.to_at`,

  `INSERT INTO stored
     SELECT NULL, ${storedColumns}
     FROM daily_production d JOIN (SELECT uwi, xid FROM reading ANTI JOIN stored USING (uwi, xid)) r USING (uwi, xid)`,

  `CREATE OR REPLACE TEMP TABLE matched AS
     SELECT r.window_no, r.xid, r.production_day, r.date, s.row_id,
       r.date = s.date AND r.production_day <> s.production_day AS other_day,
       ${valueColumns.map(({ name }) => `r.${name} IS DISTINCT FROM s.${name}`).join(' OR ')} AS differs
     FROM reading r LEFT JOIN stored s USING (uwi, xid)`,

  // G4: a row that stands for a record which could not be read stays.
  `CREATE OR REPLACE TEMP TABLE vanished AS
     SELECT s.window_no, s.row_id, s.production_day, s.date, s.xid
     FROM stored s ANTI JOIN reading USING (uwi, xid)
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

const tallyQuery = `
  SELECT window_no AS windowNo, coalesce(stored, 0) AS stored, coalesce(fresh, 0) - coalesce(pairs, 0) AS inserted,
    coalesce(changed, 0) + coalesce(pairs, 0) AS updated, coalesce(same, 0) AS unchanged,
    coalesce(missing, 0) - coalesce(pairs, 0) AS leaving, coalesce(moved, 0) AS otherDay
  FROM merge_window
  LEFT JOIN (SELECT window_no, count(*) AS stored FROM stored GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) FILTER (row_id IS NULL) AS fresh, count(*) FILTER (row_id IS NOT NULL AND differs)
      AS changed, count(*) FILTER (row_id IS NOT NULL AND NOT differs) AS same, count(*) FILTER (other_day) AS moved FROM matched GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) AS missing FROM vanished GROUP BY ALL) USING (window_no)
  LEFT JOIN (SELECT window_no, count(*) AS pairs FROM replaced GROUP BY ALL) USING (window_no)
  ORDER BY window_no`;

/**
 * Stages the windows and finds what replacing each would do, in the order of the windows. `windows` are as core's
 * settleBatch leaves them.
 */
export async function compareWindows(
  connection: DuckDBConnection,
  windows: readonly WindowBatch[],
): Promise<readonly WindowTally[]> {
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE merge_window AS
       SELECT window_no, uwi, ${instant('from_ms')} AS from_at, ${instant('to_ms')} AS to_at FROM ${windowRelation}`,
    [
      jsonText(
        windows.map(({ uwi, window }, index) => ({
          window_no: index,
          uwi,
          from_ms: window.fromMs,
          to_ms: window.toMs,
        })),
      ),
    ],
  );
  await connection.run(`CREATE OR REPLACE TEMP TABLE unreadable AS FROM ${quarantinedRelation}`, [
    jsonText(unreadable(windows)),
  ]);
  await stageRows(connection, windows);
  for (const step of compareSteps) await connection.run(step);
  return readRows<WindowTally>(connection, tallyQuery);
}

function unreadable(windows: readonly WindowBatch[]): readonly object[] {
  return windows.flatMap(({ quarantined }, index) =>
    quarantined.map(({ xid, day }) => ({ window_no: index, xid, production_day: day })),
  );
}

/** Old values first, then removals, changes in place (which keeps the order of rows that reading by well and day leans on), new rows. */
const replaceSteps: readonly string[] = [
  `CREATE OR REPLACE TEMP TABLE removed AS
     SELECT row_id FROM vanished v ANTI JOIN replaced USING (row_id) WHERE v.window_no NOT IN (FROM held_window)`,

  `CREATE OR REPLACE TEMP TABLE rewritten AS
     SELECT row_id, 'replaced' AS change, xid, window_no FROM replaced
     UNION ALL SELECT row_id, 'updated', xid, window_no FROM matched WHERE row_id IS NOT NULL AND differs`,

  `INSERT INTO daily_production_history
       (${named(rowColumns)}, change, run_id, noticed_at, known_from, known_run_id, next_xid)
     SELECT ${named(rowColumns, 's')}, c.change, getvariable('run_id'), getvariable('noticed_at'),
       s.changed_at, s.changed_run_id, c.next_xid
     FROM stored s JOIN (SELECT row_id, change, xid AS next_xid FROM rewritten
                         UNION ALL SELECT row_id, 'removed', NULL FROM removed) c USING (row_id)
     ORDER BY s.uwi, s.date`,

  `DELETE FROM daily_production WHERE rowid IN (SELECT row_id FROM removed)`,

  `UPDATE daily_production SET xid = r.xid, ${valueColumns.map(({ name }) => `${name} = r.${name}`).join(', ')},
       changed_run_id = getvariable('run_id'), changed_at = getvariable('noticed_at')
     FROM reading r JOIN rewritten c ON r.window_no = c.window_no AND r.xid = c.xid
     WHERE daily_production.rowid = c.row_id`,

  `INSERT INTO daily_production
     SELECT ${named(rowColumns, 'r')}, getvariable('run_id'), getvariable('run_id'), getvariable('noticed_at')
     FROM reading r JOIN matched m USING (window_no, xid) ANTI JOIN replaced p USING (window_no, xid)
     WHERE m.row_id IS NULL ORDER BY r.uwi, r.date`,
];

/** Carries out what {@link compareWindows} found, in the same transaction; of the held windows, no removal. */
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
