/**
 * Daily production in PostgreSQL. A commit locks the rows of its wells in `well_key` first, in order, and looks at
 * anything after that: commits of different wells do not wait for each other, and those of one well follow each other.
 */
import type { CleanDays } from '../../../core/daily/due-window.ts';
import type { DailyEngine } from '../../sql/daily/daily-production-store.ts';
import { type DailyTables, instantsOfDays } from '../../sql/daily/daily-tables.ts';
import { jsonText } from '../../sql/session.ts';
import type { PostgresDatabase } from '../server/postgres-database.ts';
import type { PostgresSession } from '../server/postgres-session.ts';
import { compareWindows } from './comparison.ts';
import { countRows, replaceWindows } from './replacement.ts';
import { instant } from './staging.ts';

export function dailyEngineOf(database: PostgresDatabase): DailyEngine {
  return {
    commit: (work) => database.transact((session) => work(tablesOf(session))),
    within: (work) => database.transact((session) => work(tablesOf(session))),
    withRows: (named) => `SELECT k.uwi FROM well_key k JOIN ${named} n ON n.target = k.uwi
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
