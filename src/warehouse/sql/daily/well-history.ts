/** What is known of one well beside its rows, and the restatements of all. */
import type { DayInterval } from '../../../core/daily/coverage.ts';
import type { Fault } from '../../../core/base/errors.ts';
import { grouped } from '../../../core/base/lists.ts';
import type { RunState, UnitState } from '../../../core/run/run.ts';
import type {
  ReadRunEffect,
  ReadWellHistory,
  RunEffect,
  StoredHold,
  StoredQuarantine,
  WellRead,
} from '../../port/wells.ts';
import { contentOf, isAccepted, xidOf } from './quarantine.ts';
import { epochMs, type InSession, jsonText, numberOfDay, oneRow, type SqlSession, type SqlValue } from '../session.ts';
import {
  type Change,
  type Measure,
  measureFields,
  type RestatedVersion,
  type RowVersion,
} from '../../../core/daily/row.ts';
import type { CoverageStore, DisputedMonth, RestatementQuestion } from '../../port/daily-production.ts';

/** Merged intervals of the days of a query with a column `day`. */
const stretchesOf = (days: string): string => `
  SELECT ${numberOfDay('min(day)')} AS "fromDay", ${numberOfDay('max(day)')} + 1 AS "toDay" FROM (
    SELECT day, day - CAST(row_number() OVER (ORDER BY day) AS INTEGER) AS island FROM (SELECT DISTINCT day FROM (${days}) every) once) islands
  GROUP BY island ORDER BY 1`;

export const readWellHistory: InSession<ReadWellHistory> = async (session, uwi, question) => {
  const [well] = await session.rows<{ id: number }>('SELECT well_id AS id FROM well_key WHERE uwi = $1', [uwi]);
  const read = await session.rows<DayInterval>(
    `SELECT ${numberOfDay('from_day')} AS "fromDay", ${numberOfDay('to_day')} AS "toDay" FROM coverage WHERE uwi = $1 ORDER BY 1`,
    [uwi],
  );
  const isOfWell = 'uwi = $1 AND production_day IS NOT NULL';
  return {
    read,
    present: well === undefined ? [] : await readPresent(session, well.id),
    columns:
      well === undefined || question.columns.length === 0 ? [] : await readColumns(session, well.id, question.columns),
    quarantinedDays: await session.rows<DayInterval>(
      stretchesOf(`SELECT production_day AS day FROM quarantine WHERE ${isOfWell}`),
      [uwi],
    ),
    ...(await readQuarantine(session, uwi, question.mostQuarantined)),
    holds: await session.rows<StoredHold>(
      `SELECT rows_missing AS rows, ${numberOfDay('first_day')} AS "firstDay", ${numberOfDay('last_day')} AS "lastDay",
         run_id AS "runId", ${epochMs('since')} AS "sinceMs" FROM held_month WHERE uwi = $1 ORDER BY month`,
      [uwi],
    ),
    reads: await readReads(session, uwi, question.mostReads),
  };
};

/** By the number of the well, as a constant: the engine skips the rows of others by it. */
function readPresent(session: SqlSession, well: number): Promise<readonly DayInterval[]> {
  const ofWell = `well_id = ${well} AND ${session.dialect.amongKeys('well_id', [well])}`;
  return session.rows(
    stretchesOf(
      `SELECT production_day AS day FROM internal.daily_production WHERE ${ofWell} AND production_day IS NOT NULL`,
    ),
  );
}

async function readColumns(session: SqlSession, well: number, columns: readonly string[]): Promise<readonly string[]> {
  const ofWell = `well_id = ${well} AND ${session.dialect.amongKeys('well_id', [well])}`;
  const counts = columns.map((column) => `count(nullif(${column}, 0)) AS "${column}"`).join(', ');
  const found = await oneRow<Record<string, number>>(
    session,
    `SELECT ${counts} FROM internal.daily_production WHERE ${ofWell}`,
  );
  return columns.filter((column) => (found[column] ?? 0) > 0);
}

type QuarantineRow = Omit<StoredQuarantine, 'accepted'> & {
  readonly by: string | null;
  readonly atMs: number | null;
  readonly because: string | null;
};

async function readQuarantine(session: SqlSession, uwi: string, limit: number) {
  const accepted = isAccepted(session, 'q');
  const { records, acceptedRecords } = await oneRow<Readonly<Record<'records' | 'acceptedRecords', number>>>(
    session,
    `SELECT count(*) AS records, count(CASE WHEN ${accepted} THEN 1 END) AS "acceptedRecords" FROM quarantine q WHERE uwi = $1`,
    [uwi],
  );
  if (records === 0) return { quarantined: [], quarantinedRecords: 0, acceptedRecords: 0, unacceptedDays: [] };
  const found = await session.rows<QuarantineRow>(
    `SELECT CAST(q.production_day AS VARCHAR) AS day, q.xid, q.reason, q.raw, q.run_id AS "runId", ${epochMs('q.noticed_at')} AS "noticedAtMs",
       k.accepted_by AS by, ${epochMs('k.accepted_at')} AS "atMs", k.because
     FROM quarantine q LEFT JOIN accepted_record k
       ON k.uwi = q.uwi AND k.xid = ${xidOf('q')} AND k.content_sha256 = ${contentOf(session, 'q')}
     WHERE q.uwi = $1 ORDER BY q.production_day DESC NULLS LAST, q.xid LIMIT $2`,
    [uwi, limit],
  );
  const quarantined = found.map(({ by, atMs, because, ...record }): StoredQuarantine => {
    const isKnown = by !== null && atMs !== null;
    return { ...record, accepted: isKnown ? { by, atMs, because: because ?? '' } : null };
  });
  const unacceptedDays = await session.rows<DayInterval>(
    stretchesOf(
      `SELECT production_day AS day FROM quarantine q WHERE uwi = $1 AND production_day IS NOT NULL AND NOT ${accepted}`,
    ),
    [uwi],
  );
  return { quarantined, quarantinedRecords: records, acceptedRecords, unacceptedDays };
}

/** Older runs than these are not searched for a well: their units may be pruned at any time. */
const mostRunsSearched = 500;

type UnitRow = Readonly<Record<'runId' | 'job', string>> &
  Readonly<Record<'requestedAtMs' | 'atMs', number>> & {
    readonly runState: RunState;
    readonly state: WellRead['state'];
    readonly fault: string | null;
    readonly changed: number;
    readonly fromMs: number | null;
    readonly toMs: number | null;
  };

async function readReads(session: SqlSession, uwi: string, limit: number): Promise<readonly WellRead[]> {
  const { dialect } = session;
  const count = (name: string): string => `coalesce(CAST(${dialect.textAt('u.counts', [name])} AS BIGINT), 0)`;
  const bound = (name: string): string => `CAST(${dialect.textAt('u.spec', [name])} AS FLOAT8)`;
  const rows = await session.rows<UnitRow>(
    `SELECT r.run_id AS "runId", r.job, r.state AS "runState", u.state, CAST(u.fault AS VARCHAR) AS fault,
       ${count('inserted')} + ${count('updated')} + ${count('removed')} AS changed, ${bound('fromMs')} AS "fromMs", ${bound('toMs')} AS "toMs",
       ${epochMs('r.requested_at')} AS "requestedAtMs", ${epochMs('coalesce(r.finished_at, r.started_at, r.requested_at)')} AS "atMs"
     FROM (SELECT * FROM run WHERE job LIKE 'export daily-production%' ORDER BY requested_at DESC LIMIT ${mostRunsSearched}) r
     JOIN run_unit u ON u.run_id = r.run_id WHERE u.target = $1 AND u.state <> 'cancelled' ORDER BY r.requested_at DESC, r.run_id DESC, u.unit`,
    [uwi],
  );
  const runs = [...grouped(rows, ({ runId }) => runId).values()];
  return runs.slice(0, limit).flatMap((units) => {
    const [first] = units;
    return first === undefined ? [] : [readOf(first, units)];
  });
}

/** The first of these that a unit has is that of the run. */
const worstFirst: readonly UnitState[] = ['failed', 'unknown', 'held', 'open', 'cancelled', 'done'];

function readOf({ runId, job, runState, requestedAtMs, atMs }: UnitRow, units: readonly UnitRow[]): WellRead {
  const [worst] = units.toSorted((left, right) => worstFirst.indexOf(left.state) - worstFirst.indexOf(right.state));
  const fault = worst?.fault ?? undefined;
  const starts = units.flatMap(({ fromMs }) => fromMs ?? []);
  const ends = units.flatMap(({ toMs }) => toMs ?? []);
  const areKnown = starts.length > 0 && ends.length > 0;
  return {
    runId,
    job,
    runState,
    state: worst?.state ?? 'open',
    span: areKnown ? { fromMs: Math.min(...starts), toMs: Math.max(...ends) } : undefined,
    changed: units.reduce((sum, { changed }) => sum + changed, 0),
    fault: fault === undefined ? undefined : (JSON.parse(fault) as Fault),
    requestedAtMs,
    atMs,
  };
}

// Versions of rows that ended: each with its successor, by run, and by month.

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
