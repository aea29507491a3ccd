/** Queries of an operator on PostgreSQL, which the server keeps to reading. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { AbortedError, UsageError } from '../../../../src/core/base/errors.ts';
import { createPostgresWarehouse } from '../../../../src/warehouse/postgres/postgres-warehouse.ts';
import { parsePostgresAddress } from '../../../../src/warehouse/postgres/server/connections.ts';
import { databaseOfTest, postgresLack } from '../../../support/postgres/database.ts';
import { temporaryPostgres } from '../../../support/postgres/warehouse.ts';
import { ask, dailyRows, loadOne, reading } from '../../../support/warehouse-batches.ts';
import { freshWarehouse } from '../../../support/warehouse-under-test.ts';

const password = (): Promise<undefined> => Promise.resolve(undefined);

const lack = await postgresLack('newest');

describe.skipIf(lack !== undefined)(`a query on PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  const test = freshWarehouse(temporaryPostgres('newest'));

  it.each([
    'SELECT 1; COMMIT; DROP TABLE run',
    'SELECT 1; ROLLBACK; BEGIN READ WRITE; DELETE FROM run; COMMIT',
    `SELECT set_config('transaction_read_only', 'off', true)`,
    `WITH gone AS (DELETE FROM run RETURNING run_id) SELECT * FROM gone`,
    'SELECT * FROM run FOR UPDATE',
    `SELECT nextval(pg_get_serial_sequence('well_key', 'well_id'))`,
    'COPY run TO STDOUT',
    'SET TRANSACTION READ WRITE',
  ])('cannot write: %s', async (sql) => {
    const { warehouse } = test();
    await loadOne(warehouse, reading(dailyRows(3)));
    await expect(ask(warehouse, sql)).rejects.toThrow(UsageError);
    expect(await ask(warehouse, 'SELECT count(*) FROM run')).toEqual([[1]]);
    expect(await warehouse.check()).toMatchObject({ dailyProductionRows: 3 });
  });

  it('is taken back: a notification that it sends reaches nobody', async () => {
    const database = await databaseOfTest();
    const warehouse = createPostgresWarehouse({ address: parsePostgresAddress(database.url), password, retryMs: 0 });
    const listener = new Client({ connectionString: database.url });
    const heard: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload));
    await listener.connect();
    try {
      await warehouse.check();
      await listener.query('LISTEN told');
      expect(await ask(warehouse, `SELECT pg_notify('told', 'by the query')`)).toHaveLength(1);
      // Notifications come in the order of their commits.
      await database.run(`SELECT pg_notify('told', 'after the query')`);
      await expect.poll(() => heard).toContain('after the query');
      expect(heard).toEqual(['after the query']);
    } finally {
      await listener.end();
      await warehouse.close();
    }
  });

  it('ends when it is interrupted, and the connection serves the next one', async () => {
    const { warehouse } = test();
    await warehouse.check();
    const interrupted = new AbortController();
    const slow = warehouse.query('SELECT pg_sleep(60)', ({ rows }) => firstOf(rows), interrupted.signal);
    setTimeout(() => interrupted.abort(), 200);
    await expect(slow).rejects.toThrow(AbortedError);
    expect(await ask(warehouse, 'SELECT 1')).toEqual([[1]]);
  });

  it('gives what JSON has no number for as text, and the digits of a NUMERIC', async () => {
    const { warehouse } = test();
    await warehouse.check();
    const sql = `SELECT 'NaN'::FLOAT8, '-Infinity'::FLOAT8, 0.1::FLOAT8, 1.10::NUMERIC, '{"a": 1.10}'::JSON, ARRAY['a', 'b']`;
    expect(await ask(warehouse, sql)).toEqual([['NaN', '-Infinity', 0.1, '1.10', '{"a": 1.10}', ['a', 'b']]]);
  });

  it('gives bytes, days and instants as text, in lists too, whatever the time zone of this host', async () => {
    const { warehouse } = test();
    await warehouse.check();
    const sql = `SELECT '\\x00ff'::BYTEA, ARRAY['\\x00ff'::BYTEA], ARRAY[DATE '2024-01-31', NULL],
      ARRAY[TIMESTAMPTZ '2024-01-31 23:00+01'], ARRAY[9007199254740993, 7], ARRAY[1.10], ARRAY['NaN'::FLOAT8, 0.5],
      ARRAY[ARRAY[JSON '{"a": 1.10}']]`;
    expect(await ask(warehouse, sql)).toEqual([
      [
        '\\x00ff',
        ['\\x00ff'],
        ['2024-01-31', null],
        ['2024-01-31T22:00:00Z'],
        ['9007199254740993', 7],
        ['1.10'],
        ['NaN', 0.5],
        [['{"a": 1.10}']],
      ],
    ]);
  });

  it('is written to a file as CSV and as NDJSON, and refused as Parquet with words', async () => {
    const { warehouse } = test();
    await loadOne(warehouse, reading(dailyRows(2)));
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-query-'));
    const sql = 'SELECT production_day AS day, oil_rate, NULL AS none FROM daily_production ORDER BY 1';
    try {
      const csv = path.join(folder, 'rows.csv');
      expect(await warehouse.copyQuery(sql, { path: csv, format: 'csv', isGzip: false })).toBe(2);
      expect(await readFile(csv, 'utf8')).toBe('day,oil_rate,none\n2024-01-01,1,\n2024-01-02,2,\n');
      const ndjson = path.join(folder, 'rows.ndjson.gz');
      expect(await warehouse.copyQuery(sql, { path: ndjson, format: 'ndjson', isGzip: true })).toBe(2);
      expect(gunzipSync(await readFile(ndjson)).toString()).toContain(
        '{"day":"2024-01-01","oil_rate":1,"none":null}\n',
      );
      const parquet = { path: path.join(folder, 'rows.parquet'), format: 'parquet', isGzip: false } as const;
      await expect(warehouse.copyQuery(sql, parquet)).rejects.toThrow(/no Parquet/);
      const nowhere = { path: path.join(folder, 'none', 'rows.csv'), format: 'csv', isGzip: false } as const;
      await expect(warehouse.copyQuery(sql, nowhere)).rejects.toThrow(/there is no such folder/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

async function firstOf<T>(rows: AsyncIterable<T>): Promise<T | undefined> {
  for await (const row of rows) return row;
  return undefined;
}
