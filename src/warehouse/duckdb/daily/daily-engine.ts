/** Daily production in DuckDB. One transaction writes at a time, so that none has to keep others from its wells. */
import { DAY_MS } from '../../../core/time/window.ts';
import type { DailyEngine } from '../../sql/daily/daily-production-store.ts';
import type { DailyTables } from '../../sql/daily/daily-tables.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import type { DuckdbSession } from '../file/session.ts';
import { isAmongKeys, isBetweenInstants } from '../file/sql.ts';
import { compareWindows } from './comparison.ts';
import { countRows, namedUwis, readCleanDays, replaceWindows } from './replacement.ts';

export function dailyEngineOf(file: DatabaseFile): DailyEngine {
  return {
    commit: (work) =>
      file.addRows(
        (session) => work(tablesOf(session)),
        ({ rowsInserted }) => rowsInserted,
      ),
    withRows: (named) => `SELECT DISTINCT k.uwi AS target FROM internal.daily_production d
      JOIN (SELECT well_id, uwi FROM well_key SEMI JOIN ${named} ON uwi = target) k ON d.well_id = k.well_id`,
    rowsOfDays,
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

/** A day lies within a day and a half of its instants in every zone. */
const rowsOfDays: DailyTables['rowsOfDays'] = (asked, days) => {
  const firstDay = days.reduce((least, { firstDay: day }) => Math.min(least, day), Infinity);
  const lastDay = days.reduce((most, { lastDay: day }) => Math.max(most, day), -Infinity);
  const wellIds = days.map(({ wellId }) => wellId);
  return `(SELECT d.* FROM internal.daily_production d JOIN ${asked} a
      ON d.well_id = a.well_id AND d.production_day BETWEEN a.first_day AND a.last_day
    WHERE ${isAmongKeys('d.well_id', wellIds)} AND ${isBetweenInstants('d.date', (firstDay - 2) * DAY_MS, (lastDay + 3) * DAY_MS)})`;
};

/** A key is never reused: rows of `well_key` are never deleted. New ones follow the order of the names. */
const keys = {
  known: `SELECT uwi, well_id AS "wellId" FROM well_key WHERE uwi IN (${namedUwis})`,
  added: `INSERT INTO well_key
      SELECT (SELECT coalesce(max(well_id), 0) FROM well_key) + row_number() OVER (ORDER BY uwi), uwi FROM (${namedUwis})
    RETURNING uwi, well_id AS "wellId"`,
};
