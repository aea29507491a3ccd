/** A warehouse of schema 8 with unfinished runs of every job is copied whole; further steps of the schema are applied once. */
import { existsSync } from 'node:fs';
import { copyFile, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AbortedError, UnreachableError, UsageError } from '../../../src/core/base/errors.ts';
import { copyWarehouse } from '../../../src/warehouse/two-warehouses.ts';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import {
  readExpected,
  contentOf,
  copyOfOld,
  type OldWarehouse,
  unpackOldWarehouse,
} from '../../support/old-warehouse.ts';
import { sessionOf } from '../../../src/warehouse/duckdb/file/session.ts';
import { migrate, readKnownVersion, schemaVersion } from '../../../src/warehouse/duckdb/schema.ts';
import { allOf, ask } from '../../support/warehouse-batches.ts';
import { openNewDuckdb, settings } from '../../support/warehouse-duckdb.ts';

/** A warehouse of schema 8, and the path of its copy: for tests that only read them. */
let sharedOld: OldWarehouse;
let sharedCopy: string;
beforeAll(async () => {
  sharedOld = await unpackOldWarehouse();
  sharedCopy = await copyOfOld(sharedOld);
});
afterAll(async () => {
  await sharedOld?.[Symbol.asyncDispose]();
});

test('a warehouse that an earlier version made is copied with its runs, their open units, its rows and its audit', async () => {
  const { asMade, pushRunId } = await readExpected();
  const warehouse = createDuckdbWarehouse({ ...settings, path: sharedCopy });
  try {
    const { runs: ledger, deletions } = warehouse.ledger;
    const { runs: listed } = await ledger.list({ limit: 100 });
    expect(listed.map(({ job, state }) => [job, state]).toReversed()).toEqual(
      asMade.runs.map(({ job, state }) => [job, state]),
    );
    const unfinished = listed.filter(({ state }) => state === 'queued' || state === 'running');
    for (const { runId, unitCount, targetCount, settled } of unfinished) {
      const chunks = await ledger.openChunks(runId);
      const open = chunks.reduce((units, { openUnits }) => units + openUnits, 0);
      const sums = await ledger.totals(runId);
      expect([sums.units.open, sums.units.total, settled]).toEqual([open, unitCount ?? 0, undefined]);
      const targets = (await allOf(ledger.targets(runId))).flat();
      expect(targets).toHaveLength(unitCount === undefined ? (targetCount ?? -1) : 0);
    }
    for (const { runId, state, settled } of listed) {
      if (unfinished.some((run) => run.runId === runId)) continue;
      const report = (await ledger.read(runId))?.report;
      expect(report).toMatchObject({ runId, state });
      expect(settled).toEqual({ units: report?.units, counts: report?.counts });
    }
    expect(
      await ask(warehouse, `FROM run WHERE json_exists(params, '$.uwis') OR json_exists(params, '$.targets')`),
    ).toEqual([]);
    const { runs, warehouse: rows } = await contentOf((sql) => ask(warehouse, sql));
    expect(runs).toEqual(asMade.runs);
    expect(rows).toEqual(asMade.warehouse);
    const { head, broken } = await deletions.verify(asMade.audit.head);
    expect({ broken, ...head }).toEqual({ broken: undefined, rows: asMade.audit.rows, hash: asMade.audit.head });
    expect(await ledger.read(pushRunId)).toMatchObject({
      params: { file: `${sharedOld.folder}/pipes.csv`, rejectsFolder: `${sharedOld.dataDir}/rejects` },
    });
  } finally {
    await warehouse.close();
  }
});

test('the fixture has an unfinished run of each job, and one that no worker has planned', async () => {
  const { asMade } = await readExpected();
  const unfinished = asMade.runs.filter(({ state }) => state === 'queued' || state === 'running');
  expect(unfinished.map(({ job, state, units, open }) => [job, state, open > 0 && open < units])).toEqual([
    ['push network-pipes', 'running', false],
    ['cleanup', 'running', true],
    ['export daily-production', 'running', true],
    ['export daily-production --gaps', 'running', true],
    ['export time-series', 'running', true],
    ['export wells', 'running', true],
    ['export daily-production', 'queued', false],
  ]);
  const warehouse = createDuckdbWarehouse({ ...settings, path: sharedCopy });
  try {
    const [push] = await ask(
      warehouse,
      `SELECT checkpoint IS NOT NULL, completed_at IS NULL, count(chunk) > 1
       FROM run JOIN push USING (run_id) JOIN push_ledger USING (run_id) WHERE state = 'running' GROUP BY ALL`,
    );
    expect(push).toEqual([true, true, true]);
    const audited = `SELECT event, count(*)::INTEGER FROM run JOIN deletion_audit USING (run_id) WHERE state = 'running' GROUP BY ALL ORDER BY 1`;
    expect(await ask(warehouse, audited)).toEqual([
      ['intent', 8],
      ['outcome', 4],
    ]);
    const plans = await warehouse.ledger.cleanupPlans.list(10);
    expect(plans.filter(({ applied }) => applied === undefined)).toHaveLength(1);
    expect(plans.filter(({ applied }) => applied?.by === 'operator@example')).toHaveLength(2);
  } finally {
    await warehouse.close();
  }
});

test('a warehouse of an earlier version is refused for work with the way out, read, and left as it is', async () => {
  await using old = await unpackOldWarehouse();
  const warehouse = createDuckdbWarehouse({ ...settings, path: old.warehouseFile });
  try {
    const refused = await warehouse.check().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UnreachableError);
    expect(refused).toMatchObject({
      message: expect.stringMatching(/is of schema version 8, from before the first release/) as string,
      hint: expect.stringMatching(/^Copy it to a new one: wellsync warehouse copy duckdb:/) as string,
    });
    expect(await ask(warehouse, 'SELECT count(*) > 0 FROM daily_production')).toEqual([[true]]);
    await copyOfOld(old);
    expect(await warehouse.describe()).toMatchObject({ schemaVersion: 8, isCurrent: false });
  } finally {
    await warehouse.close();
  }
});

test('a copy to a file goes on where it was stopped, has its name once it is whole, and replaces no file', async () => {
  await using old = await unpackOldWarehouse();
  const to = path.join(old.folder, 'new.duckdb');
  const ends = { from: `duckdb:${old.warehouseFile}`, to: `duckdb:${to}` };
  const stop = new AbortController();
  const stopped = copyWarehouse(ends, settings, {
    onStep: (table) => {
      if (table === 'coverage') stop.abort();
    },
    signal: stop.signal,
  });
  await expect(stopped).rejects.toThrow(AbortedError);
  expect(existsSync(to)).toBe(false);
  const steps: string[] = [];
  const onStep = (table: string, what: string): void => void (what === 'copied' && steps.push(table));
  const copied = await copyWarehouse(ends, settings, { onStep });
  expect(steps).toContain('run_unit');
  expect(steps).not.toContain('internal.daily_production');
  expect(copied.find(({ table }) => table === 'internal.daily_production')?.rows).toBe(1_138);
  expect(await readdir(old.folder)).not.toContain('new.duckdb.copying');
  await expect(copyWarehouse(ends, settings, { onStep })).rejects.toThrow(/there is a file .*new\.duckdb already/);
});

test('a copy that was killed between its end and its name goes on, and is refused once it is another warehouse', async () => {
  await using old = await unpackOldWarehouse();
  await runIn(old.warehouseFile, reversedVersions);
  const [to, half] = ['new.duckdb', 'new.duckdb.copying'].map((name) => path.join(old.folder, name)) as [
    string,
    string,
  ];
  const ends = { from: `duckdb:${old.warehouseFile}`, to: `duckdb:${to}` };
  const silent = { onStep: () => undefined };
  const withoutHistory = (tables: Awaited<ReturnType<typeof copyWarehouse>>) =>
    tables.filter(({ table }) => table !== 'daily_production_history');
  const copied = await copyWarehouse(ends, settings, silent);
  await rename(to, half);
  const again = await copyWarehouse(ends, settings, silent);
  expect(withoutHistory(again)).toEqual(withoutHistory(copied));
  expect(await readdir(old.folder)).toContain('new.duckdb');
  await rename(to, half);
  await runIn(half, 'UPDATE watermark SET verified_at = now()');
  await expect(copyWarehouse(ends, settings, silent)).rejects.toThrow(
    'not empty: it is a copy of this one, and watermark of one of the two was changed since',
  );
  await runIn(half, 'UPDATE warehouse SET epoch = epoch + 1');
  await expect(copyWarehouse(ends, settings, silent)).rejects.toThrow('not empty: well_key has rows');
});

test('what is no warehouse, of an unknown schema or half a copy is refused as the source of a copy, with the reason', async () => {
  await using old = await unpackOldWarehouse();
  const copyOf = (name: string) =>
    copyWarehouse({ from: `duckdb:${name}`, to: `duckdb:${old.folder}/new.duckdb` }, settings, {
      onStep: () => undefined,
    });
  const empty = path.join(old.folder, 'empty.duckdb');
  await runIn(empty, 'CREATE TABLE something (n INTEGER)');
  await expect(copyOf(empty)).rejects.toThrow(`there is no warehouse in duckdb:${empty}`);
  const half = path.join(old.folder, 'half.duckdb');
  await copyFile(old.warehouseFile, half);
  await runIn(half, 'CREATE TABLE internal.copied_table (name VARCHAR)');
  await expect(copyOf(half)).rejects.toThrow('the warehouse to copy is an unfinished copy itself');
  const left = path.join(old.folder, 'new.duckdb.copying');
  await copyFile(old.warehouseFile, left);
  await expect(copyOf(left)).rejects.toThrow(/new\.duckdb\.copying is what an earlier copy to .* left/);
  await rm(left);
  for (const [change, fault] of [
    ['CREATE TABLE mine (n INTEGER)', 'the tables mine would be left out of a copy: nothing was copied'],
    [
      'DROP TABLE mine; ALTER TABLE coverage ADD COLUMN n INTEGER',
      /^the table coverage has the columns .*, n here, and/,
    ],
  ] as const) {
    await runIn(old.warehouseFile, change);
    const refused = await copyOf(old.warehouseFile).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UsageError);
    expect(refused).toMatchObject({
      message: expect.stringMatching(fault) as string,
      hint: expect.any(String) as string,
    });
  }
  await runIn(old.warehouseFile, 'DELETE FROM schema_version WHERE version > 5');
  await expect(copyOf(old.warehouseFile)).rejects.toThrow(/is of schema version 5, from before the first release/);
});

async function runIn(file: string, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

/** As hosts with other clocks left them, of one record. */
const xid = '00000000-0000-0000-0000-000000000001';
const reversedVersions = `INSERT INTO daily_production_history (uwi, xid, change, known_from, noticed_at) VALUES
       ('late', '${xid}', 'updated', '2024-01-01 00:00:00Z', '2024-01-10 00:00:00Z'),
       ('late', '${xid}', 'updated', '2024-01-10 00:00:00Z', '2024-01-05 00:00:00Z'),
       ('late', '${xid}', 'removed', '2024-01-05 00:00:00Z', '2024-01-12 00:00:00Z')`;

test('versions that ended before they began end where the next one begins, in a copy', async () => {
  await using old = await unpackOldWarehouse();
  await runIn(old.warehouseFile, reversedVersions);
  const warehouse = createDuckdbWarehouse({ ...settings, path: await copyOfOld(old) });
  try {
    const spans = `SELECT known_from::DATE, noticed_at::DATE FROM daily_production_history WHERE uwi = 'late' ORDER BY 1`;
    expect(await ask(warehouse, spans)).toEqual([
      ['2024-01-01', '2024-01-05'],
      ['2024-01-05', '2024-01-12'],
      ['2024-01-10', '2024-01-05'],
    ]);
  } finally {
    await warehouse.close();
  }
});

/** The version before it had no `check_change`. */
const versionBefore = 12;

/** The steps of this version, which were applied, and one that a later version might have. */
const laterSteps = [[], [], ['CREATE TABLE later (n INTEGER)', 'INSERT INTO later VALUES (1)']];

test('G2: a warehouse of the version before is described as it is, and brought to this one: alerts of all wells are to be made', async () => {
  const { path: file, dispose } = await openNewDuckdb();
  const before = await DuckDBInstance.create(file);
  const writer = await before.connect();
  await migrate(sessionOf(writer), file, Date.now());
  const findings = ['1', '2', '2'].map(
    (well, day) =>
      `INSERT INTO check_result VALUES ('negative', 'WELL ${well}', DATE '2024-01-01' + ${day}, 'oil_rate', -1, 0, 'info', NULL, now())`,
  );
  for (const statement of [
    'DROP TABLE check_change',
    `DELETE FROM schema_version WHERE version > ${versionBefore}`,
    `UPDATE warehouse SET time_zone = 'America/Chicago', rate_basis = 'operated-day'`,
    ...findings,
    `INSERT INTO alert BY NAME SELECT '1' AS alert_id, 'check' AS kind, 'check' AS target_kind, 'WELL 3 negative' AS target,
       'WELL 3' AS owner, 'open' AS state, 'info' AS severity, 'negative' AS cause, '' AS summary, '{}' AS detail, 1 AS size,
       1 AS reported_size, 'info' AS reported_severity, now() AS opened_at, '' AS opened_by, now() AS seen_at, '' AS seen_by,
       'opened' AS change, 1 AS change_no, now() AS changed_at, '' AS changed_by`,
  ]) {
    await writer.run(statement);
  }
  writer.closeSync();
  before.closeSync();
  const warehouse = createDuckdbWarehouse({ ...settings, path: file });
  expect(await warehouse.describe()).toMatchObject({
    schemaVersion: versionBefore,
    isCurrent: false,
    timeZone: 'America/Chicago',
    rateBasis: 'operated-day',
  });
  await warehouse.check();
  expect(await warehouse.describe()).toMatchObject({ schemaVersion, isCurrent: true, timeZone: 'America/Chicago' });
  expect(await ask(warehouse, 'SELECT uwi FROM check_change ORDER BY uwi')).toEqual([
    ['WELL 1'],
    ['WELL 2'],
    ['WELL 3'],
  ]);
  await warehouse.close();
  await dispose();
});

test('G2: a further step is applied once, also to a log that is read back after a kill; an older program refuses it', async () => {
  const { path: file, dispose } = await openNewDuckdb();
  const killed = `${file}.killed`;
  const instance = await DuckDBInstance.create(file, { checkpoint_threshold: '1GB' });
  const connection = await instance.connect();
  expect(await migrate(sessionOf(connection), file, Date.now())).toBe(0);
  for (const found of [schemaVersion, schemaVersion + 1]) {
    expect(await migrate(sessionOf(connection), file, Date.now(), laterSteps)).toBe(found);
  }
  for (const suffix of ['', '.wal']) await copyFile(`${file}${suffix}`, `${killed}${suffix}`);
  connection.closeSync();
  instance.closeSync();
  const again = await DuckDBInstance.create(killed);
  const reader = await again.connect();
  expect(await migrate(sessionOf(reader), killed, Date.now(), laterSteps)).toBe(schemaVersion + 1);
  expect((await reader.runAndReadAll('SELECT n FROM later')).getRows()).toEqual([[1]]);
  await expect(readKnownVersion(sessionOf(reader), killed)).rejects.toThrow(`knows up to ${schemaVersion}`);
  await expect(migrate(sessionOf(reader), killed, Date.now())).rejects.toThrow(`knows up to ${schemaVersion}`);
  reader.closeSync();
  again.closeSync();
  await dispose();
});
