/**
 * The order of `internal.daily_production`. The engine finds the rows of a well by the smallest and largest key of each
 * row group, so a well is found quickly where its rows lie in one piece. A commit adds its rows at the end, as one more
 * piece of each well; a step takes wells of several pieces out, and adds them again in order.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { StorageOrder, StorageTail, TableOrder } from '../../port/daily-production.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { readRows, runStatement } from '../file/sql.ts';

/** Rows that one step rewrites, unless a single well has more: a row group of them exceeds 64 MB of engine memory. */
const rowsInStep = 40_000;

/** Rows that one step looks at: some 10 ms. */
const rowsInSearch = 200_000;

/** The wells that tell how long the tail is: so many one after the other, at so many places. */
const sampled = { places: 8, wells: 32 } as const;

export function createStorageOrder(file: DatabaseFile): StorageOrder {
  return {
    tail: () => file.transact(measureTail),
    measure: () => file.transact(measureOrder),
    step: () => file.transact(takeStep),
  };
}

/**
 * By well, its rows and pieces, and whether it lies in one piece and by date. `lag` without an order follows the storage,
 * and holds no rows in memory. Places that deleted rows left count as a gap.
 */
const wellsOf = (isLookedAt: string): string => `
  SELECT well_id, count(*) AS rows, count(*) FILTER (before IS DISTINCT FROM well_id) AS pieces,
    max(row_id) - min(row_id) + 1 = count(*) AND NOT bool_or(coalesce(before = well_id AND date < date_before, false)) AS is_whole
  FROM (SELECT rowid AS row_id, well_id, date, lag(well_id) OVER () AS before, lag(date) OVER () AS date_before
        FROM internal.daily_production WHERE ${isLookedAt})
  GROUP BY well_id`;

const tailNights = `coalesce(sum(pieces - 1) / count(*), 0)::DOUBLE AS "tailNights"`;
const isUnderWay = `(SELECT order_place IS NOT NULL FROM warehouse) AS "isUnderWay"`;

async function measureTail(connection: DuckDBConnection): Promise<StorageTail> {
  const [keys] = await readRows<{ last: number }>(connection, 'SELECT coalesce(max(well_id), 0) AS last FROM well_key');
  const [row] = await readRows<StorageTail>(
    connection,
    `SELECT ${tailNights}, ${isUnderWay} FROM (${sampleOf(keys?.last ?? 0)})`,
  );
  if (row === undefined) throw new Error('a sum without a row');
  return row;
}

/**
 * {@link wellsOf} of some of the wells up to a key, or of all where they are few. Each place is a query of its own: a
 * condition for all of them is none that the engine prunes by, or a join, and the rows of a join are not in order. Pieces of
 * a well between which none of its neighbours in the sample has rows count as one.
 */
function sampleOf(last: number): string {
  if (last <= sampled.places * sampled.wells) return wellsOf('true');
  const places = Array.from({ length: sampled.places }, (_, place) => 1 + Math.floor((place * last) / sampled.places));
  return places
    .map((first) => `FROM (${wellsOf(`well_id BETWEEN ${first} AND ${first + sampled.wells - 1}`)})`)
    .join(' UNION ALL ');
}

/** Reads well and date of every row. */
export async function measureOrder(connection: DuckDBConnection): Promise<TableOrder> {
  const [row] = await readRows<TableOrder>(
    connection,
    `SELECT coalesce(sum(rows), 0)::BIGINT AS rows, count(*) AS wells,
       coalesce(sum(rows) FILTER (NOT is_whole), 0)::BIGINT AS "looseRows", ${tailNights}, ${isUnderWay}
     FROM (${wellsOf('true')})`,
  );
  if (row === undefined) throw new Error('a sum without a row');
  return row;
}

async function takeStep(connection: DuckDBConnection): Promise<number | undefined> {
  const [row] = await readRows<{ place: number; last: number; rowsOfWell: number }>(
    connection,
    `SELECT coalesce(order_place, 0) AS place, (SELECT coalesce(max(well_id), 0) FROM well_key) AS last,
       (SELECT count(*) FROM internal.daily_production) / greatest((SELECT count(*) FROM well_key), 1) AS "rowsOfWell"
     FROM warehouse`,
  );
  if (row === undefined) throw new Error('a warehouse without an identity');
  const { place, last, rowsOfWell } = row;
  if (place >= last) {
    await keepPlace(connection, null);
    return undefined;
  }
  const lookedAt = Math.min(last, place + Math.max(1, Math.floor(rowsInSearch / Math.max(rowsOfWell, 1))));
  const loose = await readRows<{ wellId: number; rows: number }>(
    connection,
    `SELECT well_id AS "wellId", rows FROM (${wellsOf(`well_id > ${place} AND well_id <= ${lookedAt}`)})
     WHERE NOT is_whole ORDER BY well_id`,
  );
  const chosen = fitting(loose);
  await keepPlace(connection, chosen.length < loose.length ? (chosen.at(-1)?.wellId ?? lookedAt) : lookedAt);
  return rewrite(connection, chosen);
}

/** The first wells, up to {@link rowsInStep} rows; at least one. */
function fitting<Well extends { readonly rows: number }>(wells: readonly Well[]): readonly Well[] {
  let rows = 0;
  const end = wells.findIndex((well, index) => (rows += well.rows) > rowsInStep && index > 0);
  return end === -1 ? wells : wells.slice(0, end);
}

async function keepPlace(connection: DuckDBConnection, place: number | null): Promise<void> {
  await runStatement(connection, 'UPDATE warehouse SET order_place = $1 WHERE order_place IS DISTINCT FROM $1', [
    place,
  ]);
}

async function rewrite(
  connection: DuckDBConnection,
  wells: ReadonlyArray<{ readonly wellId: number; readonly rows: number }>,
): Promise<number> {
  const expected = wells.reduce((sum, { rows }) => sum + rows, 0);
  if (expected === 0) return 0;
  const keys = wells.map(({ wellId }) => wellId);
  // The bounds are what the engine prunes by where the list is long.
  const isMoved = `well_id BETWEEN ${keys[0]} AND ${keys.at(-1)} AND well_id IN (${keys.join(', ')})`;
  await connection.run(`CREATE TEMP TABLE moved_row AS FROM internal.daily_production WHERE ${isMoved}`);
  const removed = await connection.run(`DELETE FROM internal.daily_production WHERE ${isMoved}`);
  const added = await connection.run(
    'INSERT INTO internal.daily_production FROM moved_row ORDER BY well_id, date, xid',
  );
  const counts = [removed.rowsChanged, added.rowsChanged];
  if (counts.some((count) => count !== expected)) {
    throw new Error(`${counts.join(' and ')} rows of ${expected} were taken out and added again: nothing was changed`);
  }
  return expected;
}
