/** One inbox, one owner: workers of other installations are refused, and touch nothing in it. */
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { type CliHome, cliHome } from '../../support/cli.ts';
import { tenColumns } from '../../support/pipes.ts';
import { databaseOfTest } from '../../support/postgres/database.ts';

const patiently = { timeout: 60_000, interval: 50 };
const pipes = (id: string): string => `${tenColumns}\nN,${id},2024-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]\n`;

/** A folder that several homes name as their inbox. */
async function sharedInbox() {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-shared-inbox-'));
  const taken = path.join(folder, 'network-pipes');
  return {
    folder,
    taken,
    ownerFile: path.join(taken, '.wellsync-owner.json'),
    homeOf: (serviceUrl: string, warehouseUrl?: string): Promise<CliHome> =>
      cliHome(serviceUrl, {
        config: `inbox: { folder: ${folder}, settleMs: 100 }\n`,
        ...(warehouseUrl !== undefined && { warehouseUrl }),
      }),
    drop: async (name: string): Promise<void> => {
      await writeFile(path.join(taken, '.dropped'), pipes(name));
      await rename(path.join(taken, '.dropped'), path.join(taken, `${name}.csv`));
    },
    done: async (count: number): Promise<void> => {
      await expect.poll(async () => (await readdir(path.join(taken, 'done'))).length, patiently).toBe(count);
    },
    all: async () => (await readdir(folder, { recursive: true })).toSorted(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test('G11: an inbox that two services share by a copied configuration is that of the first worker until it is adopted', async () => {
  await using first = await startTestingServer();
  await using second = await startTestingServer();
  await using inbox = await sharedInbox();
  await using production = await inbox.homeOf(first.url);
  await using trial = await inbox.homeOf(second.url);
  const worker = production.start(['worker']);
  await worker.hears('Working');
  await inbox.drop('A');
  await inbox.done(1);

  const before = await inbox.all();
  for (const command of [['worker'], ['serve', '--port', '0'], ['serve', '--port', '0', '--no-work']]) {
    // One of them as a process, which its refusal ends.
    const refused = await (command[0] === 'worker' ? trial.run(command) : trial.here(command));
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('belongs to another installation: nothing in it was touched');
    expect(refused.stderr).toContain(`belongs to service ${first.url}`);
    expect(refused.stderr).toContain(`This one is service ${second.url}`);
    expect(refused.stderr).toContain('wellsync inbox adopt');
  }
  const examined = await trial.here(['doctor']);
  expect(examined.code).toBe(5);
  expect(examined.stdout.replaceAll(/\s+/g, ' ')).toContain('belongs to another installation');
  expect((await production.here(['doctor'])).stdout).toMatch(/ok +inbox/);
  expect((await trial.here(['prune'])).stderr).toContain('belongs to another installation');
  expect(await inbox.all()).toEqual(before);

  const unasked = await trial.here(['inbox', 'adopt']);
  expect(unasked.code).toBe(2);
  expect(unasked.stderr).toContain(first.url);
  expect(unasked.stderr).toContain(second.url);
  expect((await trial.here(['inbox', 'adopt', '--dry-run'])).stdout).toContain('Dry run: nothing was changed');
  expect((await trial.atTerminal(['inbox', 'adopt'], 'no\n')).code).not.toBe(0);
  expect(await readFile(inbox.ownerFile, 'utf8')).toContain(first.url);
  expect((await trial.atTerminal(['inbox', 'adopt'], 'yes\n')).code).toBe(0);
  expect((await trial.here(['inbox', 'adopt', '--yes'])).stdout).toContain('belongs to this installation already');

  await worker.hears('this process takes no more files from the inbox');
  await inbox.drop('B');
  const heir = trial.start(['worker']);
  await inbox.done(2);
  expect([first, second].map((server) => server.state.pipes().length)).toEqual([1, 1]);
  const lines = (): number => worker.said().split('this process takes no more files from the inbox').length - 1;
  await expect.poll(lines, patiently).toBe(2); // one for each kind
  expect(heir.said()).not.toContain('belongs to another installation');

  expect((await production.here(['inbox', 'adopt', '--yes'])).code).toBe(0);
  await heir.hears('this process takes no more files from the inbox');
  await worker.hears('the inbox is of this installation again');
  await inbox.drop('C');
  await inbox.done(3);
  expect([first, second].map((server) => server.state.pipes().length)).toEqual([2, 1]);
}, 120_000);

test('G11: of two workers that start at once on a new inbox, one has it', async () => {
  await using server = await startTestingServer();
  await using inbox = await sharedInbox();
  await using one = await inbox.homeOf(server.url);
  await using other = await inbox.homeOf(server.url);
  const workers = [one.start(['worker']), other.start(['worker'])];
  const codes = await Promise.race(workers.map(({ ended }) => ended.then(({ code }) => code)));
  expect(codes).toBe(2);
  const owned = await Promise.all(
    ['network-pipes', 'cleanup'].map((kind) => readFile(path.join(inbox.folder, kind, '.wellsync-owner.json'), 'utf8')),
  );
  const ids = owned.map((text) => (JSON.parse(text) as { warehouseId: string }).warehouseId);
  expect(new Set(ids).size).toBe(1);
});

test('G11: a copy of a DuckDB warehouse has the id of its original, and not its inbox', async () => {
  await using server = await startTestingServer();
  await using inbox = await sharedInbox();
  await using home = await inbox.homeOf(server.url);
  await using restored = await inbox.homeOf(server.url);
  const worker = home.start(['worker']);
  await worker.hears('Working');
  worker.signal('SIGTERM');
  await worker.ended;
  for (const name of ['warehouse.duckdb', 'warehouse.duckdb.place']) {
    await cp(path.join(home.folder, name), path.join(restored.folder, name));
  }
  const refused = await restored.run(['worker']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('one of the two warehouses is a copy of the other, or was moved');
  expect((await home.here(['doctor'])).stdout).toMatch(/ok +inbox/);

  await writeFile(inbox.ownerFile, '{"warehouseId":');
  const damaged = await home.run(['worker']);
  expect(damaged.code).toBe(2);
  expect(damaged.stderr).toContain('names no owner: it was damaged, or is not of wellsync');
  expect((await home.here(['inbox', 'adopt', '--yes'])).code).toBe(0);

  // The service has another key now: it is the same installation.
  expect((await home.here(['service', 'moved', server.url, 'production', '--yes'])).code).toBe(0);
  const renamed = home.start(['worker'], { env: { WELLSYNC_SERVICE_ID: 'production' } });
  await renamed.hears('Working');
  expect(JSON.parse(await readFile(inbox.ownerFile, 'utf8'))).toMatchObject({ service: 'production' });
}, 60_000);

test('G11: two hosts of one PostgreSQL warehouse share an inbox', async () => {
  await using server = await startTestingServer();
  const database = await databaseOfTest();
  await using inbox = await sharedInbox();
  await using one = await inbox.homeOf(server.url, database.url);
  await using other = await inbox.homeOf(server.url, database.url);
  const prefix = { WELLSYNC_QUEUE_PREFIX: one.env['WELLSYNC_QUEUE_PREFIX'] ?? '' };
  await one.start(['worker']).hears('Working');
  await other.start(['worker'], { env: prefix }).hears('Working');
  expect(JSON.parse(await readFile(inbox.ownerFile, 'utf8'))).toMatchObject({ placeId: null });
});

test.each(['working', 'done', 'failed'])('%s of an inbox that is a link is refused', async (name) => {
  await using server = await startTestingServer();
  await using inbox = await sharedInbox();
  await using home = await inbox.homeOf(server.url);
  await mkdir(inbox.taken);
  await using elsewhere = await sharedInbox();
  await symlink(elsewhere.folder, path.join(inbox.taken, name));
  const before = await inbox.all();
  const refused = await home.here(['worker']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`${inbox.taken}/${name} is a link`);
  await home.here(['service', 'show']);
  expect((await home.here(['inbox', 'adopt', '--yes'])).code).toBe(2);
  expect(await inbox.all()).toEqual(before);
});
