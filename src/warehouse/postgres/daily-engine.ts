/**
 * Daily production in PostgreSQL. A commit locks the rows of its wells in `well_key` first, in order, and looks at
 * anything after that: commits of different wells do not wait for each other, and those of one well follow each other.
 */
import type { CleanDays } from '../../core/daily/due-window.ts';
import type { DailyEngine } from '../sql/daily/daily-production-store.ts';
import {
  addTallies,
  type Change,
  changedAt,
  changedDays,
  type ComparedCounts,
  type CountedWindow,
  type DailyTables,
  ended,
  followChanges,
  instantsOfDays,
  monthsOf,
  type MutableCounts,
  noCounts,
  type Noticed,
  sumOf,
  type Tally,
  tallyOf,
  type WellWindow,
} from '../sql/daily/daily-tables.ts';
import { named } from '../sql/daily/row-fields.ts';
import { jsonText, type SqlSession } from '../sql/session.ts';
import { copyNewRows, instant, stageWindows } from './staging.ts';
import { serviceColumns, valueColumns } from './schema.ts';
import type { PostgresDatabase, PostgresSession } from './server/postgres-database.ts';

export function dailyEngineOf(database: PostgresDatabase): DailyEngine {
  return {
    commit: (work) => database.transact((session) => work(tablesOf(session))),
    rowsThatFit: () => Infinity,
    within: (work) => database.transact((session) => work(tablesOf(session))),
    withRows: (targets) => `SELECT k.uwi FROM well_key k JOIN ${targets} n ON n.target = k.uwi
      WHERE EXISTS (SELECT 1 FROM internal.daily_production d WHERE d.well_id = k.well_id)`,
    marks: 'internal.feed_touch',
    readCleanDays,
  };
}

function tablesOf(session: PostgresSession): DailyTables {
  return {
    session,
    keys,
    byteLength: (text) => `octet_length(${text})`,
    lastChange: '(SELECT max(noticed_at) FROM daily_production_history)',
    recordChange: () => Promise.resolve(),
    compare: (windows) => compareWindows(session, windows),
    replace: (windows, noticed) => replaceWindows(session, windows, noticed),
    countRows: (windows) => countRows(session, windows),
    rowsOfDays,
    lastDays: (wellIds) => session.rows(lastDays, [jsonText(wellIds)]),
  };
}

/** By the instants of each well, which the index has. */
const rowsOfDays: DailyTables['rowsOfDays'] = (wells) => ({
  sql: `(SELECT r.* FROM json_to_recordset($1) AS w (well_id INTEGER, from_day INTEGER, to_day INTEGER, from_ms BIGINT, to_ms BIGINT)
    CROSS JOIN LATERAL (SELECT * FROM internal.daily_production
      WHERE well_id = w.well_id AND date >= ${instant('w.from_ms')} AND date < ${instant('w.to_ms')} OFFSET 0) r
    WHERE coalesce(r.production_day, CAST(r.date AT TIME ZONE 'UTC' AS DATE)) - DATE '1970-01-01'
      BETWEEN w.from_day AND w.to_day) d`,
  values: [jsonText(instantsOfDays(wells))],
});

/** One that adds waits for a commit that gives a key to the same well, and gives none then. */
const keys = {
  known: `SELECT uwi, well_id AS "wellId" FROM well_key
    WHERE uwi IN (SELECT json_array_elements_text($1)) ORDER BY well_id FOR UPDATE`,
  added: `INSERT INTO well_key (uwi)
      SELECT uwi FROM json_array_elements_text($1) AS named (uwi) ORDER BY uwi COLLATE "C" ON CONFLICT DO NOTHING
    RETURNING uwi, well_id AS "wellId"`,
};

/** A day lies within a day and a half of its instant in every zone, so that few rows of the well are looked at. */
const lastDays = `
  SELECT well_id AS "wellId", (
    SELECT max(production_day) - DATE '1970-01-01' FROM internal.daily_production d
    WHERE d.well_id = named.well_id AND d.date >= (
      SELECT max(date) FROM internal.daily_production l WHERE l.well_id = named.well_id) - INTERVAL '3 days') AS day
  FROM (SELECT json_array_elements_text($1)::integer AS well_id) named`;

/**
 * A quarantined record without a day stands for the row with its xid. Rows are found by their instant, which the index has,
 * from a day before the first one to a day behind the last one.
 */
const cleanStretches = `
  WITH asked AS (SELECT well_id, uwi FROM well_key WHERE uwi IN (SELECT json_array_elements_text($1))),
       broken AS (SELECT a.well_id, q.production_day, lower(q.xid) AS xid FROM quarantine q JOIN asked a ON a.uwi = q.uwi),
       stored AS (
         SELECT a.well_id, d.production_day, d.xid FROM asked a CROSS JOIN LATERAL (
           SELECT production_day, xid FROM internal.daily_production
           WHERE well_id = a.well_id AND date >= DATE '1970-01-01' + $2::integer - 2
             AND date < DATE '1970-01-01' + $3::integer + 2 AND production_day >= DATE '1970-01-01' + $2::integer
             AND production_day < DATE '1970-01-01' + $3::integer OFFSET 0) d),
       unsound AS (
         SELECT well_id, production_day FROM broken WHERE production_day IS NOT NULL
         UNION SELECT s.well_id, s.production_day FROM broken b JOIN stored s
           ON b.well_id = s.well_id AND b.production_day IS NULL AND b.xid = s.xid::text),
       daily AS (
         SELECT s.well_id, s.production_day AS day, count(*) AS rows FROM stored s
         WHERE NOT EXISTS (SELECT 1 FROM unsound u WHERE u.well_id = s.well_id AND u.production_day = s.production_day)
         GROUP BY s.well_id, s.production_day)
  SELECT a.uwi, min(day) - DATE '1970-01-01' AS "fromDay", max(day) - DATE '1970-01-01' + 1 AS "toDay",
    sum(rows)::bigint AS rows
  FROM (SELECT *, day - row_number() OVER (PARTITION BY well_id ORDER BY day)::integer AS island FROM daily) i
  JOIN asked a ON a.well_id = i.well_id GROUP BY a.uwi, island ORDER BY a.uwi, island`;

/** Those of the days with a row and without a quarantined record, by uwi, as intervals in order. */
const readCleanDays: DailyEngine['readCleanDays'] = async (session, uwis, { fromDay, toDay }) => {
  const values = [jsonText(uwis), fromDay, toDay];
  const rows = await session.rows<CleanDays & { readonly uwi: string }>(cleanStretches, values);
  const stretches = new Map<string, CleanDays[]>();
  for (const { uwi, ...stretch } of rows) stretches.set(uwi, [...(stretches.get(uwi) ?? []), stretch]);
  return stretches;
};

// Compares the readings of a batch with the stored rows of their wells (docs/design.md section 4.1), in the temporary
// tables of staging.ts:
//
//   compared   each row that differs between the readings and the windows, with what becomes of it
//              (../sql/daily/daily-tables.ts); rows with equal values, and rows of windows of which nothing is stored,
//              are in it only if they moved
//
// Each statement leaves the planner one good way: it knows nothing of these tables, and with a choice it reads the whole
// table of rows as soon as some of them changed.

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
async function compareWindows(
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

// Writes what the comparison of a batch found, in its transaction, by a statement for each kind of change.

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
async function replaceWindows(
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
function countRows(session: SqlSession, windows: readonly CountedWindow[]): ReturnType<DailyTables['countRows']> {
  const asked = windows.map(({ wellId, window }, index) => ({
    window_no: index,
    well_id: wellId,
    from_ms: window.fromMs,
    to_ms: window.toMs,
  }));
  return session.rows(rowsNow, [jsonText(asked)]);
}
