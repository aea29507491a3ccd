/** `wellsync warehouse backup`: the copy has every row in its one file, and harms neither the warehouse nor another file. */
import { readdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { unpackOldWarehouse } from '../../support/old-warehouse.ts';
import { smallDisk, smallDiskLack } from '../../support/small-disk.ts';

let home: CliHome;

beforeEach(async () => {
  home = await cliHome();
  onTestFinished(() => home[Symbol.asyncDispose]());
});

const backUp = (...args: readonly string[]) => home.here(['warehouse', 'backup', ...args]);

async function makeWarehouse(): Promise<string> {
  const warehouse = createDuckdbWarehouse({ path: home.warehouseFile, now: Date.now });
  await warehouse.check();
  await warehouse.close();
  return home.warehouseFile;
}

const batchRows = 50_000;

/** Commits rows that stay in the log beside the file, as those of a killed program do. */
async function commitToLog(file: string, rows: number): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run('PRAGMA disable_checkpoint_on_shutdown');
  await connection.run(`SET checkpoint_threshold = '1TB'`);
  await connection.run('CREATE TABLE late (x DOUBLE)');
  // The engine writes a large batch into the file at once.
  for (let left = rows; left > 0; left -= batchRows) {
    await connection.run(`INSERT INTO late SELECT random() FROM range(${Math.min(left, batchRows)})`);
  }
  connection.closeSync();
  instance.closeSync();
  expect((await stat(`${file}.wal`)).size).toBeGreaterThan(rows);
}

async function lateRows(file: string): Promise<unknown> {
  const instance = await DuckDBInstance.create(file, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll('SELECT count(*)::INTEGER FROM late');
  connection.closeSync();
  instance.closeSync();
  return reader.getRows()[0]?.[0];
}

test('the rows of the log are in the copy, which has no log', async () => {
  await commitToLog(await makeWarehouse(), 1_000);
  const copy = path.join(home.folder, 'copy.duckdb');
  expect((await backUp(copy)).stderr).toBe('');
  expect(await lateRows(copy)).toBe(1_000);
  expect((await readdir(home.folder)).filter((name) => name.startsWith('copy'))).toEqual(['copy.duckdb']);
});

test('the rows of the log of a warehouse of an earlier schema are in the copy', async () => {
  await using old = await unpackOldWarehouse();
  await commitToLog(old.warehouseFile, 1_000);
  const copy = path.join(old.folder, 'copy.duckdb');
  expect((await backUp(copy, '--warehouse', `duckdb:${old.warehouseFile}`)).stdout).toContain('as it is');
  expect(await lateRows(copy)).toBe(1_000);
  expect((await readdir(old.folder)).filter((name) => name.startsWith('copy'))).toEqual(['copy.duckdb']);
});

test.each(['warehouse', 'link'])('a copy over the warehouse by a link is refused, opened as the %s', async (opened) => {
  const file = await makeWarehouse();
  const link = path.join(home.folder, 'link.duckdb');
  await symlink(file, link);
  const before = await stat(file);
  const at = opened === 'link' ? link : file;
  for (const target of [link, file]) {
    const { code, stderr } = await backUp(target, '--force', '--warehouse', `duckdb:${at}`);
    expect(stderr).toContain(`${target} is the warehouse itself: nothing was copied`);
    expect(code).toBe(2);
  }
  expect((await stat(link)).ino).toBe(before.ino);
});

test.each(['', '--force'])('a copy is not placed beside the log of another database %s', async (force) => {
  await makeWarehouse();
  const copy = path.join(home.folder, 'copy.duckdb');
  await writeFile(`${copy}.wal`, 'of another database');
  const { code, stderr } = await backUp(copy, ...(force === '' ? [] : [force]));
  expect(stderr).toContain(`${copy}.wal is the log of another database`);
  expect(code).toBe(2);
  expect((await readdir(home.folder)).filter((name) => name.startsWith('copy'))).toEqual(['copy.duckdb.wal']);
});

const lack = smallDiskLack();

describe.skipIf(lack !== undefined)(`onto a disk${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  test('that is full ends with exit code 5 and words, and leaves nothing', async () => {
    await makeWarehouse();
    using disk = smallDisk(2);
    disk.fill();
    const copy = path.join(disk.folder, 'copy.duckdb');
    const { code, stderr } = await backUp(copy);
    expect(stderr).toContain(`the copy ${copy} cannot be written: the disk is full`);
    expect(stderr).toContain('Nothing was copied.');
    expect(code).toBe(5);
    expect(await readdir(disk.folder)).toEqual(['ballast']);
  });

  test('with room for the files, and none to bring the log into the copy, is no copy', async () => {
    const file = await makeWarehouse();
    await commitToLog(file, 1_000_000);
    const bytes = (await stat(file)).size + (await stat(`${file}.wal`)).size;
    using disk = smallDisk(Math.ceil(bytes / 1_048_576) + 1);
    const copy = path.join(disk.folder, 'copy.duckdb');
    const { code, stderr } = await backUp(copy);
    expect(stderr).toContain(`the copy ${copy} cannot be written: `);
    expect(stderr).toContain('its disk is full');
    expect(code).toBe(5);
    expect(await readdir(disk.folder)).toEqual([]);
  });
});
