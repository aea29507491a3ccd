/** An export that tests disturb: small chunks at a slow service, and the check that it ends complete. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { measureFields } from '../../src/core/daily/row.ts';
import { generatedDaily } from '../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome, type RunningCommand } from './cli.ts';
import { startPrivateRedis, type PrivateRedis } from './redis.ts';

export const wellCount = 200;
const years = 5;
/** Slow enough to kill it during its work, on any machine. */
const latencyMs = 100;
const from = `${2026 - years}-01-01`;
const to = '2026-01-01';

/** Small chunks and batches, so that it can be killed in between. */
const config = `
service: { concurrency: 2 }
export: { chunkWells: 10, batchRows: 1500 }
queue: { baseDelayMs: 200, maxDelayMs: 1000 }
`;

/** A queued export, at a Redis of its own, that nobody works yet. */
interface QueuedExport {
  readonly redis: PrivateRedis;
  readonly home: CliHome;
  readonly runId: string;
}

/**
 * Hands the export to `disturb`; what it stands on ends with it. `appendonly`: whether the Redis keeps its data.
 * `warehouseUrl` is the address of another warehouse than a new file.
 */
export async function withQueuedExport(
  {
    seed,
    appendonly,
    warehouseUrl,
  }: { readonly seed: number; readonly appendonly: boolean; readonly warehouseUrl?: string },
  disturb: (queued: QueuedExport) => Promise<void>,
): Promise<void> {
  await using redis = await startPrivateRedis({ appendonly });
  const data = generatedDaily({ seed, wells: wellCount, fromDay: from, toDay: to });
  await using server = await startTestingServer({ latencyMs, data });
  await using home = await cliHome(server.url, {
    redisUrl: redis.url,
    config,
    ...(warehouseUrl === undefined ? {} : { warehouseUrl }),
  });
  await disturb({ redis, home, runId: await startRun(home) });
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

export async function killHard(worker: RunningCommand): Promise<void> {
  worker.signal('SIGKILL');
  await worker.ended;
}

export async function settledUnits(redisUrl: string, home: CliHome, runId: string): Promise<number> {
  const redis = new Redis(redisUrl);
  try {
    return Number((await redis.hget(`${home.env['WELLSYNC_QUEUE_PREFIX']}:run:${runId}`, 'settledUnits')) ?? 0);
  } finally {
    redis.disconnect();
  }
}

/** Polls the progress: there is no event across processes. */
export async function settledPast(redisUrl: string, home: CliHome, runId: string, units: number): Promise<void> {
  while ((await settledUnits(redisUrl, home, runId)) <= units) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** The run ends by itself, balanced; its rows equal those of one undisturbed run into a fresh warehouse. */
export async function expectComplete(home: CliHome, runId: string): Promise<void> {
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
  // A queue of its own: the running worker only knows the other warehouse.
  const env = { ...home.env, WELLSYNC_WAREHOUSE: `duckdb:${calm}`, WELLSYNC_QUEUE_PREFIX: `calm-${runId}` };
  const undisturbed = await home.run(args, { env });
  expect(undisturbed.code, undisturbed.stderr).toBe(0);
  expect(await contentOf(home, home.env)).toEqual(await contentOf(home, env));
  const counted = await home.run(['query', 'SELECT count(*) AS n FROM daily_production', '--json']);
  expect(JSON.parse(counted.stdout)).toEqual([{ n: report.counts['inserted'] }]);
}

/** Digests of the rows and of the coverage, in an order that both engines have, and the number of restated rows. */
async function contentOf(home: CliHome, env: CliHome['env']): Promise<readonly string[]> {
  const questions = [
    `SELECT uwi, xid, date, production_day, ${measureFields.map(({ column }) => column).join(', ')}, extras FROM daily_production ORDER BY uwi, xid`,
    'SELECT uwi, from_day, to_day FROM coverage ORDER BY uwi, from_day',
    'SELECT count(*) AS n FROM daily_production_history',
  ];
  const digests: string[] = [];
  for (const question of questions) {
    const { code, stdout, stderr } = await home.run(['query', question, '--ndjson'], { env });
    expect(code, stderr).toBe(0);
    digests.push(createHash('sha256').update(stdout).digest('hex'));
  }
  return digests;
}
