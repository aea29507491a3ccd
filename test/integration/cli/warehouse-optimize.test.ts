/** `wellsync warehouse optimize`: what it says and does, and that a run with a long tail does it by itself. */
import { expect, test } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { fillByNights } from '../../support/storage-order.ts';
import { januaryRows } from '../../support/testing-server-requests.ts';

const uwi = 'W 1';
const exportedTo = (day: string): readonly string[] => {
  const range = ['--from', '2024-01-01', '--to', day];
  return ['export', 'daily-production', '--uwi', uwi, ...range, '--inline', '--quiet'];
};

/** A warehouse of the service with a row that it exported, ten days of three wells, and nights after them. */
async function openHome(url: string, nights: number) {
  const home = await cliHome(url);
  expect((await home.here(exportedTo('2024-01-02'))).code).toBe(0);
  await fillByNights(home.warehouseFile, { wells: 3, days: 10, nights });
  return home;
}

const data = givenDaily(januaryRows(2, uwi).map((row) => ({ ...row, uwi })));

test('says what it would rewrite, rewrites it, and finds nothing more to do', async () => {
  await using server = await startTestingServer({ data });
  await using home = await openHome(server.url, 4);
  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await home.here([...args, '--json'])).stdout);
  const found = { rows: 43, wells: 3, tailNights: 4, looseRows: 43 };
  expect((await home.here(['warehouse', 'info'])).stdout).toMatch(/^order +4 nights in the tail, 43 rows to rewrite$/m);
  expect(await json('warehouse', 'optimize', '--dry-run')).toEqual({ ...found, rewrittenRows: 0, dryRun: true });
  const dry = await home.here(['warehouse', 'optimize', '--dry-run']);
  expect(dry.stdout).toBe('Would rewrite 43 of 43 rows of daily production by well and date.\n');
  expect(await json('warehouse', 'info')).toMatchObject({ order: { ...found, isUnderWay: false } });

  const done = await home.here(['warehouse', 'optimize']);
  expect([done.code, done.stdout]).toEqual([0, 'Rewrote 43 rows of daily production by well and date.\n']);
  expect((await home.here(['warehouse', 'info'])).stdout).toMatch(/^order +by well and date$/m);
  const again = await home.here(['warehouse', 'optimize']);
  expect([again.code, again.stdout]).toEqual([0, 'All 43 rows of daily production lie in order.\n']);
  const quiet = await home.here(['warehouse', 'optimize', '--quiet']);
  expect([quiet.code, quiet.stdout, quiet.stderr]).toEqual([0, '', '']);
});

test('G11: puts no warehouse of another service in order, and makes none', async () => {
  await using server = await startTestingServer({ data });
  await using home = await openHome(server.url, 4);
  const other = await home.here(['warehouse', 'optimize', '--service-url', 'https://other.example']);
  expect(other.code).toBe(2);
  expect(other.stderr).toContain('https://other.example');
  const none = await home.here(['warehouse', 'optimize', '--warehouse', `duckdb:${home.folder}/none.duckdb`]);
  expect(none.code).toBe(5);
  expect(none.stderr).toContain('there is no warehouse at');
});

test('a run with rows puts the warehouse in order where its tail is past 30 nights, and leaves a shorter one', async () => {
  for (const [nights, order] of [
    [20, { looseRows: 92, isUnderWay: false }],
    [60, { looseRows: 0, tailNights: 0, isUnderWay: false }],
  ] as const) {
    await using server = await startTestingServer({ data });
    await using home = await openHome(server.url, nights);
    expect((await home.here(exportedTo('2024-02-01'))).code).toBe(0);
    const info: unknown = JSON.parse((await home.here(['warehouse', 'info', '--json'])).stdout);
    expect(info).toMatchObject({ order });
  }
});
