/** `wellsync warehouse`: what it holds, and a copy of it that no worker takes for the original. */
import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../../config/load.ts';
import { createApp } from '../../../src/app/app.ts';
import { unpackOldWarehouse } from '../../support/old-warehouse.ts';
import { cleanupBench, equipment, type CleanupBench } from '../../support/cleanup-cli.ts';

const runSchema = z.object({ runId: z.string() });
const backupSchema = z.object({
  warehouseId: z.string(),
  interrupted: z.array(z.string()),
  auditHead: z.object({ rows: z.number(), hash: z.string() }),
});
const infoSchema = z.object({ warehouseId: z.string(), service: z.string() });

/** A warehouse with a cleanup that is done and one that waits, and its copy. */
async function copied(bench: CleanupBench) {
  expect((await bench.run('cleanup', '--yes', '--apply', await bench.plan(), '--inline')).code).toBe(0);
  const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', await bench.plan()));
  const file = `${bench.home.folder}/copy.duckdb`;
  return { runId, file, backup: backupSchema.parse(await bench.json('warehouse', 'backup', file)) };
}

test('G6, G11: a copy has an id of its own, its unfinished runs are interrupted, and its audit holds the original', async () => {
  await using bench = await cleanupBench();
  const { runId, file, backup } = await copied(bench);
  const inCopy = ['--warehouse', `duckdb:${file}`, '--queue-prefix', `${bench.home.env['WELLSYNC_QUEUE_PREFIX']}-copy`];
  const original = infoSchema.parse(await bench.json('warehouse', 'info'));
  const copy = infoSchema.parse(await bench.json('warehouse', 'info', ...inCopy));
  expect(copy).toEqual({ warehouseId: backup.warehouseId, service: original.service });
  expect(copy.warehouseId).not.toBe(original.warehouseId);

  expect(backup.interrupted).toEqual([runId]);
  expect(await bench.json('runs', 'list', '--state', 'queued')).toMatchObject([{ runId }]);
  expect(await bench.json('runs', 'list', '--state', 'interrupted', ...inCopy)).toMatchObject([{ runId }]);
  const shown = await bench.run('runs', 'show', runId, ...inCopy);
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Interrupted by the copying of the warehouse: nothing had been done. The run goes on in the original.',
  );
  expect(shown.stdout).toContain(`wellsync runs retry ${runId}`);

  expect(backup.auditHead).toMatchObject({ rows: 8 });
  expect((await bench.run('runs', 'retry', runId, '--yes', '--inline')).code).toBe(0);
  const kept = ['audit', 'verify', '--kept', backup.auditHead.hash];
  expect(await bench.json(...kept)).toMatchObject({ intact: true });
  expect(await bench.json('audit', 'verify', '--kept', 'f'.repeat(64))).toMatchObject({ intact: false });
  expect(await bench.json(...kept, ...inCopy)).toMatchObject({ intact: true });

  const retried = await bench.run('runs', 'retry', runId, '--yes', '--inline', ...inCopy);
  expect(retried.stdout).toContain('4 targets = 0 deleted + 4 already gone');
  expect((await readdir(bench.home.folder)).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('a copy replaces no file, unless it is told to, and is never the warehouse itself', async () => {
  await using bench = await cleanupBench();
  const { file } = await copied(bench);
  const refused = await bench.run('warehouse', 'backup', file);
  expect(refused.stderr).toContain(`there is a file ${file} already: nothing was copied`);
  expect(refused.stderr).toContain('--force');
  expect(refused.code).toBe(2);
  const again = await bench.run('warehouse', 'backup', file, '--force');
  expect(again.stdout).toContain(`Copied to ${file}, as the warehouse `);
  expect(again.stdout).toContain('1 run interrupted in the copy.');
  expect(again.stdout).toMatch(/wellsync audit verify --kept [0-9a-f]{64}\n$/);
  expect((await bench.run('warehouse', 'backup', bench.home.warehouseFile, '--force')).code).toBe(2);
  const nowhere = await bench.run('warehouse', 'backup', `${bench.home.folder}/no/such/folder/copy.duckdb`);
  expect(nowhere.stderr).toContain('cannot be written: there is no such folder');
  expect(nowhere.code).toBe(2);
});

test('a copy that is made while others commit is whole, and has every commit before it', async () => {
  await using bench = await cleanupBench();
  await bench.run('export', 'time-series', '--equipment', equipment, '--inline');
  const config = loadConfig({ environment: bench.home.env, file: `${bench.home.folder}/wellsync.yaml` });
  await using app = createApp(config);
  const create = async (number: number): Promise<void> => {
    const request = { job: 'export wells', params: {}, service: bench.server.url, actor: 'me', requestedAtMs: number };
    await app.ledger.runs.create({ ...request, runId: `run ${number}` }, ['W']);
  };
  const commits = Array.from({ length: 20 }, (_, number) => create(number));
  await commits[4];
  const file = `${bench.home.folder}/copy.duckdb`;
  expect((await bench.run('warehouse', 'backup', file)).code).toBe(0);
  await Promise.all(commits);
  const count = 'SELECT count(*) AS runs, count(DISTINCT run_id) AS distinct FROM run';
  const [found] = z
    .array(z.object({ runs: z.number(), distinct: z.number() }))
    .parse(await bench.json('query', count, '--warehouse', `duckdb:${file}`));
  expect(found?.runs).toBeGreaterThanOrEqual(6);
  expect(found?.distinct).toBe(found?.runs);
});

test('says what the warehouse holds', async () => {
  await using bench = await cleanupBench();
  await copied(bench);
  const { stdout } = await bench.run('warehouse', 'info');
  expect(stdout).toContain(bench.home.warehouseFile);
  expect(stdout).toMatch(/^schema version +\d+$/m);
  expect(stdout).toMatch(new RegExp(`^service +${bench.server.url}$`, 'm'));
  expect(stdout).toMatch(/^deletion_audit +8$/m);
  expect(stdout).toMatch(/^history +whole$/m);
  const empty = await bench.run('warehouse', 'info', '--warehouse', `duckdb:${bench.home.folder}/none.duckdb`);
  expect(empty.stderr).toContain('there is no warehouse at');
  expect(empty.code).toBe(5);
});

test('a warehouse of an earlier version is described and copied as it is, and is not migrated', async () => {
  await using old = await unpackOldWarehouse();
  await using bench = await cleanupBench();
  const inOld = ['--warehouse', `duckdb:${old.warehouseFile}`];
  const file = `${old.folder}/copy.duckdb`;
  const expected = { schemaVersion: 8, isCurrent: false, service: null };
  expect(await bench.json('warehouse', 'info', ...inOld)).toMatchObject(expected);
  expect((await bench.run('warehouse', 'backup', file, ...inOld)).stdout).toContain('as it is');
  expect(await bench.json('warehouse', 'info', '--warehouse', `duckdb:${file}`)).toMatchObject(expected);
  expect(await bench.json('warehouse', 'info', ...inOld)).toMatchObject(expected);
});
