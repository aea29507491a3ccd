/** DuckDB's own behaviour: its file, its schema, and sessions on it within a process. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { AbortedError, UnreachableError, UsageError } from '../../../src/core/base/errors.ts';
import { createWarehouse } from '../../../src/warehouse/create-warehouse.ts';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { createBeatFile } from '../../../src/warehouse/duckdb/beat-file.ts';
import {
  type DatabaseFile,
  rowGroupRows,
  shareDatabaseFile,
} from '../../../src/warehouse/duckdb/file/database-file.ts';
import { schemaVersion } from '../../../src/warehouse/duckdb/schema.ts';
import { createOwnership } from '../../../src/warehouse/sql/ledger/ownership-store.ts';
import {
  askAsOperator,
  dailyRows,
  guard,
  load,
  loadOne,
  planned,
  reading,
  row,
} from '../../support/warehouse-batches.ts';
import { openNewDuckdb, settings } from '../../support/warehouse-duckdb.ts';
import { freshWarehouse } from '../../support/warehouse-under-test.ts';
import { startHolder } from '../../support/warehouse-processes.ts';

/** Runs a statement as another program would, while no warehouse holds the file. */
async function runOutside(path: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

/** As DuckDB computes it for whole words of 8 bytes. */
function checksumOf(bytes: Buffer): bigint {
  let sum = 5381n;
  for (let at = 0; at < bytes.length; at += 8) {
    sum ^= BigInt.asUintN(64, bytes.readBigUInt64LE(at) * 0xbf58476d1ce4e5b9n);
  }
  return sum;
}

describe('the file of a DuckDB warehouse', () => {
  let path = '';
  const test = freshWarehouse(async () => {
    const opened = await openNewDuckdb();
    path = opened.path;
    return opened;
  });

  async function failure(action: Promise<unknown>): Promise<unknown> {
    return action.then(
      () => 'it did not fail',
      (error: unknown) => error,
    );
  }

  async function takenBy(queueId: string) {
    const { ownership } = test().warehouse.ledger;
    const epoch = (await ownership.takeOver(queueId, (await ownership.read()).epoch, 'redis')) ?? -1;
    return { ownership, epoch };
  }
  const beatText = () => readFile(`${path}.beat`, 'utf8');

  it('G11: a beat from the future counts as one of now, and becomes old from then on', async () => {
    const { ownership, epoch } = await takenBy('queue one');
    const atMs = Date.UTC(5138, 10, 16);
    await writeFile(`${path}.beat`, JSON.stringify({ queueId: 'queue one', epoch, atMs }));
    expect(await ownership.beatAgeMs()).toBe(0);
    const dated = JSON.parse(await beatText()) as { atMs: number };
    expect(dated).toMatchObject({ queueId: 'queue one', epoch });
    expect(dated.atMs).toBeLessThanOrEqual(Date.now());
  });

  it('G11: a damaged beat does not end the queue that has the warehouse', async () => {
    const { ownership, epoch } = await takenBy('queue one');
    for (const text of ['{', JSON.stringify({ queueId: 'none', epoch: epoch + 9, atMs: 8e15 })]) {
      await writeFile(`${path}.beat`, text);
      await ownership.beat('queue one', epoch);
      expect(JSON.parse(await beatText())).toMatchObject({ queueId: 'queue one', epoch });
    }
  });

  it('G11: a folder in the place of the beat is an error with its path, and no takeover', async () => {
    const { ownership } = test().warehouse.ledger;
    const { epoch } = await ownership.read();
    await mkdir(`${path}.beat`);
    const error = await failure(ownership.takeOver('queue one', epoch, 'redis'));
    expect(error).toBeInstanceOf(UnreachableError);
    expect(String(error)).toContain(`${path}.beat cannot be written: a folder is in its place`);
    expect((await ownership.read()).epoch).toBe(epoch);
  });

  it('G11: a takeover whose commit fails leaves no beat: nobody would have to wait for a queue that has nothing', async () => {
    const { ownership, epoch } = await takenBy('queue one');
    await ownership.endBeat('queue one', epoch);
    const file = shareDatabaseFile({ ...settings, path });
    const failing: DatabaseFile = {
      ...file,
      transact: (work) =>
        file.transact(async (session) => {
          await work(session);
          throw new Error('the disk is gone');
        }),
    };
    const error = await failure(
      createOwnership(failing, createBeatFile(path, Date.now)).takeOver('queue two', epoch, 'redis'),
    );
    expect(String(error)).toContain('the disk is gone');
    expect(await ownership.beatAgeMs()).toBeUndefined();
    expect(await ownership.read()).toMatchObject({ queueId: 'queue one', epoch });
    await file.release();
  });

  it('G11: a takeover that fails before its beat leaves that of another worker of its queue', async () => {
    const { ownership } = test().warehouse.ledger;
    const { epoch: seen } = await ownership.read();
    await ownership.takeOver('queue one', seen, 'redis');
    const file = shareDatabaseFile({ ...settings, path });
    const away: DatabaseFile = { ...file, transact: () => Promise.reject(new Error('the file is held')) };
    const error = await failure(
      createOwnership(away, createBeatFile(path, Date.now)).takeOver('queue one', seen, 'redis'),
    );
    expect(String(error)).toContain('the file is held');
    expect(await ownership.beatAgeMs()).toBeDefined();
    await file.release();
  });

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
      name: 'OutageError',
      code: 'warehouse-busy',
      hint: expect.stringContaining('notebook'),
    });
    expect(String(fault)).toContain(`process ${holder.pid} `);
    process.kill(holder.pid, 'SIGSTOP');
    const held = await failure(askAsOperator(impatient, 'SELECT 1'));
    expect(held).toMatchObject({ code: 'warehouse-busy' });
    if (existsSync('/proc/self/status')) expect(held).toMatchObject({ hint: expect.stringContaining('kill -CONT') });
    await holder.kill();
    expect(await impatient.check()).toMatchObject({ schemaVersion });
    await impatient.close();
  });

  it('held by another process: work that was asked for side by side waits side by side', async () => {
    await test().warehouse.check();
    await test().warehouse.close();
    await using holder = await startHolder(path);
    let polls = 0;
    const log = { info: () => undefined, debug: () => (polls += 1) };
    const impatient = createDuckdbWarehouse({ ...settings, path, lockWaitMs: 1_500, log });
    const waits = Array.from({ length: 4 }, () => failure(impatient.check()));
    await waits[0];
    const pollsOfFirst = polls;
    expect(pollsOfFirst).toBeGreaterThan(0);
    expect(await Promise.all(waits)).toEqual(Array(4).fill(expect.objectContaining({ code: 'warehouse-busy' })));
    expect(polls).toBe(pollsOfFirst);
    // What is asked for afterwards has a wait of its own.
    await failure(impatient.check());
    expect(polls).toBeGreaterThan(pollsOfFirst);
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

  it('of a later storage version is named as such, and stays as it is', async () => {
    const { warehouse } = test();
    await warehouse.check();
    await warehouse.close();
    const file = await readFile(path);
    // The first block of 4 KiB begins with its checksum; the version follows the word DUCK.
    file.writeBigUInt64LE(99n, 12);
    file.writeBigUInt64LE(checksumOf(file.subarray(8, 4_096)), 0);
    await writeFile(path, file);
    const later = createDuckdbWarehouse({ ...settings, path });
    expect(await failure(later.check())).toMatchObject({
      code: 'warehouse-unreachable',
      message: expect.stringMatching(
        /warehouse\.duckdb has storage version 99 of a later DuckDB; this wellsync reads up to \d+$/,
      ) as string,
      hint: expect.stringContaining('COPY FROM DATABASE') as string,
    });
    await later.close();
    expect((await readFile(path)).equals(file)).toBe(true);
  });

  it('that is not a DuckDB file, or not a file, cannot be reached', async () => {
    await writeFile(path, 'uwi,date\n'.repeat(2_000));
    const foreign = await failure(test().warehouse.check());
    expect(foreign).toBeInstanceOf(UnreachableError);
    expect(foreign).toMatchObject({
      message: `${path} is not a DuckDB file`,
      hint: expect.stringContaining('WELLSYNC_WAREHOUSE'),
    });
    expect(await failure(askAsOperator(test().warehouse, 'SELECT 1'))).toBeInstanceOf(UnreachableError);

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
    const fault = await failure(askAsOperator(test().warehouse, 'SELECT 1'));
    expect(fault).toMatchObject({ code: 'warehouse-unreachable', action: { kind: 'first-export' } });
    expect(await failure(askAsOperator(test().warehouse, 'SELECT 1'))).toMatchObject({ code: 'warehouse-unreachable' });
  });

  it('of a newer schema is left alone', async () => {
    await test().warehouse.check();
    await test().warehouse.close();
    await runOutside(path, 'INSERT INTO schema_version VALUES (99, now())');
    const newer = test().another();
    for (const fault of [await failure(newer.check()), await failure(askAsOperator(newer, 'SELECT 1'))]) {
      expect(fault).toMatchObject({ code: 'warehouse-unreachable', message: expect.stringContaining('version 99') });
    }
  });

  it('with tables of somebody else under the same names is left alone', async () => {
    await runOutside(path, 'CREATE TABLE run (mine INTEGER)');
    const fault = await failure(test().warehouse.check());
    expect(fault).toMatchObject({ code: 'warehouse-unreachable', hint: expect.stringContaining('another one') });
    await test().warehouse.close();
    await runOutside(path, 'SELECT mine FROM run');
  });

  it.each(['from (values (1))', 'SHOW TABLES'])('reads %j', async (sql) => {
    const { warehouse } = test();
    await warehouse.check();
    expect(Array.isArray(await askAsOperator(warehouse, sql))).toBe(true);
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
    for (const sql of beyond) expect(await failure(askAsOperator(warehouse, sql))).toBeInstanceOf(UsageError);
  });

  it('gives nested values and odd numbers as JSON can carry them', async () => {
    const { warehouse } = test();
    await warehouse.check();
    const sql = `SELECT [1, NULL], {'a': 12345678901234567890::HUGEINT}, MAP {'k': DATE '2024-01-01'}, 1.50::DECIMAL(9,2),
      'nan'::DOUBLE, TIMESTAMP '2024-01-01 10:00:00.5', TIMESTAMPTZ '2024-01-01 10:00:00+02', uuid() IS NULL, NULL`;
    const [values] = await askAsOperator(warehouse, sql);
    const expected = [[1, null], { a: '12345678901234567890' }, [{ key: 'k', value: '2024-01-01' }], '1.50', 'NaN'];
    expect(values).toEqual([...expected, '2024-01-01T10:00:00.5', '2024-01-01T08:00:00Z', false, null]);
  });

  it('gives every well a key of its own, once, and keeps rows by it out of sight of readers', async () => {
    const { warehouse } = test();
    await load(warehouse, [
      reading(dailyRows(2), { uwi: 'B' }),
      reading(dailyRows(1), { uwi: 'A', unit: 1 }),
      reading([row(7, '2024-02-07')], { uwi: 'B', unit: 2, from: '2024-02-01', to: '2024-03-01' }),
    ]);
    await load(warehouse, [reading([], { uwi: '0' }), reading(dailyRows(2), { uwi: 'A', unit: 1 })]);
    expect(await askAsOperator(warehouse, 'FROM well_key ORDER BY well_id')).toEqual([
      [1, 'A'],
      [2, 'B'],
      [3, '0'],
    ]);
    const wrong = 'FROM internal.daily_production d JOIN well_key k USING (uwi) WHERE d.well_id <> k.well_id';
    expect(await askAsOperator(warehouse, wrong)).toEqual([]);
    expect(await askAsOperator(warehouse, `SELECT count(*) FROM daily_production`)).toEqual([[5]]);
    const columns = await warehouse.query('FROM daily_production', async (result) => result.columns);
    expect(columns.map(({ name }) => name)).not.toContain('well_id');
  });

  it('tells what fits into the row group that is begun, behind the commits that are asked for', async () => {
    const { warehouse } = test();
    const { dailyProduction } = warehouse;
    expect(dailyProduction.rowsThatFit()).toBe(rowGroupRows);
    await loadOne(warehouse, reading(dailyRows(3)));
    expect(dailyProduction.rowsThatFit()).toBe(rowGroupRows - 3);
    const windows = [reading(dailyRows(2), { uwi: 'B' })];
    const runId = await planned(warehouse, windows);
    const committing = dailyProduction.commit({ runId, windows, shrink: guard });
    expect(dailyProduction.rowsThatFit()).toBe(rowGroupRows - 5);
    await committing;
    expect(dailyProduction.rowsThatFit()).toBe(rowGroupRows - 5);
  });

  it('a commit that failed takes no room', async () => {
    const { warehouse } = test();
    const { dailyProduction } = warehouse;
    const overlapping = [reading(dailyRows(2)), reading(dailyRows(2), { unit: 1 })];
    const runId = await planned(warehouse, overlapping);
    const commit = dailyProduction.commit({ runId, windows: overlapping, shrink: guard });
    expect(dailyProduction.rowsThatFit()).toBe(rowGroupRows - 4);
    await expect(commit).rejects.toThrow(/overlap/);
    expect(dailyProduction.rowsThatFit()).toBe(rowGroupRows);
  });

  it('keeps the columns of its schema version', async () => {
    await loadOne(test().warehouse, reading(dailyRows(1)));
    const columns = await askAsOperator(
      test().warehouse,
      `SELECT CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || table_name AS name,
         string_agg(column_name || ' ' || data_type, ', ' ORDER BY column_index)
       FROM duckdb_columns() WHERE NOT internal GROUP BY name ORDER BY name`,
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

  it.each(['mysql://user:hunter2@host/db', 'postgres://user:hunter2@host', 'warehouse.duckdb', 'duckdb:', ''])(
    'G10: the database location %j is refused, without its secrets',
    (address) => {
      const attempt = () => createWarehouse(address, settings);
      expect(attempt).toThrow(UsageError);
      expect(attempt).toThrow(/^(?!.*hunter2)/);
    },
  );
});
