/**
 * Compares the readings of a batch with the stored rows of their wells (docs/design.md section 4.1), in the temporary
 * tables of staging.ts:
 *
 *   compared   each row that differs between the readings and the windows, with what becomes of it
 *              (../../sql/daily/comparison.ts); rows with equal values, and rows of windows of which nothing is stored,
 *              are in it only if they moved
 *
 * Each statement leaves the planner one good way: it knows nothing of these tables, and with a choice it reads the whole
 * table of rows as soon as some of them changed.
 */
import {
  addTallies,
  type Change,
  type ComparedCounts,
  followChanges,
  type MutableCounts,
  noCounts,
  type Tally,
  tallyOf,
} from '../../sql/daily/comparison.ts';
import type { WellWindow } from '../../sql/daily/daily-tables.ts';
import { valueColumns } from '../schema.ts';
import type { PostgresSession } from '../server/postgres-session.ts';
import { stageWindows } from './staging.ts';

const comparedTable = `CREATE TEMP TABLE compared (window_no INTEGER, reading_id INTEGER, production_day DATE,
  read_at TIMESTAMPTZ, stored_no INTEGER, stored_xid UUID, stored_day DATE, stored_at TIMESTAMPTZ, well_id INTEGER,
  xid UUID, change TEXT) ON COMMIT DROP`;

/** JSON has no equality; its text is what came. */
const differs = valueColumns
  .map(({ name, type }) => (type === 'JSON' ? [`r.${name}::text`, `s.${name}::text`] : [`r.${name}`, `s.${name}`]))
  .map(([read, stored]) => `${read} IS DISTINCT FROM ${stored}`)
  .join(' OR ');

const comparison = `
  INSERT INTO compared
    SELECT r.window_no, r.row_no, r.production_day, r.date, s.window_no, s.xid, s.production_day, s.date,
      coalesce(r.well_id, s.well_id), coalesce(r.xid, s.xid),
      CASE WHEN s.xid IS NULL THEN 'fresh' WHEN r.xid IS NULL THEN 'removed' ELSE 'updated' END
    FROM (SELECT r.* FROM staged_row r JOIN merge_window w ON w.window_no = r.window_no WHERE w.is_stored) r
    FULL JOIN (SELECT w.window_no, d.* FROM merge_window w CROSS JOIN LATERAL (
        SELECT * FROM internal.daily_production
        WHERE well_id = w.well_id AND date >= w.from_at AND date < w.to_at OFFSET 0) d WHERE w.is_stored) s
      ON r.well_id = s.well_id AND r.xid = s.xid
    WHERE s.xid IS NULL OR r.xid IS NULL OR ${differs}`;

const byKey = (of: string): string => `CROSS JOIN LATERAL (
  SELECT xid, production_day FROM internal.daily_production WHERE well_id = ${of}.well_id AND xid = ${of}.xid OFFSET 0) d`;

/** (uwi, xid) stays unique: a fresh row whose xid stands elsewhere in its well is that row, moved in time. */
const movedFresh = `
  UPDATE compared c SET stored_xid = m.xid, stored_day = m.stored_day, change = 'updated'
  FROM (SELECT f.reading_id, d.xid, d.production_day AS stored_day FROM compared f ${byKey('f')}
        WHERE f.change = 'fresh') m
  WHERE c.reading_id = m.reading_id AND c.change = 'fresh'`;

const movedUnstored = `
  INSERT INTO compared
    SELECT r.window_no, r.row_no, r.production_day, r.date, NULL, d.xid, d.production_day, NULL, r.well_id, r.xid, 'updated'
    FROM staged_row r JOIN merge_window w ON w.window_no = r.window_no AND NOT w.is_stored ${byKey('r')}`;

/** Stages the windows of known wells and returns what replacing each would do, in the order of the windows. */
export async function compareWindows(
  session: PostgresSession,
  windows: readonly WellWindow[],
): Promise<readonly ComparedCounts[]> {
  if (windows.every(({ isNew }) => isNew)) return countsOf(windows, new Set(), []);
  const stored = await stageWindows(session, windows);
  await session.run(comparedTable);
  if (stored.size > 0) await session.run(comparison);
  const isUnstored = windows.some(({ isNew }, index) => !isNew && !stored.has(index));
  if (isUnstored) await session.run(movedUnstored);
  return countsOf(
    windows,
    stored,
    stored.size === 0 ? await tallyOf(session) : await followChanges(session, windows, () => findMoved(session)),
  );
}

async function findMoved(session: PostgresSession): Promise<void> {
  await session.run('ANALYZE compared');
  await session.run(movedFresh);
}

function countsOf(
  windows: readonly WellWindow[],
  stored: ReadonlySet<number>,
  tallies: readonly Tally[],
): readonly ComparedCounts[] {
  // What differs is taken off: of a window of which nothing is stored all rows are new but those, of another one unchanged.
  const counts = windows.map(({ rows }, index): MutableCounts => {
    const [inserted, unchanged] = stored.has(index) ? [0, rows.length] : [rows.length, 0];
    return { ...noCounts(), inserted, unchanged };
  });
  addTallies(counts, tallies);
  for (const { windowNo, change, rows } of tallies) {
    const count = counts[windowNo ?? -1];
    if (count !== undefined && isRead(change)) count[stored.has(windowNo ?? -1) ? 'unchanged' : 'inserted'] -= rows;
  }
  for (const count of counts) {
    count.stored += count.unchanged;
    count.rowsBefore += count.unchanged;
  }
  return counts;
}

function isRead(change: Change): boolean {
  return change === 'fresh' || change === 'updated' || change === 'successor';
}
