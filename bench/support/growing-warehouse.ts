/** Warehouses of any size for bench/growth.bench.ts: filled by statements well by well, with a tail of nights. */
import { createHash } from 'node:crypto';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import type { WindowBatch } from '../../src/core/daily/merge.ts';
import { RowColumnsBuilder } from '../../src/core/daily/row-columns.ts';
import { measureFields, type DailyProductionRow, type Measure } from '../../src/core/daily/row.ts';
import { DAY_MS } from '../../src/core/time/window.ts';
import { isAmongKeys } from '../../src/warehouse/duckdb/file/session.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { rowGroupRows } from '../../src/warehouse/duckdb/file/database-file.ts';
import { scannedRows } from '../../test/support/scanned-rows.ts';

export interface Size {
  readonly wells: number;
  readonly days: number;
  /** Of the days, those that came night by night. */
  readonly nights: number;
}

/** 1970-01-01 plus so many days is the day 0 of every well. */
export const firstDay = 14_610;
/** Rows that one statement inserts. */
const rowsInInsert = 1_000_000;

/** Name of the well with a key from 1 on: all share fourteen characters. */
export function uwiOf(key: number): string {
  return `NO 15/9-F-${String(key).padStart(6, '0')} A`;
}

/** The same values as {@link rowOf}, in SQL over `key` and `day`. */
const measures = measureFields.map(({ kind, required }, index) => {
  if (!required && index % 3 === 0) return 'NULL';
  if (kind === 'boolean') return 'day % 2 = 0';
  if (kind === 'string') return `CASE WHEN day % 97 = 0 THEN 'PLANNED' END`;
  return kind === 'int32' ? 'day % 64' : `(day % 64) * ${index + 1} / 8.0`;
});

const rowsQuery = (keys: string, days: string): string => `
  SELECT key, uwi, md5(key || '/' || day)::UUID, make_timestamptz((${firstDay} + day) * ${DAY_MS}::BIGINT * 1000),
    DATE '1970-01-01' + (${firstDay} + day)::INTEGER, ${measures.join(', ')}, NULL, 'fill', 'fill', current_timestamp
  FROM (SELECT well_id AS key, uwi FROM well_key WHERE ${keys}), ${days} days(day) ORDER BY key, day`;

/** Makes a warehouse at the path, with watermarks and coverage. */
export async function fillWarehouse(path: string, { wells, days, nights }: Size): Promise<void> {
  const warehouse = createDuckdbWarehouse({ path, now: Date.now });
  await warehouse.check();
  await warehouse.close();
  await withFile(path, async (connection) => {
    const insert = async (keys: string, range: string): Promise<void> => {
      await connection.run(`INSERT INTO internal.daily_production ${rowsQuery(keys, range)}`);
    };
    await connection.run(
      `INSERT INTO well_key SELECT key, format('NO 15/9-F-{:06d} A', key) FROM range(1, ${wells + 1}) keys(key)`,
    );
    const wellsInInsert = Math.max(1, Math.floor(rowsInInsert / days));
    for (let key = 1; key <= wells; key += wellsInInsert) {
      await insert(`well_id >= ${key} AND well_id < ${key + wellsInInsert}`, `range(${days - nights})`);
    }
    for (let night = days - nights; night < days; night += 1) await insert('true', `range(${night}, ${night + 1})`);
    const lastDay = `DATE '1970-01-01' + ${firstDay + days}`;
    await connection.run(
      `INSERT INTO watermark (uwi, watermark, last_day) SELECT uwi, ${lastDay}, ${lastDay} - 1 FROM well_key`,
    );
    await connection.run(
      `INSERT INTO coverage SELECT uwi, DATE '1970-01-01' + ${firstDay}, ${lastDay} FROM well_key ORDER BY uwi`,
    );
  });
}

async function withFile<T>(path: string, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(path, { threads: '2', memory_limit: '2GB' });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return await work(connection);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Row groups that the engine reads for these wells and days, and all of them. */
export async function rowGroupsOf(
  path: string,
  keys: readonly number[],
  days: readonly [number, number],
): Promise<string> {
  const day = (number: number): string => `DATE '1970-01-01' + ${firstDay + number}`;
  const scanned = (connection: DuckDBConnection, where: string): Promise<number> =>
    scannedRows(connection, `SELECT sum(oil_rate) FROM internal.daily_production WHERE ${where}`);
  return withFile(path, async (connection) => {
    const own = `${isAmongKeys('well_id', keys)} AND date >= ${day(days[0])} AND date < ${day(days[1])}`;
    const [read, all] = [await scanned(connection, own), await scanned(connection, 'true')];
    return `${Math.ceil(read / rowGroupRows)} of ${Math.ceil(all / rowGroupRows)} row groups`;
  });
}

/** A verified read of some days of a well; `change` is added to the rates of a day. */
export function windowOf(
  unit: number,
  key: number,
  [from, to]: readonly [number, number],
  change: (key: number, day: number) => number,
): WindowBatch {
  const rows = new RowColumnsBuilder();
  for (let day = from; day < to; day += 1) rows.putRow(rows.next, rowOf(key, day, change(key, day)));
  const read = to - from;
  return {
    unit,
    uwi: uwiOf(key),
    window: { fromMs: (firstDay + from) * DAY_MS, toMs: (firstDay + to) * DAY_MS },
    timeZone: 'UTC',
    mode: 'incremental',
    isVerified: true,
    readDays: { fromDay: firstDay + from, toDay: firstDay + to },
    rows: rows.rows(),
    quarantined: [],
    counts: { read, repeated: 0, outsideWindow: 0, quarantined: 0, defaulted: 0, requests: 1 },
    notices: [],
  };
}

function rowOf(key: number, day: number, change: number): DailyProductionRow {
  const values = measureFields.map(({ kind, required }, index): Measure => {
    if (!required && index % 3 === 0) return null;
    if (kind === 'boolean') return day % 2 === 0;
    if (kind === 'string') return day % 97 === 0 ? 'PLANNED' : null;
    return kind === 'int32' ? day % 64 : ((day % 64) * (index + 1)) / 8 + (index === 1 ? change : 0);
  });
  const digits = createHash('md5').update(`${key}/${day}`).digest('hex');
  const xid = digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const instantMs = (firstDay + day) * DAY_MS;
  return { xid, instantMs, day: firstDay + day, measures: values, extras: null };
}
