/** DuckDB's own behaviour: its file, its schema, and sessions on it within a process. */
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import { AbortedError, UnreachableError, UsageError } from '../../../src/core/base/errors.ts';
import { createWarehouse } from '../../../src/warehouse/create-warehouse.ts';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { schemaSteps, schemaVersion } from '../../../src/warehouse/duckdb/schema/migrations.ts';
import { ask, dailyRows, load, loadOne, reading, row, xidOf } from '../../support/warehouse-batches.ts';
import { openNewDuckdb, settings } from '../../support/warehouse-duckdb.ts';
import { freshWarehouse } from '../../support/warehouse-under-test.ts';
import { startHolder } from '../../support/warehouse-processes.ts';

/** Statements that create an empty file of an earlier schema version. */
function schemaOf(version: number): readonly string[] {
  return [
    'CREATE TABLE schema_version (version INTEGER, applied_at TIMESTAMPTZ)',
    ...schemaSteps.slice(0, version).flat(),
    `INSERT INTO schema_version SELECT unnest(range(1, ${version + 1})), TIMESTAMPTZ '2024-01-01 00:00:00Z'`,
  ];
}

/** Runs a statement as another program would, while no warehouse holds the file. */
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
    const epoch = (await ownership.takeOver(queueId, (await ownership.read()).epoch)) ?? -1;
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
    const error = await failure(ownership.takeOver('queue one', epoch));
    expect(error).toBeInstanceOf(UnreachableError);
    expect(String(error)).toContain(`${path}.beat cannot be written: a folder is in its place`);
    expect((await ownership.read()).epoch).toBe(epoch);
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
    expect(fault).toMatchObject({ code: 'warehouse-unreachable', action: { kind: 'first-export' } });
    expect(await failure(ask(test().warehouse, 'SELECT 1'))).toMatchObject({ code: 'warehouse-unreachable' });
  });

  it('of a newer schema is left alone', async () => {
    await test().warehouse.check();
    await test().warehouse.close();
    await runOutside(path, 'INSERT INTO schema_version VALUES (99, now())');
    const newer = test().another();
    for (const fault of [await failure(newer.check()), await failure(ask(newer, 'SELECT 1'))]) {
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
    expect(Array.isArray(await ask(warehouse, sql))).toBe(true);
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
        ...schemaOf(1),
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

  describe('of schema version 5', () => {
    async function migrated(...statements: readonly string[]) {
      await runOutside(path, [...schemaOf(5), ...statements].join(';\n'));
      const { warehouse } = test();
      expect(await warehouse.check()).toMatchObject({ schemaVersion });
      return warehouse;
    }

    const someRows = `INSERT INTO daily_production (uwi, xid, date, production_day, oil_rate, inserted_run_id) VALUES
      ('B', '${xidOf(3)}', '2024-02-01 00:00:00Z', '2024-02-01', 3, 'r1'), ('A', '${xidOf(2)}', '2024-01-09 00:00:00Z', '2024-01-09', 2, 'r1'),
      ('A', '${xidOf(1)}', '2024-01-08 00:00:00Z', '2024-01-08', 1, 'r1')`;

    it('G5: knows its pushes, which have no claim: one that is done, and one that has begun and goes on', async () => {
      const url = 'https://pds.example.com';
      const runs = ['old', 'going', 'next'].map(
        (runId) =>
          `INSERT INTO run (run_id, job, params, state, round, requested_at) VALUES
             ('${runId}', 'push network-pipes', '{"reading": {"form": "auto"}}', '${runId === 'old' ? 'done' : 'running'}', 0, '2024-01-01')`,
      );
      const pushed = (runId: string, sha: string, completedAt: string): string =>
        `INSERT INTO push (run_id, unit, file_sha256, fence, begun_at, completed_at, service_url)
           VALUES ('${runId}', 0, '${sha}', 1, '2024-01-01', ${completedAt}, '${url}')`;
      const { ledger } = await migrated(...runs, pushed('old', 'a', `'2024-01-02'`), pushed('going', 'b', 'NULL'));
      const begin = (runId: string, fileSha256: string) =>
        ledger.pushes.begin({
          runId,
          unit: 0,
          fileSha256,
          serviceUrl: url,
          form: 'auto',
          isAgain: false,
          begunAtMs: 0,
        });
      expect(await begin('next', 'a')).toEqual({ kind: 'pushed', runId: 'old' });
      expect(await begin('next', 'b')).toMatchObject({ kind: 'waits', runId: 'going' });
      expect(await begin('going', 'b')).toMatchObject({ kind: 'begun', fence: 2 });
      expect(await begin('next', 'b')).toMatchObject({ kind: 'waits', runId: 'going' });
    });

    it('keeps its rows, by well and day, under the same name and columns', async () => {
      const warehouse = await migrated(
        someRows,
        `INSERT INTO watermark VALUES ('A', '2024-01-10'), ('C', '2024-01-10')`,
      );
      expect(await ask(warehouse, 'SELECT uwi, xid, oil_rate, inserted_run_id FROM daily_production')).toEqual([
        ['A', xidOf(1), 1, 'r1'],
        ['A', xidOf(2), 2, 'r1'],
        ['B', xidOf(3), 3, 'r1'],
      ]);
      expect(await ask(warehouse, 'SELECT well_id, production_day FROM internal.daily_production')).toEqual([
        [1, '2024-01-08'],
        [1, '2024-01-09'],
        [2, '2024-02-01'],
      ]);
      expect(await ask(warehouse, 'FROM well_key ORDER BY well_id')).toEqual([
        [1, 'A'],
        [2, 'B'],
        [3, 'C'],
      ]);
      expect(await ask(warehouse, 'SELECT uwi, last_day FROM watermark ORDER BY uwi')).toEqual([
        ['A', '2024-01-09'],
        ['C', null],
      ]);
      expect(await ask(warehouse, 'SELECT production_month FROM feed_month ORDER BY 1')).toEqual([
        ['2024-01-01'],
        ['2024-02-01'],
      ]);
      expect(await ask(warehouse, `SELECT count(*) FROM daily_production_as_known('2100-01-01')`)).toEqual([[0]]);
    });

    it('is merged into as before', async () => {
      const warehouse = await migrated(someRows);
      const rows = [row(1, '2024-01-08', { oilRate: 1 }), row(2, '2024-01-09', { oilRate: 5 }), row(9, '2024-01-10')];
      const outcome = await loadOne(warehouse, reading(rows, { uwi: 'A' }));
      expect(outcome).toMatchObject({ counts: { inserted: 1, removed: 0 } });
      expect(await ask(warehouse, 'SELECT uwi, oil_rate FROM daily_production ORDER BY uwi, date')).toEqual([
        ['A', 1],
        ['A', 5],
        ['A', 0],
        ['B', 3],
      ]);
    });

    it('has the targets of a run without a plan as rows, and no list in the parameters of any run', async () => {
      const insert = 'INSERT INTO run (run_id, job, params, state, round, unit_count, requested_at) VALUES';
      const warehouse = await migrated(
        `${insert} ('new', 'export daily-production', '{"uwis": ["B", "A"], "nowMs": 5}', 'queued', 0, NULL, now())`,
        `${insert} ('planned', 'export wells', '{"targets": ["W1"], "allowShrink": false}', 'running', 0, 1, now())`,
        `${insert} ('cancelled', 'export time-series', '{"targets": ["E1", "E2", "E3"], "allowShrink": true}', 'cancelled', 0, NULL, now())`,
        `${insert} ('other', 'cleanup', '{"selection": "x", "targets": null}', 'done', 0, 0, now())`,
      );
      expect(await ask(warehouse, 'SELECT run_id, params::VARCHAR, target_count FROM run ORDER BY run_id')).toEqual([
        ['cancelled', '{"allowShrink":true}', 3],
        ['new', '{"nowMs":5}', 2],
        ['other', '{"selection": "x", "targets": null}', null],
        ['planned', '{"allowShrink":false}', 1],
      ]);
      expect(await ask(warehouse, 'FROM run_target ORDER BY place')).toEqual([
        ['new', 0, 'B'],
        ['new', 1, 'A'],
      ]);
    });

    it('knows of each push how its file was read, and that its unit keeps its counts', async () => {
      const warehouse = await migrated(
        `INSERT INTO run (run_id, job, params, state, round, unit_count, requested_at)
           VALUES ('p', 'push network-pipes', '{"reading": {"form": "long"}}', 'running', 0, 1, now())`,
        `INSERT INTO run_unit (run_id, unit, chunk, target, state) VALUES ('p', 0, 0, 'pipes.csv', 'open'), ('x', 0, 0, 'A', 'open')`,
        `INSERT INTO push (run_id, unit, file_sha256, fence, begun_at) VALUES ('p', 0, 'abc', 1, now())`,
      );
      expect(await ask(warehouse, 'SELECT file_sha256, form FROM push')).toEqual([['abc', 'long']]);
      expect(await ask(warehouse, 'SELECT run_id, keeps_counts FROM run_unit ORDER BY run_id')).toEqual([
        ['p', true],
        ['x', null],
      ]);
    });

    it('has an identity, the age of its first schema, and no service yet', async () => {
      const warehouse = await migrated();
      const columns = 'length(warehouse_id), service, epoch, queue_id, taken_at, created_at';
      expect(await ask(warehouse, `SELECT ${columns} FROM warehouse`)).toEqual([
        [36, null, 0, null, null, '2024-01-01T00:00:00Z'],
      ]);
    });
  });

  it('of schema version 6 is brought to this version, with marks for its months and numbers for what comes', async () => {
    await runOutside(
      path,
      [
        ...schemaOf(6),
        `INSERT INTO feed_month VALUES ('2024-01-01', '2024-02-01 00:00:00Z')`,
        `INSERT INTO daily_production_history (uwi, xid, noticed_at) VALUES ('B', '${xidOf(2)}', '2024-01-03 00:00:00Z'),
           ('A', '${xidOf(1)}', '2024-01-02 00:00:00Z')`,
      ].join(';\n'),
    );
    const { warehouse } = test();
    expect(await warehouse.check()).toMatchObject({ schemaVersion });
    const { feed } = warehouse.ledger;
    await loadOne(warehouse, reading([row(1, '2024-02-01')], { from: '2024-02-01', to: '2024-02-02' }));
    const { months, total } = await feed.due(2);
    expect([total, months.map(({ month }) => month)]).toEqual([2, ['2024-02', '2024-01']]);
    expect(new Set(months.flatMap(({ marks }) => marks)).size).toBe(2);
    expect([await feed.numberRestatements(1), await feed.numberRestatements(9)]).toEqual([1, 2]);
    const numbers = 'SELECT uwi, restatement_no FROM daily_production_history ORDER BY 2';
    expect(await ask(warehouse, numbers)).toEqual([
      ['A', 1],
      ['B', 2],
    ]);
  });

  it('gives every well a key of its own, once, and keeps rows by it out of sight of readers', async () => {
    const { warehouse } = test();
    await load(warehouse, [
      reading(dailyRows(2), { uwi: 'B' }),
      reading(dailyRows(1), { uwi: 'A', unit: 1 }),
      reading([row(7, '2024-02-07')], { uwi: 'B', unit: 2, from: '2024-02-01', to: '2024-03-01' }),
    ]);
    await load(warehouse, [reading([], { uwi: '0' }), reading(dailyRows(2), { uwi: 'A', unit: 1 })]);
    expect(await ask(warehouse, 'FROM well_key ORDER BY well_id')).toEqual([
      [1, 'A'],
      [2, 'B'],
      [3, '0'],
    ]);
    const wrong = 'FROM internal.daily_production d JOIN well_key k USING (uwi) WHERE d.well_id <> k.well_id';
    expect(await ask(warehouse, wrong)).toEqual([]);
    expect(await ask(warehouse, `SELECT count(*) FROM daily_production`)).toEqual([[5]]);
    const columns = await warehouse.query('FROM daily_production', async (result) => result.columns);
    expect(columns.map(({ name }) => name)).not.toContain('well_id');
  });

  it('keeps the columns of its schema version', async () => {
    await loadOne(test().warehouse, reading(dailyRows(1)));
    const columns = await ask(
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
