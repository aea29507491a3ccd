/**
 * Writes what the comparison of a batch found (comparison.ts), in its transaction, by a statement for each kind of change;
 * the rows of wells of which nothing is stored go another way where they can (direct-rows.ts).
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { named } from '../../sql/daily/row-fields.ts';
import { rowColumns, valueColumns } from '../schema/columns.ts';
import { instant, jsonText, readRows, runStatement } from '../file/sql.ts';
import { dayOfNumber } from '../../sql/session.ts';
import { monthsOf, sumOf } from '../../sql/daily/counted-windows.ts';
import type { CountedWindow, Noticed, WellWindow } from '../../sql/daily/daily-tables.ts';
import { isBetweenInstants } from '../file/bounds.ts';
import { isInWindow, isInWindows, isOfWells } from './comparison.ts';
import { insertDirect, isInOrder, partWindows } from './direct-rows.ts';

const ended = `('updated', 'replaced', 'removed')`;

const changedRange = `SELECT epoch_ms(min(stored_at))::DOUBLE AS "firstMs",
    epoch_ms(max(stored_at))::DOUBLE AS "lastMs"
  FROM compared WHERE change IN ${ended}`;

/** After the instant from which the version was known that ends, whatever the clock says. */
const changedAt = `greatest(${instant('$2')}, d.changed_at + INTERVAL '1 microsecond')`;

const history = (isAmongChanged: string): string => `
  INSERT INTO daily_production_history
      (${named(rowColumns)}, change, run_id, noticed_at, known_from, known_run_id, next_xid)
    SELECT ${named(rowColumns, 'd')}, c.change, $1, ${changedAt}, d.changed_at, d.changed_run_id,
      CASE WHEN c.change <> 'removed' THEN r.xid END
    FROM internal.daily_production d JOIN compared c ON d.rowid = c.row_id LEFT JOIN staged_row r ON r.rowid = c.reading_id
    WHERE c.change IN ${ended} AND ${isAmongChanged} ORDER BY d.uwi, d.date`;

const removal = (windows: readonly WellWindow[]): string => `
  DELETE FROM internal.daily_production d
  WHERE ${isInWindows(windows)} AND rowid IN (SELECT row_id FROM compared WHERE change = 'removed')`;

/** In place, which keeps the row order that queries by well and day rely on. */
const update = (isAmongChanged: string): string => `
  UPDATE internal.daily_production AS d SET xid = r.xid, ${valueColumns.map(({ name }) => `${name} = r.${name}`).join(', ')},
    changed_run_id = $1, changed_at = ${changedAt}
  FROM staged_row r JOIN compared c ON r.rowid = c.reading_id
  WHERE c.change IN ('updated', 'replaced') AND d.rowid = c.row_id AND ${isAmongChanged}`;

const insertion = (which: string, order: string): string => `
  INSERT INTO internal.daily_production
    SELECT w.well_id, w.uwi, s.xid, ${named(valueColumns, 's')}, $1, $1, ${instant('$2')}
    FROM staged_row s JOIN merge_window w USING (window_no) ${which} ${order}`;

const isFresh = `WHERE w.is_new OR s.rowid IN (SELECT reading_id FROM compared WHERE change = 'fresh')`;

const newDays = `SELECT ${dayOfNumber('unnest(from_json($2::JSON, \'["INTEGER"]\'))')} AS day`;
const changedDays = `SELECT production_day FROM compared WHERE change IN ('fresh', 'updated', 'replaced')
  UNION ALL SELECT stored_day FROM compared WHERE change IN ${ended}`;

const touchedMonths = (days: string): string => `
  INSERT INTO feed_month (production_month, touched_at, mark)
    SELECT month, ${instant('$1')}, gen_random_uuid()
    FROM (SELECT DISTINCT date_trunc('month', day)::DATE AS month FROM (${days}))
  ON CONFLICT DO UPDATE SET touched_at = excluded.touched_at, mark = excluded.mark`;

/** Old values first, then removals, updates, rows that go straight in, other new rows. */
export async function replaceWindows(
  connection: DuckDBConnection,
  windows: readonly CountedWindow[],
  { runId, atMs }: Noticed,
): Promise<void> {
  const noticed = [runId, BigInt(atMs)];
  const known = windows.filter(({ isNew }) => !isNew);
  const [updated, removed, inserted] = [
    sumOf(windows, 'updated'),
    sumOf(windows, 'removed'),
    sumOf(windows, 'inserted'),
  ];
  if (updated + removed > 0) {
    const isAmongChanged = await changedBounds(connection, known);
    await runStatement(connection, history(isAmongChanged), noticed);
    if (removed > 0) await connection.run(removal(known));
    if (updated > 0) await runStatement(connection, update(isAmongChanged), noticed);
  }
  const { direct, staged } = partWindows(windows);
  await insertDirect(connection, direct, { runId, atMs });
  const others = staged.map(({ window }) => window);
  if (sumOf(others, 'inserted') > 0) await runStatement(connection, insertionOf(others, known.length > 0), noticed);
  if (updated + removed + inserted === 0) return;
  const days = known.length === 0 ? newDays : `${newDays} UNION ALL ${changedDays}`;
  const months = monthsOf(windows.filter(({ isNew }) => isNew));
  await runStatement(connection, touchedMonths(days), [BigInt(atMs), jsonText(months)]);
}

/**
 * SQL of a condition on `internal.daily_production d` that holds for all stored rows that change. The engine skips the row
 * groups without such a row: those of the wells go back over years.
 */
async function changedBounds(connection: DuckDBConnection, windows: readonly WellWindow[]): Promise<string> {
  const [range] = await readRows<Record<'firstMs' | 'lastMs', number>>(connection, changedRange);
  if (range === undefined) throw new Error('a query of two aggregates returned no row');
  return `${isOfWells(windows)} AND ${isBetweenInstants('d.date', range.firstMs, range.lastMs + 1)}`;
}

/**
 * Rows enter by well and time; only the speed of queries depends on it. Most readings are in that order already, and a sort
 * of all columns costs as much as the rest. The engine keeps the order of the side of a join that it streams
 * (`preserve_insertion_order`, its default). That is `staged_row`, whatever the sizes: tables of an open transaction count
 * as empty in its estimates, and then the side with the narrower rows, `merge_window`, is the one that is hashed.
 */
function insertionOf(windows: readonly CountedWindow[], isCompared: boolean): string {
  return insertion(isCompared ? isFresh : '', windows.every(isInOrder) ? '' : 'ORDER BY w.well_id, s.date');
}

const rowsNow = (windows: readonly WellWindow[]): string => `
  SELECT window_no AS "windowNo", count(*) AS rows FROM internal.daily_production d JOIN merge_window w
    ON ${isInWindow}
  WHERE ${isInWindows(windows)} GROUP BY ALL`;

/** The rows that the table now has in each window, in the order of the windows; after {@link replaceWindows}. */
export async function countRows(
  connection: DuckDBConnection,
  windows: readonly WellWindow[],
): Promise<readonly number[]> {
  const counted = await readRows<{ windowNo: number; rows: number }>(connection, rowsNow(windows));
  const byWindow = new Map(counted.map(({ windowNo, rows }) => [windowNo, rows]));
  return windows.map((_, index) => byWindow.get(index) ?? 0);
}
