/** What the engine reads for the conditions of a batch: a condition by which it skips no row group reads the whole table. */
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { isAmongKeys, isBetweenInstants } from '../../../src/warehouse/duckdb/file/session.ts';
import { rowGroupRows } from '../../../src/warehouse/duckdb/file/database-file.ts';
import { scannedRows } from '../../support/scanned-rows.ts';

const rowGroups = 20;
const rowsOfWell = 1_024;
const wellsOfGroup = rowGroupRows / rowsOfWell;
const allRows = rowGroups * rowGroupRows;

/** Wells with keys from 0 on, one after the other, each with a row a day. */
async function withWells(work: (connection: DuckDBConnection) => Promise<void>): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(
      `CREATE TABLE t AS SELECT (i // ${rowsOfWell})::INTEGER AS well_id,
         make_timestamptz((i % ${rowsOfWell}) * 86400000000) AS date, random() AS value FROM range(${allRows}) r(i)`,
    );
    await work(connection);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

async function rowGroupsRead(connection: DuckDBConnection, condition: string): Promise<number> {
  return (await scannedRows(connection, `SELECT sum(value) FROM t WHERE ${condition}`)) / rowGroupRows;
}

const range = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, key) => first + key);

describe('the wells of a batch', () => {
  it.each([
    ['in one piece', range(5 * wellsOfGroup, wellsOfGroup), 1],
    [
      'in one piece, with some that came years later',
      [...range(5 * wellsOfGroup, wellsOfGroup), 1_300, 2_200, 2_201],
      3,
    ],
    ['here and there', [0, 700, 1_500, 2_390], 4],
    ['as many as a night has, in pieces', range(0, 4 * wellsOfGroup).map((key) => (key < 240 ? key : key + 1_000)), 5],
  ])('%s, are read from their row groups alone', async (_title, keys, most) => {
    await withWells(async (connection) => {
      expect(await rowGroupsRead(connection, 'true')).toBe(rowGroups);
      const read = await rowGroupsRead(connection, isAmongKeys('well_id', keys));
      expect(read).toBeGreaterThan(0);
      expect(read).toBeLessThanOrEqual(most);
      const both = `${isAmongKeys('well_id', keys)} AND ${isBetweenInstants('date', 0, 7 * 86_400_000)}`;
      expect(await rowGroupsRead(connection, both)).toBeLessThanOrEqual(most);
      const [[found]] = (await connection.runAndReadAll(`SELECT count(*) FROM t WHERE ${both}`)).getRowsJS() as [
        [bigint],
      ];
      expect(Number(found)).toBe(7 * keys.length);
    });
  });

  it('are all found where they are more than a list takes', async () => {
    await withWells(async (connection) => {
      const keys = range(0, 5_000).map((key) => (key < 2_000 ? key : key + 20));
      expect(isAmongKeys('well_id', keys)).not.toContain(' IN ');
      const [[found]] = (
        await connection.runAndReadAll(`SELECT count(DISTINCT well_id) FROM t WHERE ${isAmongKeys('well_id', keys)}`)
      ).getRowsJS() as [[bigint]];
      expect(Number(found)).toBe(allRows / rowsOfWell);
    });
  });
});
