/** A part of the app is missing or unusable: a sentence, a remedy, exit code 5, and nothing begun. */
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { type CliHome, cliHome } from '../../support/cli.ts';
import type { CommandResult } from '../../support/command-result.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const exportInline = ['export', 'daily-production', '--uwi', UWI, '--inline'];

function expectFailure(result: CommandResult, code: number, ...words: readonly string[]): void {
  for (const expected of words) expect(result.stderr).toContain(expected);
  expect(result.stderr).not.toMatch(/^\s+at /m);
  expect(result.stdout).toBe('');
  expect(result.code).toBe(code);
}

async function expectNoRun(home: CliHome): Promise<void> {
  if (!existsSync(home.warehouseFile)) return;
  expect(JSON.parse((await home.here(['runs', 'list', '--json'])).stdout)).toEqual([]);
}

/** A port that nobody listens on. */
async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 1;
}

describe('the service', () => {
  test('that is not there is told before anything is begun', async () => {
    const url = `http://127.0.0.1:${await deadPort()}`;
    await using home = await cliHome(url);
    const result = await home.here(exportInline);
    expectFailure(result, 5, `the service at ${url} cannot be reached: nothing answers there`, 'WELLSYNC_SERVICE_URL');
    await expectNoRun(home);
  });

  test('that speaks no TLS at an https address is told', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url.replace('http:', 'https:'));
    expectFailure(await home.here(exportInline), 5, 'cannot be reached: it does not speak TLS there');
  });

  test.each([[exportInline], [['worker']]])('whose address is not set is asked for by %j', async (args) => {
    await using home = await cliHome();
    expectFailure(await home.here(args), 2, 'the address of the service is not set', 'wellsync testing-server');
  });

  test('that refuses the token fails the run, says so, and keeps the token out of it (G10)', async () => {
    await using server = await startWithTenDays({ requiredToken: 'the-right-one' });
    await using home = await cliHome(server.url);
    const result = await home.run([...exportInline, '--log-level', 'trace'], {
      env: { WELLSYNC_SERVICE_TOKEN: 'a-wrong-one' },
    });
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('Failed: ');
    expect(result.stdout).toContain('401');
    expect(result.stdout).toContain('wellsync runs retry');
    expect(result.stdout + result.stderr).not.toContain('a-wrong-one');
  });
});

describe('Redis', () => {
  const nowhere = async () => ({ WELLSYNC_REDIS_URL: `redis://:pass-word@127.0.0.1:${await deadPort()}` });

  test.each([[exportInline], [['worker']]])('that is not there stops %j', async (args) => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const result = await home.here(args, { env: await nowhere() });
    expectFailure(result, 5, 'cannot be used: nothing answers there', 'WELLSYNC_REDIS_URL');
    expect(result.stderr).not.toContain('pass-word');
    await expectNoRun(home);
  });

  test('that is not there leaves query and a list of ended runs as they are', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    expect((await home.here(exportInline)).code).toBe(0);
    const env = await nowhere();
    expect((await home.here(['query', 'SELECT 1', '--json'], { env })).code).toBe(0);
    expect((await home.here(['runs', 'list'], { env })).code).toBe(0);
  });
});

describe('the warehouse', () => {
  test('that is another file is left as it is', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const file = await home.write('letter.txt', 'Dear reader, this is not a database. '.repeat(500));
    const result = await home.here([...exportInline, '--warehouse', `duckdb:${file}`]);
    expectFailure(result, 5, 'letter.txt is not a DuckDB file', 'WELLSYNC_WAREHOUSE');
  });

  test('that another process holds is waited for, then told with who holds it', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const config = await home.write('patience.yaml', 'warehouse:\n  lockWaitMs: 300\n');
    const holder = await DuckDBInstance.create(home.warehouseFile);
    const result = await home.run([...exportInline, '--config', config]);
    holder.closeSync();
    expectFailure(result, 5, `process ${process.pid}`, 'holds the warehouse', 'Close the notebook');
    await expectNoRun(home);
  });

  test('that another program holds keeps a list of runs waiting for 3 s at most, and says so', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const holder = await DuckDBInstance.create(home.warehouseFile);
    const result = await home.run(['runs', 'list']);
    holder.closeSync();
    const told = /holds the warehouse .*: waiting for it until [\d:]+Z at most/;
    expect(result.stderr).toMatch(told);
    expectFailure(result, 5, `process ${process.pid}`, 'waited 3 s', 'Close the notebook');
  });

  test.each([
    ['mysql://user:pass-word@db/prod', 'mysql is not supported'],
    ['postgres://user:pass-word@db', 'it names no database'],
    ['duckdb:', 'the path is missing'],
  ])('at %s is refused without showing a secret', async (address, words) => {
    await using home = await cliHome();
    const result = await home.here(['runs', 'list'], { env: { WELLSYNC_WAREHOUSE: address } });
    expectFailure(result, 2, words, 'postgres://USER@HOST:PORT/DATABASE');
    expect(result.stderr).not.toContain('pass-word');
  });

  test.each([
    [['query', 'SELECT 1']],
    [['runs', 'list']],
    [['runs', 'show', '2024']],
    [['coverage']],
    [['restatements', '--since', '2024-01-01']],
    [['cleanup', 'plans']],
    [['audit', 'verify']],
  ])('that is not there yet is told to who asks it by %j, and not made', async (args) => {
    await using home = await cliHome();
    expectFailure(await home.here(args), 5, 'there is no warehouse at', 'Run an export first');
    expect(existsSync(home.warehouseFile)).toBe(false);
  });

  test.each([
    ['of a folder', '', 'is a folder, and must be a file'],
    ['below a file', '/wells.csv/deep/warehouse.duckdb', 'cannot be made: a file is in its place'],
    ['of a table that DuckDB would open in memory', '/wells.csv', 'wells.csv is not a DuckDB file'],
  ])('at the path %s is refused in words', async (_, path, words) => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.write('wells.csv', 'uwi\nA\n');
    const result = await home.here([...exportInline, '--warehouse', `duckdb:${home.folder}${path}`]);
    expectFailure(result, 5, words, 'WELLSYNC_WAREHOUSE');
  });
});
