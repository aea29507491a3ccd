/**
 * The order of `internal.daily_production`. The engine finds the rows of a well by the smallest and largest key of each
 * row group, so a well is found quickly where its rows lie in one piece. A commit adds its rows at the end, as one more
 * piece of each well; a step takes wells of several pieces out, and adds them again in order.
 */
import type { StorageOrder, StorageTail, TableOrder } from '../../port/daily-production.ts';
import { oneRow, type SqlDatabase, type SqlSession, transacted } from '../../sql/session.ts';

/** Rows that one step rewrites, unless a single well has more: a row group of them exceeds 64 MB of engine memory. */
const rowsInStep = 40_000;

/** Rows that one step looks at: some 10 ms. */
const rowsInSearch = 200_000;

/** The wells that tell how long the tail is: so many one after the other, from so many keys on. */
const sampled = { starts: 8, wells: 32 } as const;

export function createStorageOrder(database: SqlDatabase): StorageOrder {
  return transacted<StorageOrder>(database, { tail: measureTail, measure: measureOrder, step: takeStep });
}

/**
 * By well, its rows and pieces, and whether it lies in one piece and by date. `lag` without an order follows the storage,
 * and keeps no rows in memory. What deleted rows left counts as a gap.
 */
const wellsOf = (isLookedAt: string): string => `
  SELECT well_id, count(*) AS rows, count(*) FILTER (before IS DISTINCT FROM well_id) AS pieces,
    max(row_id) - min(row_id) + 1 = count(*) AND NOT bool_or(coalesce(before = well_id AND date < date_before, false)) AS is_whole
  FROM (SELECT rowid AS row_id, well_id, date, lag(well_id) OVER () AS before, lag(date) OVER () AS date_before
        FROM internal.daily_production WHERE ${isLookedAt})
  GROUP BY well_id`;

const tailNights = `coalesce(sum(pieces - 1) / count(*), 0)::DOUBLE AS "tailNights"`;
const isUnderWay = `(SELECT order_place IS NOT NULL FROM warehouse) AS "isUnderWay"`;

async function measureTail(session: SqlSession): Promise<StorageTail> {
  const lastKey = 'SELECT coalesce(max(well_id), 0) AS last FROM well_key';
  const { last } = await oneRow<{ last: number }>(session, lastKey);
  return oneRow(session, `SELECT ${tailNights}, ${isUnderWay} FROM (${sampleOf(last)})`);
}

/**
 * {@link wellsOf} of some of the wells up to a key, or of all where they are few. Each start is a query of its own: a
 * condition for all of them is none that the engine prunes by, or a join, and the rows of a join are not in order. Pieces of
 * a well between which none of its neighbours in the sample has rows count as one.
 */
function sampleOf(last: number): string {
  if (last <= sampled.starts * sampled.wells) return wellsOf('true');
  const starts = Array.from({ length: sampled.starts }, (_, index) => 1 + Math.floor((index * last) / sampled.starts));
  return starts
    .map((first) => `FROM (${wellsOf(`well_id BETWEEN ${first} AND ${first + sampled.wells - 1}`)})`)
    .join(' UNION ALL ');
}

/** Reads well and date of every row. */
export function measureOrder(session: SqlSession): Promise<TableOrder> {
  return oneRow(
    session,
    `SELECT coalesce(sum(rows), 0)::BIGINT AS rows, count(*) AS wells,
       coalesce(sum(rows) FILTER (NOT is_whole), 0)::BIGINT AS "looseRows", ${tailNights}, ${isUnderWay}
     FROM (${wellsOf('true')})`,
  );
}

interface LooseWell {
  readonly wellId: number;
  readonly rows: number;
}

async function takeStep(session: SqlSession): Promise<number | undefined> {
  const { from, last, rowsOfWell } = await oneRow<Record<'from' | 'last' | 'rowsOfWell', number>>(
    session,
    `SELECT coalesce(order_place, 0) AS "from", (SELECT coalesce(max(well_id), 0) FROM well_key) AS last,
       (SELECT count(*) FROM internal.daily_production) / greatest((SELECT count(*) FROM well_key), 1) AS "rowsOfWell"
     FROM warehouse`,
  );
  if (from >= last) {
    await keepLast(session, null);
    return undefined;
  }
  const lookedAt = Math.min(last, from + Math.max(1, Math.floor(rowsInSearch / Math.max(rowsOfWell, 1))));
  const wells = wellsOf(`well_id > ${from} AND well_id <= ${lookedAt}`);
  const loose = await session.rows<LooseWell>(
    `SELECT well_id AS "wellId", rows FROM (${wells}) WHERE NOT is_whole ORDER BY well_id`,
  );
  const chosen = fitting(loose);
  await keepLast(session, chosen.length < loose.length ? (chosen.at(-1)?.wellId ?? lookedAt) : lookedAt);
  return rewrite(session, chosen);
}

/** The first wells, up to {@link rowsInStep} rows; at least one. */
function fitting(wells: readonly LooseWell[]): readonly LooseWell[] {
  let rows = 0;
  const end = wells.findIndex((well, index) => (rows += well.rows) > rowsInStep && index > 0);
  return end === -1 ? wells : wells.slice(0, end);
}

async function keepLast(session: SqlSession, key: number | null): Promise<void> {
  await session.run('UPDATE warehouse SET order_place = $1 WHERE order_place IS DISTINCT FROM $1', [key]);
}

async function rewrite(session: SqlSession, wells: readonly LooseWell[]): Promise<number> {
  const expected = wells.reduce((sum, { rows }) => sum + rows, 0);
  if (expected === 0) return 0;
  const keys = wells.map(({ wellId }) => wellId);
  // The bounds are what the engine prunes by where the list is long.
  const isMoved = `well_id BETWEEN ${keys[0]} AND ${keys.at(-1)} AND well_id IN (${keys.join(', ')})`;
  await session.run(`CREATE TEMP TABLE moved_row AS FROM internal.daily_production WHERE ${isMoved}`);
  const counts = [
    await session.run(`DELETE FROM internal.daily_production WHERE ${isMoved}`),
    await session.run('INSERT INTO internal.daily_production FROM moved_row ORDER BY well_id, date, xid'),
  ];
  if (counts.some((count) => count !== expected)) {
    throw new Error(`${counts.join(' and ')} rows of ${expected} were taken out and added again: nothing was changed`);
  }
  return expected;
}
