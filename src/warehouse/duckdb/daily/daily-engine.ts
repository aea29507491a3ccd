/**
 * Daily production in DuckDB: how a commit finds and writes rows. One transaction writes at a time, so that none has
 * to keep others from its wells.
 */
import type { DayInterval } from '../../../core/daily/coverage.ts';
import type { CleanDays } from '../../../core/daily/due-window.ts';
import type { DailyEngine } from '../../sql/daily/daily-production-store.ts';
import {
  addTallies,
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
  type WellWindow,
} from '../../sql/daily/daily-tables.ts';
import { declared, named } from '../../sql/daily/row-fields.ts';
import { dayOfNumber, jsonText, oneRow, type SqlSession } from '../../sql/session.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import {
  type DuckdbSession,
  instant,
  isAmongKeys,
  isBetweenInstants,
  mostListed,
  relationOf,
} from '../file/session.ts';
import { measureColumns, rowColumns, valueColumns } from '../schema.ts';
import {
  appendWindows,
  insertDirect,
  isInOrder,
  type NumberedWindow,
  partWindows,
  type RowTable,
} from './row-chunks.ts';
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { rowsPerChunk } from '../file/column-chunk.ts';

export function dailyEngineOf(file: DatabaseFile): DailyEngine {
  return {
    commit: (work, mostRows) =>
      file.addRows((session) => work(tablesOf(session)), { mostRows, rowsOf: ({ rowsInserted }) => rowsInserted }),
    rowsThatFit: () => file.rowsThatFit(),
    within: (work) => file.transact((session) => work(tablesOf(session))),
    withRows: (targets) => `SELECT DISTINCT k.uwi AS target FROM internal.daily_production d
      JOIN (SELECT well_id, uwi FROM well_key SEMI JOIN ${targets} ON uwi = target) k ON d.well_id = k.well_id`,
    marks: 'feed_month',
    readCleanDays,
  };
}

function tablesOf(session: DuckdbSession): DailyTables {
  return {
    session,
    keys: keyStatements,
    byteLength: (text) => `strlen(${text})`,
    lastChange: `(SELECT last_change_at + INTERVAL '1 millisecond' FROM warehouse)`,
    recordChange: async (atMs) =>
      void (await session.run('UPDATE warehouse SET last_change_at = $1', [new Date(atMs)])),
    compare: (windows) => compareWindows(session, windows),
    replace: (windows, noticed) => replaceWindows(session, windows, noticed),
    countRows: (windows) => countRows(session, windows),
    rowsOfDays,
    lastDays: (wellIds) =>
      session.rows(
        `SELECT well_id AS "wellId", max(production_day) - DATE '1970-01-01' AS day FROM internal.daily_production
         WHERE ${isAmongKeys('well_id', wellIds)} GROUP BY well_id`,
      ),
  };
}

/**
 * By constants for all wells, with which the engine prunes, and then by the days of each. The same days of all wells take no join,
 * which took a third of the time of reading 60 days of 200 wells.
 */
const rowsOfDays: DailyTables['rowsOfDays'] = (wells) => {
  const instants = instantsOfDays(wells);
  const fromMs = instants.reduce((least, { from_ms: ms }) => Math.min(least, ms), Infinity);
  const toMs = instants.reduce((most, { to_ms: ms }) => Math.max(most, ms), -Infinity);
  const keys = instants.map(({ well_id: key }) => key);
  const isNear = `${isAmongKeys('r.well_id', keys)} AND ${isBetweenInstants('r.date', fromMs, toMs)}`;
  const day = `(coalesce(r.production_day, CAST(r.date AT TIME ZONE 'UTC' AS DATE)) - DATE '1970-01-01')`;
  const [first] = instants;
  if (first !== undefined && keys.length <= mostListed && instants.every((each) => isOfDays(each, first))) {
    return {
      sql: `(SELECT r.* FROM internal.daily_production r
        WHERE ${isNear} AND r.well_id IN (${keys.join(', ')}) AND ${day} BETWEEN ${first.from_day} AND ${first.to_day}) d`,
      values: [],
    };
  }
  const ranges = relationOf('$1', { well_id: 'INTEGER', from_day: 'INTEGER', to_day: 'INTEGER' });
  return {
    sql: `(SELECT r.* FROM internal.daily_production r JOIN ${ranges} w ON w.well_id = r.well_id
      WHERE ${isNear} AND ${day} BETWEEN w.from_day AND w.to_day) d`,
    values: [jsonText(instants.map(({ well_id, from_day, to_day }) => ({ well_id, from_day, to_day })))],
  };
};

type WellInstants = ReturnType<typeof instantsOfDays>[number];

function isOfDays({ from_day, to_day }: WellInstants, other: WellInstants): boolean {
  return from_day === other.from_day && to_day === other.to_day;
}

/** The wells of a list. */
const namedUwis = `SELECT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi`;

/** A key is never reused: rows of `well_key` are never deleted. New ones follow the order of the names. */
const keyStatements = {
  known: `SELECT uwi, well_id AS "wellId" FROM well_key WHERE uwi IN (${namedUwis})`,
  added: `INSERT INTO well_key
      SELECT (SELECT coalesce(max(well_id), 0) FROM well_key) + row_number() OVER (ORDER BY uwi), uwi FROM (${namedUwis})
    RETURNING uwi, well_id AS "wellId"`,
};

// Writes what the comparison of a batch found (below), in its transaction, by a statement for each kind of change;
// the rows of wells of which nothing is stored go another way where they can (row-chunks.ts).

const changedRange = `SELECT epoch_ms(min(stored_at))::DOUBLE AS "firstMs",
    epoch_ms(max(stored_at))::DOUBLE AS "lastMs"
  FROM compared WHERE change IN ${ended}`;

/** The stored rows that end, `d` below: the engine finds them once, in row groups of which it reads all columns. */
const endedRows = (isAmongChanged: string): string => `
  CREATE OR REPLACE TEMP TABLE ended_row AS
    SELECT d.rowid AS row_id, c.change, c.reading_id, d.* FROM internal.daily_production d JOIN compared c ON d.rowid = c.row_id
    WHERE c.change IN ${ended} AND ${isAmongChanged}`;

const history = `
  INSERT INTO daily_production_history
      (${named(rowColumns)}, change, run_id, noticed_at, known_from, known_run_id, next_xid)
    SELECT ${named(rowColumns, 'd')}, d.change, $1, ${changedAt}, d.changed_at, d.changed_run_id,
      CASE WHEN d.change <> 'removed' THEN r.xid END
    FROM ended_row d LEFT JOIN staged_row r ON r.rowid = d.reading_id ORDER BY d.uwi, d.date`;

const removal = (windows: readonly WellWindow[]): string => `
  DELETE FROM internal.daily_production d
  WHERE ${isInWindows(windows)} AND rowid IN (SELECT row_id FROM ended_row WHERE change = 'removed')`;

const readColumns: readonly string[] = ['xid', ...valueColumns.map(({ name }) => name)];

/** A row: for each column whether a row that is updated has another value of it. */
const differing = `
  SELECT ${readColumns.map((name) => `bool_or(d.${name} IS DISTINCT FROM r.${name}) AS ${name}`).join(', ')}
  FROM ended_row d JOIN staged_row r ON r.rowid = d.reading_id WHERE d.change <> 'removed'`;

/**
 * In place, which keeps the row order that queries by well and day rely on. A checkpoint writes the row groups of each column that
 * is named again, whether its values changed or not.
 */
const update = (columns: readonly string[], isAmongChanged: string): string => `
  UPDATE internal.daily_production AS d SET ${columns.map((name) => `${name} = r.${name}, `).join('')}
    changed_run_id = $1, changed_at = ${changedAt}
  FROM ended_row c JOIN staged_row r ON r.rowid = c.reading_id
  WHERE c.change <> 'removed' AND d.rowid = c.row_id AND ${isAmongChanged}`;

const insertion = (which: string, order: string): string => `
  INSERT INTO internal.daily_production
    SELECT w.well_id, w.uwi, s.xid, ${named(valueColumns, 's')}, $1, $1, $2::TIMESTAMPTZ
    FROM staged_row s JOIN merge_window w USING (window_no) ${which} ${order}`;

const isFresh = `WHERE w.is_new OR s.rowid IN (SELECT reading_id FROM compared WHERE change = 'fresh')`;

const touchedMonths = (days: string): string => `
  INSERT INTO feed_month (production_month, touched_at, mark)
    SELECT month, $1::TIMESTAMPTZ, gen_random_uuid()
    FROM (SELECT DISTINCT date_trunc('month', day)::DATE AS month FROM (${days}))
  ON CONFLICT DO UPDATE SET touched_at = excluded.touched_at, mark = excluded.mark`;

/** Old values first, then removals, updates, rows that go straight in, other new rows. */
async function replaceWindows(
  session: DuckdbSession,
  windows: readonly CountedWindow[],
  { runId, atMs }: Noticed,
): Promise<void> {
  const noticed = [runId, new Date(atMs)];
  const known = windows.filter(({ isNew }) => !isNew);
  const [updated, removed, inserted] = [
    sumOf(windows, 'updated'),
    sumOf(windows, 'removed'),
    sumOf(windows, 'inserted'),
  ];
  if (updated + removed > 0) {
    const isAmongChanged = await changedBounds(session, known);
    await session.run(endedRows(isAmongChanged));
    await session.run(history, noticed);
    if (removed > 0) await session.run(removal(known));
    if (updated > 0) {
      const differs = await oneRow<Record<string, boolean | null>>(session, differing);
      const columns = readColumns.filter((name) => differs[name] === true);
      await session.run(update(columns, isAmongChanged), noticed);
    }
  }
  const { direct, staged } = partWindows(windows);
  await insertDirect(session, direct, { runId, atMs });
  const others = staged.map(({ window }) => window);
  if (sumOf(others, 'inserted') > 0) await session.run(insertionOf(others, known.length > 0), noticed);
  if (updated + removed + inserted === 0) return;
  const months = monthsOf(windows.filter(({ isNew }) => isNew));
  await session.run(touchedMonths(changedDays(session, known.length > 0)), [new Date(atMs), jsonText(months)]);
}

/**
 * SQL of a condition on `internal.daily_production d` that holds for all stored rows that change. The engine skips the row
 * groups without such a row: those of the wells go back over years.
 */
async function changedBounds(session: SqlSession, windows: readonly WellWindow[]): Promise<string> {
  const { firstMs, lastMs } = await oneRow<Record<'firstMs' | 'lastMs', number>>(session, changedRange);
  return `${isOfWells(windows)} AND ${isBetweenInstants('d.date', firstMs, lastMs + 1)}`;
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

/** After {@link replaceWindows}. */
function countRows(session: SqlSession, windows: readonly WellWindow[]): ReturnType<DailyTables['countRows']> {
  return session.rows(rowsNow(windows));
}

/** The days of wells that have a row and no quarantined record, for the windows that a plan gives them. */
const isNamed = `uwi IN (${namedUwis})`;

interface AskedKeys {
  readonly low: number | null;
  readonly high: number | null;
  readonly count: number;
}

const askedKeys = `SELECT min(well_id) AS low, max(well_id) AS high, count(*)::INTEGER AS count FROM well_key WHERE ${isNamed}`;

/** A range with more keys of other wells than this, to one of its own, gives way to a list. */
const mostOthers = 3;

/** SQL of a condition for the engine to prune with; undefined if the wells have no keys. Wells of a plan mostly adjoin. */
async function conditionOf(session: SqlSession, uwis: readonly string[]): Promise<string | undefined> {
  const [range] = await session.rows<AskedKeys>(askedKeys, [jsonText(uwis)]);
  const { low = null, high = null, count = 0 } = range ?? {};
  if (low === null || high === null) return undefined;
  if (high - low < count * (mostOthers + 1)) return `well_id BETWEEN ${low} AND ${high}`;
  const select = `SELECT well_id AS key FROM well_key WHERE ${isNamed}`;
  const rows = await session.rows<{ key: number }>(select, [jsonText(uwis)]);
  const keys = rows.map(({ key }) => key);
  return isAmongKeys('well_id', keys);
}

const ofDays = ({ fromDay, toDay }: DayInterval): string =>
  `production_day >= ${dayOfNumber(String(fromDay))} AND production_day < ${dayOfNumber(String(toDay))}`;

/**
 * A bit for each day of each well: a quarter of the time that stretches take. They say enough of a well with one row a day
 * and nothing in quarantine. Joined when they are few: other wells of the condition cost less than a join of every row.
 */
const daysAsBits = (isAsked: string, days: DayInterval): string => `
  WITH asked AS (SELECT well_id, uwi FROM well_key WHERE ${isNamed})
  SELECT uwi, days::VARCHAR AS days, rows > bit_count(days) OR uwi IN (SELECT uwi FROM quarantine) AS "isUnusual"
  FROM (SELECT well_id, count(*) AS rows,
          bitstring_agg(production_day - (${dayOfNumber(String(days.fromDay))}), 0, ${days.toDay - days.fromDay - 1}) AS days
        FROM internal.daily_production WHERE ${isAsked} AND ${ofDays(days)} GROUP BY well_id)
  JOIN asked USING (well_id)`;

/** A quarantined record without a day stands for the row with its xid. */
const stretches = (isAsked: string, days: DayInterval): string => `
  WITH asked AS (SELECT well_id, uwi FROM well_key WHERE ${isNamed}),
       broken AS (SELECT well_id, production_day, lower(xid) AS xid FROM quarantine JOIN asked USING (uwi)),
       stored AS (
         SELECT well_id, production_day, xid FROM internal.daily_production SEMI JOIN asked USING (well_id)
         WHERE ${isAsked} AND ${ofDays(days)}),
       unsound AS (
         SELECT well_id, production_day FROM broken WHERE production_day IS NOT NULL
         UNION SELECT s.well_id, s.production_day FROM broken b JOIN stored s
           ON b.well_id = s.well_id AND b.production_day IS NULL AND b.xid = s.xid::VARCHAR),
       daily AS (
         SELECT well_id, production_day AS day, count(*) AS rows FROM stored
         ANTI JOIN unsound USING (well_id, production_day) GROUP BY ALL)
  SELECT uwi, min(day) - DATE '1970-01-01' AS "fromDay", max(day) - DATE '1970-01-01' + 1 AS "toDay", sum(rows)::BIGINT AS rows
  FROM (SELECT *, day - row_number() OVER (PARTITION BY well_id ORDER BY day)::INTEGER AS island FROM daily)
  JOIN asked USING (well_id) GROUP BY uwi, island ORDER BY uwi, island`;

interface WellBits {
  readonly uwi: string;
  /** A character for each day, 1 for one with a row. */
  readonly days: string;
  readonly isUnusual: boolean;
}

/** Those of `days` with a row and without a quarantined record, by uwi, as intervals in order. */
const readCleanDays: DailyEngine['readCleanDays'] = async (session, uwis, days) => {
  const isAsked = await conditionOf(session, uwis);
  if (isAsked === undefined) return new Map();
  const wells = await session.rows<WellBits>(daysAsBits(isAsked, days), [jsonText(uwis)]);
  const clean = new Map(wells.map((well) => [well.uwi, stretchesOf(well.days, days.fromDay)]));
  const unusual = wells.flatMap(({ uwi, isUnusual }) => (isUnusual ? [uwi] : []));
  if (unusual.length === 0) return clean;
  const rows = await session.rows<CleanDays & { readonly uwi: string }>(stretches(isAsked, days), [jsonText(unusual)]);
  for (const uwi of unusual) clean.set(uwi, []);
  for (const { uwi, ...stretch } of rows) clean.set(uwi, [...(clean.get(uwi) ?? []), stretch]);
  return clean;
};

/** The stretches of ones, each with a row a day. */
function stretchesOf(bits: string, fromDay: number): readonly CleanDays[] {
  const found: CleanDays[] = [];
  for (let from = bits.indexOf('1'); from >= 0;) {
    const end = bits.indexOf('0', from);
    const to = end < 0 ? bits.length : end;
    found.push({ fromDay: fromDay + from, toDay: fromDay + to, rows: to - from });
    from = bits.indexOf('1', to);
  }
  return found;
}

// Compares the readings of a batch with the rows that the warehouse has of their wells (docs/design.md section 4.1). The
// steps write temporary tables of the merge's transaction:
//
//   merge_window   the windows of the batch, by number, with the integer key of their well
//   staged_row     the rows that were read, but for those that go straight into the table (row-chunks.ts);
//                  not written where all do
//   compared       for wells that the warehouse knows, each row of the reading and each stored row of the windows, matched
//                  by well and xid, with what becomes of it (../../sql/daily/daily-tables.ts); without it nothing is stored
//                  of any well of the batch

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
const isInWindow = 'd.well_id = w.well_id AND d.date >= w.from_at AND d.date < w.to_at';

/** SQL of a condition on `internal.daily_production d` that holds for all rows inside the windows. */
function isInWindows(windows: readonly WellWindow[]): string {
  const fromMs = windows.reduce((least, { window }) => Math.min(least, window.fromMs), Infinity);
  const toMs = windows.reduce((most, { window }) => Math.max(most, window.toMs), -Infinity);
  return `${isOfWells(windows)} AND ${isBetweenInstants('d.date', fromMs, toMs)}`;
}

/** SQL of a condition on `internal.daily_production d` that holds for all rows of the windows' wells. */
function isOfWells(windows: readonly WellWindow[]): string {
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
async function compareWindows(
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
