/** `wellsync prune`: what it says and removes, and the questions that it leaves without an answer. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, utimes } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { januaryRows } from '../../support/testing-server-requests.ts';

const uwi = 'W 1';
const dayMs = 86_400_000;
const nothing = {
  units: 0,
  plans: 0,
  runs: 0,
  pushes: 0,
  history: 0,
  alerts: 0,
  rejectsFiles: 0,
  inboxFiles: 0,
  copies: 0,
  sharedFiles: 0,
};

/** Makes the warehouse older, with everything in it, by statements of another program. */
async function withFile(home: CliHome, ...statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(home.warehouseFile);
  const connection = await instance.connect();
  try {
    for (const statement of statements) await connection.run(statement);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

test('says what it would remove, removes it, and refuses what was known before', async () => {
  const rows = januaryRows(3, uwi).map((row) => ({ ...row, uwi }));
  await using server = await startTestingServer({ data: givenDaily(rows) });
  await using home = await cliHome(server.url);
  const exported = [
    'export',
    'daily-production',
    '--uwi',
    uwi,
    '--from',
    '2024-01-01',
    '--to',
    '2024-01-10',
    '--inline',
  ];
  expect((await home.here(exported)).code).toBe(0);
  expect((await home.here(['prune'])).stdout).toContain('Nothing is older than the configuration says.');

  await withFile(
    home,
    'UPDATE run SET finished_at = finished_at - INTERVAL 500 DAY',
    `INSERT INTO daily_production_history (uwi, noticed_at, known_from) VALUES ('${uwi}', '2020-01-01', '2019-01-01')`,
  );
  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await home.here([...args, '--json'])).stdout);
  const rejects = `${home.folder}/rejects`;
  await mkdir(rejects, { recursive: true });
  for (const [name, days] of [
    ['old', 100],
    ['recent', 80],
  ] as const) {
    const file = await home.write(`rejects/${name}.csv`, '');
    const then = (Date.now() - days * dayMs) / 1_000;
    await utimes(file, then, then);
  }
  const expected = { ...nothing, units: 1, runs: 1, rejectsFiles: 1 };
  expect(await json('prune', '--dry-run')).toEqual({ ...expected, dryRun: true });
  expect(existsSync(`${rejects}/old.csv`)).toBe(true);
  const { stdout, code } = await home.here(['prune']);
  expect(stdout).toMatch(/^Removed\n {2}units of ended runs +1\n {2}runs +1\n {2}files with rejected rows +1\n$/);
  expect(code).toBe(0);
  expect([existsSync(`${rejects}/old.csv`), existsSync(`${rejects}/recent.csv`)]).toEqual([false, true]);
  expect(await json('runs', 'list')).toEqual([]);

  const config = await home.write('history.yaml', 'retention: { historyDays: 365 }\n');
  expect(await json('prune', '--config', config)).toEqual({ ...nothing, history: 1, dryRun: false });
  const before = await home.here(['restatements', '--since', '2020-01-01']);
  expect(before.stderr).toContain('what changed before is no longer kept');
  expect(before.code).toBe(2);
  const months = await home.here(['months', '--since', '2020-01-01']);
  expect(months.stderr).toContain('what changed before is no longer kept');
  expect(months.code).toBe(2);
  const asKnown = await home.here(['query', "SELECT * FROM daily_production_as_known('2020-01-01 12:00:00Z')"]);
  expect(asKnown.stderr).toContain('what was known before is no longer kept (retention.historyDays)');
  expect(asKnown.code).toBe(2);
});

test('is done once a day by itself, after a run', async () => {
  await using server = await startTestingServer({
    data: givenDaily(januaryRows(1, uwi).map((row) => ({ ...row, uwi }))),
  });
  await using home = await cliHome(server.url);
  const run = () => home.here(['export', 'daily-production', '--uwi', uwi, '--inline']);
  await run();
  await withFile(
    home,
    'UPDATE run SET finished_at = finished_at - INTERVAL 500 DAY',
    'UPDATE warehouse SET created_at = created_at - INTERVAL 2 DAY',
  );
  expect((await run()).code).toBe(0);
  const runs: unknown = JSON.parse((await home.here(['runs', 'list', '--json'])).stdout);
  expect(runs).toHaveLength(1);
});

test('removes files of the inbox that are done for long, and none that failed, is young or is not its own', async () => {
  const config = 'inbox: { folder: inbox }\nretention: { inboxDays: 30 }\n';
  await using server = await startTestingServer({ data: givenDaily([]) });
  await using home = await cliHome(server.url, { config });
  await home.here(['export', 'daily-production', '--uwi', uwi, '--inline']);
  expect((await home.here(['inbox', 'adopt', '--yes'])).code).toBe(0);
  const arrived = async (folder: string, days: number): Promise<string> => {
    await mkdir(`${home.folder}/inbox/${folder}`, { recursive: true });
    await home.write(`inbox/${folder}/pipes.csv`, 'sourceId');
    const report = await home.write(`inbox/${folder}/report.json`, '{}');
    const then = (Date.now() - days * dayMs) / 1_000;
    await utimes(report, then, then);
    return `${home.folder}/inbox/${folder}`;
  };
  const old = await arrived('network-pipes/done/20260101000000000-0a1b2c3d', 31);
  const kept = [
    await arrived('network-pipes/done/20260102000000000-0a1b2c3d', 29),
    await arrived('network-pipes/done/by hand', 31),
    await arrived('network-pipes/failed/20260101000000000-0a1b2c3d', 31),
    await arrived('network-pipes/working/20260101000000000-0a1b2c3d', 31),
  ];
  const plan = await arrived('cleanup/done/20260101000000000-0a1b2c3d', 31);
  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await home.here([...args, '--json'])).stdout);
  expect(await json('prune', '--dry-run')).toEqual({ ...nothing, inboxFiles: 2, dryRun: true });
  expect(existsSync(old)).toBe(true);
  expect(await json('prune')).toEqual({ ...nothing, inboxFiles: 2, dryRun: false });
  expect([old, plan].map((folder) => existsSync(folder))).toEqual([false, false]);
  expect(kept.map((folder) => existsSync(`${folder}/pipes.csv`))).toEqual(kept.map(() => true));
});

test('removes copies of standard input that no push needs once no run could be retried with them', async () => {
  await using server = await startTestingServer({ data: givenDaily([]) });
  await using home = await cliHome(server.url);
  const stdin = 'sourceNetworkId,sourceId,upstreamSourceId,downstreamSourceId,enabled\nN,P-1,A,B,true\n';
  const queued = await home.run(['push', 'network-pipes', '-', '--json'], { stdin });
  const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(queued.stdout));
  const spool = `${home.folder}/spool`;
  const [copy = ''] = await readdir(spool);
  const aged = async (name: string, days: number): Promise<void> => {
    const then = (Date.now() - days * dayMs) / 1_000;
    await utimes(`${spool}/${name}`, then, then);
  };
  for (const name of ['0123456789abcdef.csv', '0123456789abcde0.csv', 'of a person.csv'])
    await home.write(`spool/${name}`, '');
  for (const name of ['0123456789abcdef.csv', 'of a person.csv', copy]) await aged(name, 31);
  await aged('0123456789abcde0.csv', 29);

  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await home.here([...args, '--json'])).stdout);
  expect(await json('prune', '--dry-run')).toEqual({ ...nothing, copies: 1, dryRun: true });
  expect(await json('prune')).toEqual({ ...nothing, copies: 1, dryRun: false });
  expect((await readdir(spool)).toSorted()).toEqual([copy, '0123456789abcde0.csv', 'of a person.csv'].toSorted());
  expect((await home.here(['runs', 'cancel', runId])).code).toBe(0);
  expect(await json('prune')).toEqual({ ...nothing, dryRun: false });
  await withFile(home, 'UPDATE run SET requested_at = requested_at - INTERVAL 31 DAY');
  expect(await json('prune')).toMatchObject({ copies: 1 });
  expect(await readdir(spool)).not.toContain(copy);
});
