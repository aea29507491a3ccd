/** Versions of rows that ended: each with its successor, by run, and by month. */
import type { DayInterval } from '../../../core/daily/coverage.ts';
import type { Change, RestatedVersion, RowVersion } from '../../../core/daily/restatement.ts';
import { type Measure, measureFields } from '../../../core/daily/row.ts';
import type { CoverageStore, DisputedMonth, RestatementQuestion } from '../../port/daily-production.ts';
import type { ReadRunEffect, RunEffect } from '../../port/wells.ts';
import { type InSession, jsonText, oneRow, type SqlSession, type SqlValue } from '../session.ts';
import { stretchesOf, worstFirst } from './well-history.ts';

const valueColumns = ['date', 'production_day', ...measureFields.map(({ column }) => column), 'extras'];
const versionColumns = ['xid', ...valueColumns];

/** `prefix` distinguishes the two versions; the columns are in the order of {@link versionOf}. */
function columnsOf(alias: string, prefix: string): string {
  return versionColumns.map((name) => `${alias}.${name} AS ${prefix}${name}`).join(', ');
}

/**
 * Successors first, on the small side of the join: only they are held in memory, whatever the size of the table. A version is
 * followed by the first one of the next xid that the run began then or later: in a history of hosts with other clocks it may
 * have begun later than the other one ended.
 */
const statement = (condition: string, limit: string): string => `
  WITH ended AS (
         SELECT * FROM daily_production_history WHERE noticed_at >= $1 AND noticed_at < $2 ${condition} ${limit}),
       successor AS (
         SELECT uwi, known_from, known_run_id, ${versionColumns.join(', ')},
           lag(known_from) OVER (PARTITION BY uwi, xid, known_run_id ORDER BY known_from) AS known_before FROM (
           SELECT uwi, changed_at AS known_from, changed_run_id AS known_run_id, ${versionColumns.join(', ')}
           FROM daily_production
           UNION ALL SELECT uwi, known_from, known_run_id, ${versionColumns.join(', ')}
           FROM daily_production_history) every
         WHERE (uwi, xid) IN (SELECT uwi, next_xid FROM ended))
  SELECT h.uwi, h.change, h.run_id, h.noticed_at, ${columnsOf('h', 'old_')}, ${columnsOf('n', 'new_')}
  FROM ended h LEFT JOIN successor n
    ON n.uwi = h.uwi AND n.xid = h.next_xid AND n.known_run_id = h.run_id
    AND n.known_from >= h.noticed_at AND (n.known_before IS NULL OR n.known_before < h.noticed_at)
  ORDER BY h.noticed_at, h.uwi, h.production_day, h.xid`;

type Row = Readonly<Record<string, Measure>>;

/** Ordered by the time at which they were noticed, then by uwi and day. */
export async function* readRestatements(
  session: SqlSession,
  { sinceMs, untilMs, uwis, after, limit }: RestatementQuestion,
): AsyncGenerator<RestatedVersion> {
  const values: SqlValue[] = [new Date(sinceMs), new Date(untilMs)];
  const parameter = (value: SqlValue): string => `$${values.push(value)}`;
  const isOfWell =
    uwis === undefined ? '' : `AND uwi IN (SELECT ${session.dialect.each(parameter(jsonText(uwis)), 'VARCHAR')})`;
  const isBehind =
    after === undefined
      ? ''
      : `AND (noticed_at, uwi, production_day, xid) > (${parameter(after.noticedAt)}::TIMESTAMPTZ, ${parameter(after.uwi)},
           ${parameter(after.day)}::DATE, ${parameter(after.xid)}::UUID)`;
  const first = limit === undefined ? '' : `ORDER BY noticed_at, uwi, production_day, xid LIMIT ${parameter(limit)}`;
  for await (const row of session.stream<Row>(statement(`${isOfWell} ${isBehind}`, first), values)) {
    yield {
      uwi: String(row['uwi']),
      change: row['change'] as Change,
      runId: String(row['run_id']),
      noticedAt: String(row['noticed_at']),
      old: versionOf(row, 'old_'),
      next: row['new_xid'] === null ? undefined : versionOf(row, 'new_'),
    };
  }
}

function versionOf(row: Row, prefix: string): RowVersion {
  return {
    xid: String(row[`${prefix}xid`]),
    date: String(row[`${prefix}date`]),
    day: String(row[`${prefix}production_day`]),
    measures: measureFields.map(({ column }) => row[`${prefix}${column}`] ?? null),
    extras: (row[`${prefix}extras`] ?? null) as string | null,
  };
}

// What one run brought of one well, by the versions of its rows: also where later runs have changed them.

/** All versions of the rows of the well `$1`, and those that the run `$2` was the first to bring of their day. */
const versions = `version AS (
    SELECT production_day AS day, changed_run_id AS by_run, changed_at AS known_from, CAST(NULL AS TIMESTAMPTZ) AS known_until
    FROM daily_production WHERE uwi = $1 AND production_day IS NOT NULL
    UNION ALL SELECT production_day, known_run_id, known_from, noticed_at FROM daily_production_history
    WHERE uwi = $1 AND production_day IS NOT NULL),
  brought AS (SELECT day, min(known_from) AS known_from FROM version WHERE by_run = $2 GROUP BY day)`;

const isEarlier = 'v.by_run IS DISTINCT FROM $2 AND v.known_from <= b.known_from';
/** The days that had another row until the run brought its own are not filled, but changed. */
const filled = `SELECT b.day FROM brought b WHERE NOT EXISTS (SELECT 1 FROM version v
  WHERE v.day = b.day AND ${isEarlier} AND (v.known_until IS NULL OR v.known_until >= b.known_from))`;

export const readRunEffect: InSession<ReadRunEffect> = async (session, uwi, runId) => {
  const days = (with_: string, of: string): Promise<readonly DayInterval[]> =>
    session.rows(`${with_} ${stretchesOf(of)}`, [uwi, runId]);
  const { rows } = await oneRow<{ rows: number }>(
    session,
    `WITH ${versions} SELECT count(*) AS rows FROM version v, (SELECT min(known_from) AS known_from FROM brought) b WHERE ${isEarlier}`,
    [uwi, runId],
  );
  return {
    ...(await readUnits(session, uwi, runId)),
    filled: await days(`WITH ${versions}`, filled),
    changed: await days(
      '',
      `SELECT production_day AS day FROM daily_production_history
       WHERE uwi = $1 AND run_id = $2 AND known_run_id IS DISTINCT FROM $2 AND production_day IS NOT NULL`,
    ),
    hadRows: rows > 0,
  };
};

async function readUnits(session: SqlSession, uwi: string, runId: string) {
  const count = (name: string): string => `coalesce(CAST(${session.dialect.textAt('counts', [name])} AS BIGINT), 0)`;
  const units = await session.rows<
    Readonly<Record<'quarantined' | 'heldRows', number>> & { readonly state: NonNullable<RunEffect['state']> }
  >(
    `SELECT state, ${count('quarantined')} AS quarantined, ${count('heldRows')} AS "heldRows"
     FROM run_unit WHERE target = $1 AND run_id = $2`,
    [uwi, runId],
  );
  const states = new Set(units.map(({ state }) => state));
  const sum = (name: 'quarantined' | 'heldRows'): number => units.reduce((total, unit) => total + unit[name], 0);
  return {
    state: worstFirst.find((state) => states.has(state)),
    quarantined: sum('quarantined'),
    heldRows: sum('heldRows'),
  };
}

// Where the service said otherwise later: months with held rows, and with days of which a version ended.

export const readDisputedWells: InSession<CoverageStore['disputedWells']> = async (session) => {
  const wells = async (table: string): Promise<readonly string[]> =>
    (await session.rows<{ uwi: string }>(`SELECT DISTINCT uwi FROM ${table}`)).map(({ uwi }) => uwi);
  return { held: await wells('held_month'), restated: await wells('daily_production_history') };
};

export const readDisputedMonths: InSession<CoverageStore['disputedMonths']> = (session, uwis) => {
  const isNamed = `uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  const monthOf = (day: string): string => `substr(CAST(${day} AS VARCHAR), 1, 7)`;
  return session.rows<DisputedMonth>(
    `SELECT uwi, month, CAST(sum(held) AS BIGINT) AS "heldRows", CAST(sum(restated) AS BIGINT) AS "restatedDays" FROM (
       SELECT uwi, ${monthOf('month')} AS month, rows_missing AS held, 0 AS restated FROM held_month WHERE ${isNamed}
       UNION ALL SELECT uwi, ${monthOf('production_day')}, 0, count(DISTINCT production_day) FROM daily_production_history
         WHERE ${isNamed} AND production_day IS NOT NULL GROUP BY 1, 2) every
     GROUP BY uwi, month ORDER BY uwi, month`,
    [jsonText(uwis)],
  );
};
