/** One content pushed by two processes at the same moment: the service counts the requests. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { startTestingServer, type TestingServer } from '../../src/testing-server/testing-server.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { deferred } from '../support/deferred.ts';
import { tenColumns } from '../support/pipes.ts';
import { ask } from '../support/warehouse-batches.ts';
import { settings } from '../support/warehouse-duckdb.ts';

const row = (id: string, length: number): string => `N,${id},2024-01-01T00:00:00Z,A,B,true,"[${length}]",[2],[3],[4]`;
/** Three rows: an invalid one, and two for the service, which refuses the second. */
const content = `${[tenColumns, row('P1', 1), row('wrong', -1), row('refused', 1)].join('\n')}\n`;

const reportSchema = z.object({
  runId: z.string(),
  state: z.string(),
  exitCode: z.number(),
  counts: z.record(z.string(), z.number()),
  notices: z.array(z.string()),
});
const reportOf = ({ stdout }: { readonly stdout: string }) => reportSchema.parse(JSON.parse(stdout));
const runSchema = z.object({ runId: z.string(), state: z.string() });

/** A service that answers no bulk request before `release` is called. */
async function heldService() {
  const held = deferred();
  const asked = deferred();
  let isHeld = true;
  let requests = 0;
  const server = await startTestingServer({
    rejectSourceIds: ['refused'],
    async onRequest({ method, url }) {
      if (method !== 'POST' || !url.endsWith('/network/pipe')) return undefined;
      requests += 1;
      asked.resolve();
      if (isHeld) await held.promise;
      return undefined;
    },
  });
  return {
    server,
    requests: () => requests,
    asked: asked.promise,
    release: () => {
      isHeld = false;
      held.resolve();
    },
  };
}

async function homeOf(server: TestingServer): Promise<{ readonly home: CliHome; readonly file: string }> {
  const home = await cliHome(server.url);
  return { home, file: await home.write('pipes.csv', content) };
}

const push = (file: string, ...flags: string[]): string[] => ['push', 'network-pipes', file, ...flags, '--json'];

/** Waits until this many runs are planned: each is then worked, or waits for another run. */
async function untilPlanned(home: CliHome, runs: number): Promise<void> {
  for (;;) {
    const warehouse = createDuckdbWarehouse({ ...settings, path: home.warehouseFile, lockWaitMs: 60_000 });
    const [[planned] = []] = await ask(warehouse, "SELECT count(*) FROM run WHERE state = 'running'");
    await warehouse.close();
    if (Number(planned) === runs) return;
    await delay(200);
  }
}

test('G5: two processes that push one content at once send it once, and both have its outcome and its rejects', async () => {
  const service = await heldService();
  await using server = service.server;
  const { home: opened, file } = await homeOf(server);
  await using home = opened;
  const both = [home.start(push(file, '--inline')), home.start(push(file, '--inline'))];
  await service.asked;
  await untilPlanned(home, 2);
  service.release();
  const reports = (await Promise.all(both.map(({ ended }) => ended))).map((ending) => reportOf(ending));

  const [first, second] = reports.toSorted((left, right) => left.notices.length - right.notices.length);
  if (first === undefined || second === undefined) throw new Error('two processes give two reports');
  expect(first).toMatchObject({ state: 'done', exitCode: 3, counts: { rows: 3, accepted: 1, rejectedByUs: 1 } });
  expect(second).toMatchObject({ state: 'done', exitCode: 3 });
  expect(second.runId).not.toBe(first.runId);
  const ofRows = ({ chunks: _chunks, requests: _requests, ...counts }: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  expect(ofRows(second.counts)).toEqual(ofRows(first.counts));
  expect(second.counts).toMatchObject({ chunks: 0, requests: 0 });
  expect(second.notices).toContain(`run ${first.runId} pushed this content: this run sent nothing`);
  expect(service.requests()).toBe(first.counts['requests']);
  const rejects = await Promise.all(reports.map(({ runId }) => home.here(['runs', 'rejects', runId])));
  expect(rejects[0]?.stdout).toContain('3,length,');
  expect(rejects[1]?.stdout).toBe(rejects[0]?.stdout);
});

test('G5, G7: a push that is killed keeps its claim, goes on by itself, and is not pushed by the one that waits', async () => {
  const service = await heldService();
  await using server = service.server;
  const { home: opened, file } = await homeOf(server);
  await using home = opened;
  const first = home.start(push(file, '--inline'));
  await service.asked;
  const second = home.start(push(file, '--inline'));
  await untilPlanned(home, 2);
  first.signal('SIGKILL');
  await first.ended;
  service.release();
  const { counts, notices, state } = reportOf(await second.ended);
  expect(state).toBe('done');
  const pushed = notices.flatMap((notice) => /^run (\S+) pushed this content/.exec(notice)?.[1] ?? []);
  expect(pushed).toHaveLength(1);
  expect(counts).toMatchObject({ rows: 3, accepted: 1, rejectedByUs: 1, rejectedByService: 1 });
  const shown = await home.here(['runs', 'show', String(pushed[0]), '--json']);
  expect(runSchema.parse(JSON.parse(shown.stdout))).toMatchObject({ runId: pushed[0], state: 'done' });
});

test('G5: a push that waits for one that is cancelled pushes itself', async () => {
  const service = await heldService();
  await using server = service.server;
  const { home: opened, file } = await homeOf(server);
  await using home = opened;
  const worker = home.start(['worker', '--queues', 'push']);
  await worker.hears('Working push');
  const first = runSchema.parse(JSON.parse((await home.here(push(file))).stdout));
  await service.asked;
  const second = runSchema.parse(JSON.parse((await home.here(push(file))).stdout));
  expect(second).toMatchObject({ state: 'queued' });
  expect(second.runId).not.toBe(first.runId);
  await untilPlanned(home, 2);
  await home.here(['runs', 'cancel', first.runId, '--wait']);
  service.release();
  const report = reportOf(await home.here(['runs', 'show', second.runId, '--wait', '--json']));
  expect(report).toMatchObject({ state: 'done', exitCode: 3, counts: { rows: 3, accepted: 1 } });
  expect(report.notices.join('\n')).not.toContain('pushed this content');
  worker.signal('SIGTERM');
  await worker.ended;
});
