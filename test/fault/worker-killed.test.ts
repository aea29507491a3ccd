import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { generatedDaily } from '../../src/testing-server/generated-daily.ts';
import { startTestingServer, type TestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome, type RunningCommand } from '../support/cli.ts';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';

/** The suite keeps it short; 200 wells of 5 years with 3 kills are set by these variables. */
const wellCount = Number(process.env['WELLSYNC_TEST_KILL_WELLS'] ?? 40);
const kills = Number(process.env['WELLSYNC_TEST_KILLS'] ?? 2);
const years = Number(process.env['WELLSYNC_TEST_KILL_YEARS'] ?? 2);
/** Slow enough that there is a middle to be killed in, whatever the machine. */
const latencyMs = 100;
const from = `${2026 - years}-01-01`;
const to = '2026-01-01';

describe('a worker that is killed', () => {
  it('G1, G2, G7: in the middle of an export, again and again: the run ends by itself with every row right', async ({
    skip,
  }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: true });
    await using server = await startTestingServer({
      latencyMs,
      data: generatedDaily({ seed: 11, wells: wellCount, fromDay: from, toDay: to }),
    });
    await using home = await homeOn(server, redis.url);
    const runId = await startRun(home);

    const pausesMs: number[] = [];
    let worker = home.start(['worker']);
    for (let kill = 1; kill <= kills; kill += 1) {
      await settledPast(redis.url, home, runId, Math.floor((wellCount * kill) / (kills + 2)));
      const killedAt = performance.now();
      const before = await settledUnits(redis.url, home, runId);
      await killHard(worker);
      worker = home.start(['worker']);
      await settledPast(redis.url, home, runId, before);
      pausesMs.push(performance.now() - killedAt);
    }
    await expectComplete(home, runId);
    console.log(`the work went on after ${pausesMs.map((ms) => (ms / 1_000).toFixed(1)).join(', ')} s`);
    expect(Math.max(...pausesMs)).toBeLessThan(60_000);
  });

  it('G7: a restart of Redis in the middle of an export loses nothing', async ({ skip }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: true });
    await using server = await startTestingServer({
      latencyMs,
      data: generatedDaily({ seed: 12, wells: wellCount, fromDay: from, toDay: to }),
    });
    await using home = await homeOn(server, redis.url);
    const runId = await startRun(home);
    home.start(['worker']);
    await settledPast(redis.url, home, runId, Math.floor(wellCount / 4));
    await redis.kill();
    await redis.restart();
    await expectComplete(home, runId);
  });

  it('G7: Redis lost with all that it held, the run is revived from the warehouse', async ({ skip }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: false });
    await using server = await startTestingServer({
      latencyMs,
      data: generatedDaily({ seed: 13, wells: wellCount, fromDay: from, toDay: to }),
    });
    await using home = await homeOn(server, redis.url);
    const runId = await startRun(home);
    const worker = home.start(['worker']);
    await settledPast(redis.url, home, runId, Math.floor(wellCount / 4));
    await killHard(worker);
    await redis.kill();
    await redis.restart();
    home.start(['worker']);
    await expectComplete(home, runId);
  });
});

/** Small chunks and batches, so that there is a middle to be killed in. */
async function homeOn(server: TestingServer, redisUrl: string): Promise<CliHome> {
  const home = await cliHome(server.url);
  const config = path.join(home.folder, 'wellsync.yaml');
  const settings = ['service: { concurrency: 2 }', 'export: { chunkWells: 10, batchRows: 1500 }'];
  await writeFile(config, [...settings, 'queue: { baseDelayMs: 200, maxDelayMs: 1000 }', ''].join('\n'));
  const env = { ...home.env, WELLSYNC_REDIS_URL: redisUrl, WELLSYNC_CONFIG: config };
  return {
    ...home,
    env,
    start: (args, how) => home.start(args, { ...how, env: { ...env, ...how?.env } }),
    run: (args, how) => home.run(args, { ...how, env: { ...env, ...how?.env } }),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

async function startRun(home: CliHome): Promise<string> {
  const wells = await home.write('wells.csv', ['uwi', ...(await uwisOf(home))].join('\n'));
  const started = await home.run([
    'export',
    'daily-production',
    '--wells',
    wells,
    '--from',
    from,
    '--to',
    to,
    '--json',
  ]);
  expect(started.code, started.stderr).toBe(0);
  return (JSON.parse(started.stdout) as { runId: string }).runId;
}

async function uwisOf(home: CliHome): Promise<readonly string[]> {
  const answer = await fetch(`${home.env['WELLSYNC_SERVICE_URL']}/testing/state`);
  const { wells } = (await answer.json()) as { wells: readonly string[] };
  return wells.map((uwi) => `"${uwi}"`);
}

async function killHard(worker: RunningCommand): Promise<void> {
  worker.signal('SIGKILL');
  await worker.ended;
}

async function settledUnits(redisUrl: string, home: CliHome, runId: string): Promise<number> {
  const redis = new Redis(redisUrl);
  try {
    return Number((await redis.hget(`${home.env['WELLSYNC_QUEUE_PREFIX']}:run:${runId}`, 'settledUnits')) ?? 0);
  } finally {
    redis.disconnect();
  }
}

/** There is no event across processes: the board is looked at. */
async function settledPast(redisUrl: string, home: CliHome, runId: string, units: number): Promise<void> {
  while ((await settledUnits(redisUrl, home, runId)) <= units) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** The run ends by itself, balanced; and what it left equals what a fresh warehouse gets in one undisturbed run. */
async function expectComplete(home: CliHome, runId: string): Promise<void> {
  const shown = await home.run(['runs', 'show', runId, '--wait', '--json']);
  const report = JSON.parse(shown.stdout) as { counts: Readonly<Record<string, number>> };
  expect(report).toMatchObject({
    state: 'done',
    balance: { balanced: true },
    units: { total: wellCount, done: wellCount, failed: 0 },
  });
  const calm = path.join(home.folder, 'calm.duckdb');
  const wells = path.join(home.folder, 'wells.csv');
  const args = ['export', 'daily-production', '--wells', wells, '--from', from, '--to', to, '--inline', '--json'];
  // A queue of its own: the worker that still runs knows the other warehouse alone.
  const env = { ...home.env, WELLSYNC_WAREHOUSE: `duckdb:${calm}`, WELLSYNC_QUEUE_PREFIX: `calm-${runId}` };
  const undisturbed = await home.run(args, { env });
  expect(undisturbed.code, undisturbed.stderr).toBe(0);
  const sum = `SELECT count(*) AS n, count(DISTINCT (uwi, xid)) AS keys, sum(hash(uwi, xid, date, oil_rate, gas_rate, choke))::VARCHAR AS sum FROM daily_production`;
  const ofRun = await home.run(['query', sum, '--json']);
  const ofCalm = await home.run(['query', sum, '--json'], { env });
  expect(JSON.parse(ofRun.stdout)).toEqual(JSON.parse(ofCalm.stdout));
  const [{ n, keys }] = JSON.parse(ofRun.stdout) as [{ n: number; keys: number }];
  expect(n).toBe(keys);
  expect(report.counts['inserted']).toBe(n);
}
