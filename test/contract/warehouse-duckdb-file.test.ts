/** What is DuckDB's own: its file, its schema, and turns at it within a process. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { AbortedError, UnreachableError, UsageError } from '../../src/core/errors.ts';
import { createWarehouse } from '../../src/warehouse/create-warehouse.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { schemaSteps, schemaVersion } from '../../src/warehouse/duckdb/migrations.ts';
import { ask, dailyRows, load, loadOne, reading, xidOf } from '../support/warehouse-batches.ts';
import { openTemporaryDuckdb, settings } from '../support/warehouse-duckdb.ts';
import { freshWarehouse } from '../support/warehouse-under-test.ts';
import { startHolder } from '../support/warehouse-processes.ts';

/** Runs a statement as another program would, while no warehouse has the file. */
async function runOutside(path: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

describe('the file of a DuckDB warehouse', () => {
  let path = '';
  const test = freshWarehouse(async () => {
    const opened = await openTemporaryDuckdb();
    path = opened.path;
    return opened;
  });

  async function failure(action: Promise<unknown>): Promise<unknown> {
    return action.then(
      () => 'it did not fail',
      (error: unknown) => error,
    );
  }

  it('is made with its directory at the first use', async () => {
    const deep = createDuckdbWarehouse({ ...settings, path: join(path, '..', 'a', 'b', 'w.duckdb') });
    expect(await deep.check()).toMatchObject({ dailyProductionRows: 0 });
    await deep.close();
  });

  it('is one for all warehouses of its path in a process, by whatever name', async () => {
    const { warehouse } = test();
    await warehouse.check();
    await symlink(path, `${path}.link`);
    const linked = createDuckdbWarehouse({ ...settings, path: `${path}.link` });
    await Promise.all(
      [warehouse, linked, test().another()].map((each, unit) =>
        load(each, [reading(dailyRows(5), { uwi: `W${unit}`, unit })]),
      ),
    );
    expect(await linked.check()).toMatchObject({ dailyProductionRows: 15 });
    await linked.close();
  });

  it('is let go of when idle, and by close', async () => {
    const { warehouse } = test();
    await warehouse.check();
    await using holder = await startHolder(path);
    expect(holder.pid).toBeGreaterThan(0);
    await holder.kill();
    await warehouse.check();
    await warehouse.close();
    await runOutside(path, 'SELECT 1');
    await warehouse.close();
    await expect(warehouse.check()).rejects.toThrow(/closed/);
  });

  it('held by another process for too long: says by which, and what to do', async () => {
    await test().warehouse.check();
    await test().warehouse.close();
    await using holder = await startHolder(path);
    const impatient = createDuckdbWarehouse({ ...settings, path, lockWaitMs: 100 });
    const fault = await failure(impatient.check());
    expect(fault).toMatchObject({
      name: 'TransientError',
      code: 'warehouse-busy',
      hint: expect.stringContaining('notebook'),
    });
    expect(String(fault)).toContain(`process ${holder.pid} `);
    expect(await failure(ask(impatient, 'SELECT 1'))).toMatchObject({ code: 'warehouse-busy' });
    await holder.kill();
    expect(await impatient.check()).toMatchObject({ schemaVersion });
    await impatient.close();
  });

  it('close gives up what waits for another process', async () => {
    await test().warehouse.check();
    await test().warehouse.close();
    await using holder = await startHolder(path);
    const patient = createDuckdbWarehouse({ ...settings, path });
    const waiting = failure(patient.check());
    await patient.close();
    expect(await waiting).toBeInstanceOf(AbortedError);
    expect(holder.pid).toBeGreaterThan(0);
  });

  it('that is not a DuckDB file, or not a file, cannot be reached', async () => {
    await writeFile(path, 'uwi,date\n'.repeat(2_000));
    const foreign = await failure(test().warehouse.check());
    expect(foreign).toBeInstanceOf(UnreachableError);
    expect(foreign).toMatchObject({
      message: `${path} is not a DuckDB file`,
      hint: expect.stringContaining('WELLSYNC_WAREHOUSE'),
    });
    expect(await failure(ask(test().warehouse, 'SELECT 1'))).toBeInstanceOf(UnreachableError);

    for (const place of [join(path, '..'), join(path, 'under-a-file.duckdb')]) {
      const warehouse = createDuckdbWarehouse({ ...settings, path: place });
      expect(await failure(warehouse.check())).toMatchObject({
        code: 'warehouse-unreachable',
        hint: expect.any(String),
      });
      await warehouse.close();
    }
  });

  it('that is not there yet cannot be queried, and is not made by it', async () => {
    const fault = await failure(ask(test().warehouse, 'SELECT 1'));
    expect(fault).toMatchObject({ code: 'warehouse-unreachable', hint: expect.stringContaining('export') });
    expect(await failure(ask(test().warehouse, 'SELECT 1'))).toMatchObject({ code: 'warehouse-unreachable' });
  });

  it('of a newer schema is left alone', async () => {
    await test().warehouse.check();
    await test().warehouse.close();
    await runOutside(path, 'INSERT INTO schema_version VALUES (99, now())');
    const fault = await failure(test().another().check());
    expect(fault).toMatchObject({ code: 'warehouse-unreachable', message: expect.stringContaining('version 99') });
  });

  it('with tables of somebody else under the same names is left alone', async () => {
    await runOutside(path, 'CREATE TABLE run (mine INTEGER)');
    const fault = await failure(test().warehouse.check());
    expect(fault).toMatchObject({ code: 'warehouse-unreachable', hint: expect.stringContaining('another one') });
    await test().warehouse.close();
    await runOutside(path, 'SELECT mine FROM run');
  });

  it('does not let a query reach beyond it', async () => {
    const { warehouse } = test();
    await warehouse.check();
    await mkdir(`${path}.out`);
    const beyond = [
      `COPY (SELECT 1) TO '${path}.out/x.csv'`,
      `ATTACH '${path}.other' AS other`,
      `EXPLAIN ANALYZE COPY (SELECT 1) TO '${path}.out/y.csv'`,
      `SET memory_limit = '10GB'`,
      `INSTALL httpfs`,
      `PRAGMA memory_limit = '10GB'`,
    ];
    for (const sql of beyond) expect(await failure(ask(warehouse, sql))).toBeInstanceOf(UsageError);
  });

  it('gives nested values and odd numbers as JSON can carry them', async () => {
    const { warehouse } = test();
    await warehouse.check();
    const sql = `SELECT [1, NULL], {'a': 12345678901234567890::HUGEINT}, MAP {'k': DATE '2024-01-01'}, 1.50::DECIMAL(9,2),
      'nan'::DOUBLE, TIMESTAMP '2024-01-01 10:00:00.5', TIMESTAMPTZ '2024-01-01 10:00:00+02', uuid() IS NULL, NULL`;
    const [values] = await ask(warehouse, sql);
    const expected = [[1, null], { a: '12345678901234567890' }, [{ key: 'k', value: '2024-01-01' }], '1.50', 'NaN'];
    expect(values).toEqual([...expected, '2024-01-01T10:00:00.5', '2024-01-01T08:00:00Z', false, null]);
  });

  it('of schema version 1 is brought to this version, with what its watermarks say of coverage', async () => {
    await runOutside(
      path,
      [
        'CREATE TABLE schema_version (version INTEGER, applied_at TIMESTAMPTZ)',
        'INSERT INTO schema_version VALUES (1, now())',
        ...(schemaSteps[0] ?? []),
        `INSERT INTO daily_production (uwi, production_day) VALUES ('A', '2024-01-05'), ('A', '2024-01-07'), ('B', '2024-01-09')`,
        `INSERT INTO run (run_id, job, state, round, requested_at) VALUES ('r', 'export', 'done', 0, '2024-01-01 00:00:00Z')`,
        `INSERT INTO daily_production_history (uwi, xid, production_day, oil_rate, change, run_id, noticed_at)
           VALUES ('A', '${xidOf(1)}', '2024-01-05', 1, 'updated', 'r1', '2024-01-06 00:00:00Z'),
                  ('A', '${xidOf(1)}', '2024-01-05', 2, 'updated', 'r2', '2024-01-07 00:00:00Z')`,
        `INSERT INTO watermark VALUES ('A', '2024-01-10 04:00:00Z'), ('B', '2024-01-10 04:00:00Z'), ('C', '2024-01-10 00:00:00Z')`,
      ].join(';\n'),
    );
    const { warehouse } = test();
    expect(await warehouse.check()).toMatchObject({ schemaVersion, dailyProductionRows: 3 });
    expect(await ask(warehouse, 'FROM coverage')).toEqual([['A', '2024-01-05', '2024-01-09']]);
    const known = `SELECT oil_rate FROM daily_production_as_known('2024-01-06 12:00:00Z') WHERE oil_rate IS NOT NULL`;
    expect(await ask(warehouse, known)).toEqual([[2]]);
  });

  it('keeps the columns of its schema version', async () => {
    await loadOne(test().warehouse, reading(dailyRows(1)));
    const columns = await ask(
      test().warehouse,
      `SELECT table_name, string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_index)
       FROM duckdb_columns() WHERE NOT internal GROUP BY table_name ORDER BY table_name`,
    );
    expect(Object.fromEntries(columns)).toMatchSnapshot();
  });
});

describe('the address of a warehouse', () => {
  it('duckdb:PATH is a DuckDB file', async () => {
    const warehouse = createWarehouse('duckdb:/tmp/never-opened.duckdb', settings);
    expect(warehouse.location).toBe('duckdb:/tmp/never-opened.duckdb');
    await warehouse.close();
  });

  it.each(['postgres://user:hunter2@host/db', 'warehouse.duckdb', 'duckdb:', ''])(
    'G10: %j is refused, without its secrets',
    (address) => {
      const attempt = () => createWarehouse(address, settings);
      expect(attempt).toThrow(UsageError);
      expect(attempt).toThrow(/^(?!.*hunter2)/);
    },
  );
});
