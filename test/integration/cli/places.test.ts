/** Where data folder and warehouse lie: never a second warehouse by accident, as under cron's home folder. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { pathsOf } from '../../../config/load.ts';
import { cliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const nightly = ['export', 'daily-production', '--uwi', UWI, '--inline'];
const here = path.resolve('.');
const set = { dataDir: 'wellsync-data', warehouseUrl: undefined };

test.each([
  ['of a file named anywhere at its folder', '/etc/wellsync/nightly.yaml', '/etc/wellsync/wellsync-data'],
  ['of config/wellsync.yaml at the folder above', '/srv/wells/config/wellsync.yaml', '/srv/wells/wellsync-data'],
  ['of config/wellsync.yaml in the working folder at that', 'config/wellsync.yaml', `${here}/wellsync-data`],
])('a relative path %s', (_, file, dataDir) => {
  const paths = pathsOf(set, { file, above: [] });
  expect(paths).toEqual({ dataDir, warehouseUrl: `duckdb:${dataDir}/warehouse.duckdb`, isWarehousePlaced: true });
});

test('a relative path of the environment or of a flag starts at the working folder, with a file too', () => {
  const file = '/etc/wellsync/nightly.yaml';
  const ofData = pathsOf({ ...set, dataDir: 'data' }, { file, above: [{ dataDir: 'data' }] });
  expect(ofData).toMatchObject({ dataDir: `${here}/data`, isWarehousePlaced: false });
  const given = { ...set, warehouseUrl: 'duckdb:w.duckdb' };
  const ofWarehouse = pathsOf(given, { file, above: [{ warehouse: { url: 'duckdb:w.duckdb' } }] });
  expect(ofWarehouse).toMatchObject({ warehouseUrl: `duckdb:${here}/w.duckdb`, isWarehousePlaced: false });
  expect(pathsOf(given, { file, above: [] }).warehouseUrl).toBe('duckdb:/etc/wellsync/w.duckdb');
});

test.each(['duckdb:md:secret', 'duckdb://host/w', 'duckdb:', 'postgres://user:word@host/db'])(
  'what is no path of a file stays as it is: %s',
  (warehouseUrl) => {
    expect(pathsOf({ ...set, warehouseUrl }, { file: undefined, above: [] }).warehouseUrl).toBe(warehouseUrl);
  },
);

test('without a terminal a relative path without its folder is refused, and nothing is made', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const env = { WELLSYNC_DATA_DIR: '' };
  const { code, stdout, stderr } = await home.run(nightly, { env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(`there is no warehouse at duckdb:${home.folder}/wellsync-data/warehouse.duckdb`);
  expect(stderr).toContain('WELLSYNC_CONFIG');
  expect(existsSync(`${home.folder}/wellsync-data`)).toBe(false);
  expect((await home.run(['worker'], { env })).code).toBe(2);
  expect((await home.run(['export', 'daily-production', '--uwi', UWI, '--dry-run'], { env })).code).toBe(2);
  for (const job of ['daily-production', 'time-series', 'wells']) {
    expect((await home.run(['export', job, '--from-warehouse', '--inline'], { env })).code).toBe(2);
  }
  expect(existsSync(`${home.folder}/wellsync-data`)).toBe(false);

  await mkdir(`${home.folder}/wellsync-data`);
  const made = await home.run(nightly, { env });
  expect(made).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`made at duckdb:${home.folder}/wellsync-data/`),
  });
});

test('the data folder of a configuration file is the same one in every working folder', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url, { config: 'dataDir: data\n' });
  const made = await home.run(nightly, { env: { WELLSYNC_DATA_DIR: '' } });
  expect(made.stderr).toContain(`made at duckdb:${home.folder}/data/warehouse.duckdb`);
  expect(made.stdout).toContain(`warehouse duckdb:${home.folder}/data/warehouse.duckdb`);
  expect(made.code).toBe(0);
});
