/** Daily production as many nights leave it in storage, and what must stay the same when it is put in order. */
import { DuckDBInstance } from '@duckdb/node-api';
import type { TableOrder } from '../../src/warehouse/port/daily-production.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';
import { ask } from './warehouse-batches.ts';

/** Rows by statements of another program: `days` from day `from` on, well by well, then night by night, each well a day. */
export async function fillByNights(
  file: string,
  size: {
    readonly wells: number;
    readonly from?: number;
    readonly days: number;
    readonly nights: number;
    readonly extras?: string;
  },
): Promise<void> {
  const { wells, from: first = 0, days, nights, extras = 'NULL' } = size;
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const add = (from: number, to: number): Promise<unknown> =>
    connection.run(
      `INSERT INTO internal.daily_production (well_id, uwi, xid, date, production_day, oil_rate, extras)
         SELECT well_id, uwi, md5(uwi || day)::UUID, TIMESTAMPTZ '2020-01-01 00:00:00Z' + to_days(day::INTEGER),
           DATE '2020-01-01' + day::INTEGER, day, ${extras}
         FROM well_key, range(${from}, ${to}) days(day) ORDER BY well_id, day`,
    );
  try {
    await connection.run(
      `INSERT INTO well_key SELECT key + 1, format('NO 15/9-F-{:04d}', key) FROM range(${wells}) keys(key) ON CONFLICT DO NOTHING`,
    );
    await add(first, first + days);
    for (let night = 0; night < nights; night += 1) await add(first + days + night, first + days + night + 1);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Steps until the last well was looked at; returns the number of rows that were rewritten. */
export async function putInOrder({ ledger: { order } }: WarehouseHandle): Promise<number> {
  for (let total = 0; ;) {
    const rows = await order.step();
    if (rows === undefined) return total;
    total += rows;
  }
}

export const inOrder: Pick<TableOrder, 'tailNights' | 'looseRows' | 'isUnderWay'> = {
  tailNights: 0,
  looseRows: 0,
  isUnderWay: false,
};

const tables = ['daily_production', 'daily_production_history', 'coverage', 'watermark', 'quarantine', 'feed_month'];

/** Every row of the tables for readers, in an order of its own. */
export async function contentOf(warehouse: WarehouseHandle): Promise<readonly unknown[]> {
  const each = tables.map((table) => `SELECT '${table}' AS place, to_json(t)::VARCHAR AS content FROM ${table} t`);
  return ask(warehouse, `${each.join(' UNION ALL ')} ORDER BY 1, 2`);
}

/** One figure for every value of every row, for tables that are too large to be compared row by row. */
export async function fingerprintOf(warehouse: WarehouseHandle): Promise<unknown> {
  return ask(warehouse, 'SELECT count(*), count(DISTINCT xid), bit_xor(hash(d)), sum(hash(d)) FROM daily_production d');
}
