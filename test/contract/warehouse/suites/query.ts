/** The reading side of the port: the description of the warehouse, and queries of the operator. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../../src/core/base/errors.ts';
import { askAsOperator, dailyRows, dayOf, loadOne, reading, row } from '../../../support/warehouse-batches.ts';
import { freshWarehouse, type OpenWarehouse } from '../../../support/warehouse-under-test.ts';

export function describeQuery(open: OpenWarehouse): void {
  const test = freshWarehouse(open);

  describe('the check', () => {
    it('makes an empty warehouse of this version, and says what is in it', async () => {
      const { warehouse } = test();
      const empty = await warehouse.check();
      expect(empty).toEqual({
        engine: expect.stringMatching(/\d/),
        schemaVersion: expect.any(Number),
        dailyProductionRows: 0,
      });
      await loadOne(warehouse, reading(dailyRows(3)));
      expect(await warehouse.check()).toEqual({ ...empty, dailyProductionRows: 3 });
    });
  });

  describe('a query', () => {
    it('names its columns with their types, and gives days and instants as ISO text', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading([row(1, dayOf(1), { choke: 32, isDualFlow: true })]));
      const sql =
        'SELECT production_day AS day, date, oil_rate, choke, is_dual_flow, gauge_pressure FROM daily_production';
      const columns = await warehouse.query(sql, (result) => Promise.resolve(result.columns));
      expect(columns.map(({ name }) => name)).toEqual([
        'day',
        'date',
        'oil_rate',
        'choke',
        'is_dual_flow',
        'gauge_pressure',
      ]);
      expect(columns[0]?.type).toBe('DATE');
      expect(await askAsOperator(warehouse, sql)).toEqual([['2024-01-01', '2024-01-01T00:00:00Z', 0, 32, true, null]]);
    });

    it('gives whole numbers as numbers where they are safe, else as text', async () => {
      const { warehouse } = test();
      await warehouse.check();
      const sql =
        'SELECT CAST(9007199254740991 AS BIGINT), CAST(9007199254740992 AS BIGINT), count(*), sum(1) FROM run';
      expect(await askAsOperator(warehouse, sql)).toEqual([[9_007_199_254_740_991, '9007199254740992', 0, null]]);
    });

    it('streams: rows come while the rest is not read, and may be left', async () => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(31)));
      const crossed =
        'SELECT a.oil_rate FROM daily_production a, daily_production b, daily_production c, daily_production d';
      const first = await warehouse.query(crossed, async ({ rows }) => {
        for await (const each of rows) return each;
        return undefined;
      });
      expect(first).toHaveLength(1);
      expect(await loadOne(warehouse, reading(dailyRows(31)))).toMatchObject({ counts: { unchanged: 31 } });
    });

    it.each([
      `INSERT INTO watermark VALUES ('x', NULL, NULL)`,
      `DELETE FROM daily_production`,
      `UPDATE run SET job = 'x'`,
      `DROP TABLE run`,
      `CREATE TABLE mine (i INTEGER)`,
      `SELECT 1; DROP TABLE run`,
      `WITH x AS (SELECT 1) INSERT INTO watermark SELECT 'x', NULL, NULL`,
      `FROM enable_logging('QueryLog', storage = 'file', storage_path = '/tmp/never')`,
      `SELECT * FROM "Enable_Logging" /* so */ ()`,
      `FROM query('FROM disable' || '_logging()')`,
      `FROM force_checkpoint()`,
      `SELECT * FROM main.enable_logging('QueryLog')`,
      `SELECT * FROM main.query('SELECT 1')`,
      `SELECT * FROM system.main."query"('SELECT 1')`,
      `SELECT * FROM system . force_checkpoint()`,
      `FROM query /* a /* b */ */ ('SELECT 1')`,
      `FROM query -- a\r('SELECT 1')`,
      `SELECT write_log('a line')`,
      `EXPLAIN SELECT 1`,
    ])('refuses what would write: %s', async (sql) => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)));
      await expect(askAsOperator(warehouse, sql)).rejects.toThrow(UsageError);
      expect(await warehouse.check()).toMatchObject({ dailyProductionRows: 3 });
    });

    it('makes no folder for an export of the database that it refuses', async () => {
      const { warehouse } = test();
      await warehouse.check();
      const folder = path.join(tmpdir(), `wellsync-export-${randomUUID()}`);
      for (const lead of ['', '-- a remark\n', ' /* SELECT */ ', '/* /* */ SELECT */ ', '-- a remark\r']) {
        await expect(askAsOperator(warehouse, `${lead}EXPORT DATABASE '${folder}' --\nSELECT`)).rejects.toThrow(
          UsageError,
        );
        expect(existsSync(folder)).toBe(false);
      }
    });

    it.each(['-- a remark\nSELECT 1', '/* one /* two */ */ (SELECT 1)', 'SELECT 1 AS query', 'TABLE run'])(
      'reads %j',
      async (sql) => {
        const { warehouse } = test();
        await warehouse.check();
        expect(Array.isArray(await askAsOperator(warehouse, sql))).toBe(true);
      },
    );

    it.each([
      ['SELEC 1', /syntax/i],
      ['SELECT oil FROM daily_production', /oil/],
      [`SELECT CAST(uwi AS INTEGER) FROM daily_production`, /15\/9/],
      ['', /statement/],
    ])('says what is wrong with %j in the words of the engine', async (sql, words) => {
      const { warehouse } = test();
      await loadOne(warehouse, reading(dailyRows(3)));
      const fault = await askAsOperator(warehouse, sql).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(UsageError);
      expect(String(fault)).toMatch(words);
    });

    it('passes on what the reader of its rows throws', async () => {
      const { warehouse } = test();
      await warehouse.check();
      const use = () => Promise.reject(new RangeError('mine'));
      await expect(warehouse.query('SELECT 1', use)).rejects.toThrow(RangeError);
    });
  });
}
