/** A part of the installation is missing or unfit: a sentence, what to do, exit code 5, and nothing begun. */
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { cliHome, type CliHome, type Ending } from '../support/cli.ts';
import { startWithTenDays, UWI } from '../support/testing-server-requests.ts';

const exportInline = ['export', 'daily-production', '--uwi', UWI, '--inline'];

function expectFailure(ending: Ending, code: number, ...words: readonly string[]): void {
  for (const expected of words) expect(ending.stderr).toContain(expected);
  expect(ending.stderr).not.toMatch(/^\s+at /m);
  expect(ending.stdout).toBe('');
  expect(ending.code).toBe(code);
}

async function expectNoRun(home: CliHome): Promise<void> {
  if (!existsSync(home.warehouseFile)) return;
  expect(JSON.parse((await home.run(['runs', 'list', '--json'])).stdout)).toEqual([]);
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
    const ending = await home.run(exportInline);
    expectFailure(ending, 5, `the service at ${url} cannot be reached: nothing listens there`, 'WELLSYNC_SERVICE_URL');
    await expectNoRun(home);
  });

  test('that speaks no TLS at an https address is told', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url.replace('http:', 'https:'));
    expectFailure(await home.run(exportInline), 5, 'cannot be reached: it does not speak TLS there');
  });

  test.each([[exportInline], [['worker']]])('whose address is not set is asked for by %j', async (args) => {
    await using home = await cliHome();
    expectFailure(await home.run(args), 2, 'the address of the service is not set', 'wellsync testing-server');
  });

  test('that refuses the token fails the run, says so, and keeps the token out of it (G10)', async () => {
    await using server = await startWithTenDays({ requiredToken: 'the-right-one' });
    await using home = await cliHome(server.url);
    const ending = await home.run([...exportInline, '--log-level', 'trace'], {
      env: { WELLSYNC_SERVICE_TOKEN: 'a-wrong-one' },
    });
    expect(ending.code).toBe(1);
    expect(ending.stdout).toContain('Failed: ');
    expect(ending.stdout).toContain('401');
    expect(ending.stdout).toContain('wellsync runs retry');
    expect(ending.stdout + ending.stderr).not.toContain('a-wrong-one');
  });
});

describe('Redis', () => {
  const nowhere = async () => ({ WELLSYNC_REDIS_URL: `redis://:pass-word@127.0.0.1:${await deadPort()}` });

  test.each([[exportInline], [['worker']]])('that is not there stops %j', async (args) => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const ending = await home.run(args, { env: await nowhere() });
    expectFailure(ending, 5, 'cannot be used: nothing listens there', 'WELLSYNC_REDIS_URL');
    expect(ending.stderr).not.toContain('pass-word');
    await expectNoRun(home);
  });

  test('that is not there leaves query and a list of ended runs as they are', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    expect((await home.run(exportInline)).code).toBe(0);
    const env = await nowhere();
    expect((await home.run(['query', 'SELECT 1', '--json'], { env })).code).toBe(0);
    expect((await home.run(['runs', 'list'], { env })).code).toBe(0);
  });
});

describe('the warehouse', () => {
  test('that is another file is left as it is', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const file = await home.write('letter.txt', 'Dear reader, this is not a database. '.repeat(500));
    const ending = await home.run([...exportInline, '--warehouse', `duckdb:${file}`]);
    expectFailure(ending, 5, 'letter.txt is not a DuckDB file', 'WELLSYNC_WAREHOUSE');
  });

  test('that another process holds is waited for, then told with who holds it', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const config = await home.write('patience.yaml', 'warehouse:\n  lockWaitMs: 300\n');
    const holder = await DuckDBInstance.create(home.warehouseFile);
    const ending = await home.run([...exportInline, '--config', config]);
    holder.closeSync();
    expectFailure(ending, 5, `process ${process.pid}`, 'has held the warehouse', 'Close the notebook');
    await expectNoRun(home);
  });

  test.each([
    ['postgres://user:pass-word@db/prod', 'postgres is not supported'],
    ['duckdb:', 'the path is missing'],
  ])('at %s is refused without showing a secret', async (address, words) => {
    await using home = await cliHome();
    const ending = await home.run(['runs', 'list'], { env: { WELLSYNC_WAREHOUSE: address } });
    expectFailure(ending, 2, words, 'duckdb:PATH');
    expect(ending.stderr).not.toContain('pass-word');
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
    expectFailure(await home.run(args), 5, 'there is no warehouse at', 'Run an export first');
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
    const ending = await home.run([...exportInline, '--warehouse', `duckdb:${home.folder}${path}`]);
    expectFailure(ending, 5, words, 'WELLSYNC_WAREHOUSE');
  });
});
