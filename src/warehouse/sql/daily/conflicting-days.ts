/**
 * Days of a well with two records or more, and the one of them that counts for whoever reads one row a day. It stays until
 * it leaves or changes; after that, and where both came at once, it is the record with the latest `changed_at`, then that
 * with the largest xid. Kept by merges alone, in their transaction.
 */
import { grouped } from '../../../core/base/lists.ts';
import type { RowColumns } from '../../../core/daily/row-columns.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import { dayOfNumber, instantAt, jsonText, numberOfDay, runOver, type SqlSession } from '../session.ts';
import { type CountedWindow, type DailyTables, type DaysOfWell, ended, type Noticed } from './daily-tables.ts';

interface CountingRecord {
  readonly wellId: number;
  readonly day: number;
  readonly xid: string;
}

const daysFields = { wellId: 'INTEGER', fromDay: 'INTEGER', toDay: 'INTEGER' } as const;
const recordFields = { wellId: 'INTEGER', day: 'INTEGER', xid: 'VARCHAR' } as const;

/** To be called when the rows of the batch are written. Nothing is asked of a night in which no row came or changed. */
export async function keepConflictingDays(
  tables: DailyTables,
  windows: readonly CountedWindow[],
  noticed: Noticed,
): Promise<void> {
  const days = await daysToJudge(tables.session, windows);
  if (days.length > 0) await judgeDays(tables, days, noticed);
}

/**
 * Finds the record that counts on these days, at most one range a well. A record that counted on another day before still
 * does if only its zone is another one.
 */
export async function judgeDays(
  tables: Pick<DailyTables, 'session' | 'rowsOfDays'>,
  days: readonly DaysOfWell[],
  noticed: Noticed,
): Promise<void> {
  const { session } = tables;
  const { dialect } = session;
  const counting = await countingRecords(tables, days, noticed);
  await session.run(
    `DELETE FROM internal.conflicting_day AS c USING ${dialect.relation('$1', daysFields)} AS a
     WHERE c.well_id = a."wellId" AND ${numberOfDay('c.production_day')} BETWEEN a."fromDay" AND a."toDay"`,
    [jsonText(days)],
  );
  await runOver(
    session,
    counting,
    `INSERT INTO internal.conflicting_day (well_id, production_day, xid)
       SELECT "wellId", ${dayOfNumber('day')}, CAST(xid AS UUID) FROM ${dialect.relation('$1', recordFields)} r`,
  );
}

/** Of the days with two records or more, which few batches have: most find none by two columns, and read no others. */
async function countingRecords(
  { session, rowsOfDays }: Pick<DailyTables, 'session' | 'rowsOfDays'>,
  days: readonly DaysOfWell[],
  { runId, atMs }: Noticed,
): Promise<readonly CountingRecord[]> {
  const { sql: stored, values } = rowsOfDays(days);
  const repeated = `SELECT d.well_id, d.production_day FROM ${stored} GROUP BY 1, 2 HAVING count(*) > 1`;
  if ((await session.rows(`${repeated} LIMIT 1`, values)).length === 0) return [];
  const isUnchanged = `(d.changed_at < ${instantAt(atMs)} OR d.changed_run_id <> $${values.length + 1})`;
  const ofDay = 'PARTITION BY d.well_id, d.production_day';
  return session.rows<CountingRecord>(
    `WITH stored AS MATERIALIZED (SELECT well_id, production_day, xid, changed_at, changed_run_id FROM ${stored}),
       repeated AS (SELECT well_id, production_day FROM stored GROUP BY 1, 2 HAVING count(*) > 1)
     SELECT well_id AS "wellId", ${numberOfDay('production_day')} AS day, CAST(xid AS VARCHAR) AS xid FROM (
       SELECT d.*, row_number() OVER (${ofDay} ORDER BY
           CASE WHEN NOT ${isUnchanged} THEN 2 WHEN k.xid IS NOT NULL THEN 0 WHEN c.xid IS NULL THEN 1 ELSE 2 END,
           d.changed_at DESC, d.xid DESC) AS rank
       FROM stored d JOIN repeated r ON r.well_id = d.well_id AND r.production_day = d.production_day
         LEFT JOIN internal.conflicting_day k ON k.well_id = d.well_id AND k.xid = d.xid
         LEFT JOIN internal.conflicting_day c ON c.well_id = d.well_id AND c.production_day = d.production_day) ranked
     WHERE rank = 1`,
    [...values, runId],
  );
}

/**
 * The days that may have got a second record or lost one: those of what a known well was read to have, or whatever of its
 * windows changed where such a day stands; of a new well only if its reading has a day twice.
 */
async function daysToJudge(session: SqlSession, windows: readonly CountedWindow[]): Promise<readonly DaysOfWell[]> {
  const changed = windows.filter(({ inserted, updated, removed }) => inserted + updated + removed > 0);
  const byWell = grouped(changed, ({ wellId }) => String(wellId));
  const movedFrom = await daysLeft(session, changed);
  return [...byWell.values()].flatMap((ofWell): readonly DaysOfWell[] => {
    const [{ wellId, isNew, isConflicting, rows }] = ofWell as [CountedWindow];
    if (isNew && ofWell.length === 1 && !hasDayTwice(rows)) return [];
    const bounds = isConflicting ? [...ofWell.flatMap(daysOfWindow), ...(movedFrom.get(wellId) ?? [])] : [];
    const [fromDay, toDay] = boundsOf([...bounds, ...ofWell.flatMap(daysRead)]);
    return fromDay <= toDay ? [{ wellId, fromDay, toDay }] : [];
  });
}

/** The first and the last day that rows of wells with such days left, by well. They may lie outside of the windows. */
async function daysLeft(
  session: SqlSession,
  changed: readonly CountedWindow[],
): Promise<ReadonlyMap<number, readonly number[]>> {
  if (!changed.some(({ isConflicting, updated }) => isConflicting && updated > 0)) return new Map();
  const rows = await session.rows<DaysOfWell>(
    `SELECT well_id AS "wellId", ${numberOfDay('min(stored_day)')} AS "fromDay", ${numberOfDay('max(stored_day)')} AS "toDay"
     FROM compared WHERE change IN ${ended} GROUP BY well_id`,
  );
  return new Map(rows.map(({ wellId, fromDay, toDay }) => [wellId, [fromDay, toDay]]));
}

/** In whatever zone. */
function daysOfWindow({ window: { fromMs, toMs } }: CountedWindow): readonly number[] {
  return [Math.floor(fromMs / DAY_MS) - 1, Math.ceil(toMs / DAY_MS) + 1];
}

function daysRead({ rows }: CountedWindow): readonly number[] {
  return rows.length === 0 ? [] : boundsOf(rows.days);
}

function boundsOf(days: Iterable<number>): readonly [first: number, last: number] {
  let [first, last] = [Infinity, -Infinity];
  for (const day of days) {
    first = Math.min(first, day);
    last = Math.max(last, day);
  }
  return [first, last];
}

/** Most readings are in the order of time. */
function hasDayTwice({ days }: RowColumns): boolean {
  let isAscending = true;
  for (let row = 1; row < days.length && isAscending; row += 1) isAscending = (days[row] ?? 0) > (days[row - 1] ?? 0);
  return !isAscending && new Set(days).size < days.length;
}
