/** What is known of one well beside its rows. */
import type { DayInterval } from '../../../core/daily/coverage.ts';
import type { Fault } from '../../../core/base/errors.ts';
import { grouped } from '../../../core/base/lists.ts';
import type { RunState, UnitState } from '../../../core/run/run.ts';
import type { ReadWellHistory, StoredHold, StoredQuarantine, WellRead } from '../../port/wells.ts';
import { isAccepted, contentOf, xidOf } from '../alerts/accepted-records.ts';
import { epochMs, type InSession, numberOfDay, oneRow, type SqlSession } from '../session.ts';

/** Merged intervals of the days of a query with a column `day`. */
export const stretchesOf = (days: string): string => `
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
export const worstFirst: readonly UnitState[] = ['failed', 'unknown', 'held', 'open', 'cancelled', 'done'];

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
