/** Daily production in DuckDB. One transaction writes at a time, so that none has to keep others from its wells. */
import type { DailyEngine } from '../../sql/daily/daily-production-store.ts';
import { type DailyTables, instantsOfDays } from '../../sql/daily/daily-tables.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import type { DuckdbSession } from '../file/session.ts';
import { jsonText } from '../../sql/session.ts';
import { isAmongKeys, isBetweenInstants, relationOf } from '../file/sql.ts';
import { compareWindows } from './comparison.ts';
import { countRows, namedUwis, readCleanDays, replaceWindows } from './replacement.ts';

export function dailyEngineOf(file: DatabaseFile): DailyEngine {
  return {
    commit: (work) =>
      file.addRows(
        (session) => work(tablesOf(session)),
        ({ rowsInserted }) => rowsInserted,
      ),
    within: (work) => file.transact((session) => work(tablesOf(session))),
    withRows: (named) => `SELECT DISTINCT k.uwi AS target FROM internal.daily_production d
      JOIN (SELECT well_id, uwi FROM well_key SEMI JOIN ${named} ON uwi = target) k ON d.well_id = k.well_id`,
    marks: 'feed_month',
    readCleanDays,
  };
}

function tablesOf(session: DuckdbSession): DailyTables {
  return {
    session,
    keys,
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

/** By constants for all wells, with which the engine prunes, and then by the days of each. */
const rowsOfDays: DailyTables['rowsOfDays'] = (wells) => {
  const instants = instantsOfDays(wells);
  const fromMs = instants.reduce((least, { from_ms: ms }) => Math.min(least, ms), Infinity);
  const toMs = instants.reduce((most, { to_ms: ms }) => Math.max(most, ms), -Infinity);
  const keys = instants.map(({ well_id: key }) => key);
  const ranges = relationOf('$1', { well_id: 'INTEGER', from_day: 'INTEGER', to_day: 'INTEGER' });
  const day = `(coalesce(r.production_day, CAST(r.date AT TIME ZONE 'UTC' AS DATE)) - DATE '1970-01-01')`;
  return {
    sql: `(SELECT r.* FROM internal.daily_production r JOIN ${ranges} w ON w.well_id = r.well_id
      WHERE ${isAmongKeys('r.well_id', keys)} AND ${isBetweenInstants('r.date', fromMs, toMs)}
        AND ${day} BETWEEN w.from_day AND w.to_day) d`,
    values: [jsonText(instants.map(({ well_id, from_day, to_day }) => ({ well_id, from_day, to_day })))],
  };
};

/** A key is never reused: rows of `well_key` are never deleted. New ones follow the order of the names. */
const keys = {
  known: `SELECT uwi, well_id AS "wellId" FROM well_key WHERE uwi IN (${namedUwis})`,
  added: `INSERT INTO well_key
      SELECT (SELECT coalesce(max(well_id), 0) FROM well_key) + row_number() OVER (ORDER BY uwi), uwi FROM (${namedUwis})
    RETURNING uwi, well_id AS "wellId"`,
};
