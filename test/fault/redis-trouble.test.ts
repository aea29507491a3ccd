/** A Redis that answers with errors, or goes away for good: work waits for it, and a stop does not. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { anyJob, type Job } from '../../src/runs/job.ts';
import { OutageJournal } from '../../src/runs/outage-journal.ts';
import { createRunQueue } from '../../src/queue/redis/run-queue.ts';
import { checkRedis } from '../../src/queue/redis/check.ts';
import { startWorkers } from '../../src/queue/redis/workers.ts';
import { exitCodeOfError } from '../../src/core/run/exit-code.ts';
import { z } from 'zod';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome } from '../support/cli.ts';
import { deferred } from '../support/deferred.ts';
import { engineHere } from '../support/engine-here.ts';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';
import { januaryRows } from '../support/testing-server-requests.ts';

const lack = privateRedisLack();
const patiently = { timeout: 60_000, interval: 100 };
const units = 6;

function collectingLog() {
  const lines: string[] = [];
  return { lines, log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }) };
}

/** Runs `during` with a client of its own at the server. */
async function asked<T>(url: string, during: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await during(redis);
  } finally {
    redis.disconnect();
  }
}

/** A job whose units wait for `go` and settle then. */
function waitingJob(begun: () => void, go: Promise<void>): Job<Record<string, never>> {
  return {
    name: 'wait',
    units: { one: 'unit', many: 'units', failing: 'failed', held: 'held' },
    record: undefined,
    counts: [],
    queue: 'export',
    params: z.strictObject({}),
    plan: async () => Array.from({ length: units }, (_, unit) => ({ unit, chunk: unit, target: `u${unit}`, spec: {} })),
    async work(chunk, { ledger }) {
      begun();
      await go;
      const outcomes = chunk.units.map(({ unit }) => ({ unit, state: 'done', counts: {} }) as const);
      await ledger.runs.settle(chunk.runId, outcomes);
      await chunk.settled(outcomes);
      return [];
    },
  };
}

async function errorReplies(redis: Redis): Promise<number> {
  return Number(/total_error_replies:(\d+)/.exec(await redis.info('stats'))?.[1]);
}

describe.skipIf(lack !== undefined)(`Redis in trouble${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  it('G7: without memory holds a run, which is done when there is memory, and is not asked without a pause', async () => {
    await using server = await startPrivateRedis({ appendonly: false });
    const { lines, log } = collectingLog();
    const [begun, go] = [deferred(), deferred()];
    const job = anyJob(waitingJob(begun.resolve, go.promise));
    await using engine = await engineHere('https://service.example', [job], { redisUrl: server.url, log });
    const run = await engine.start('wait', {});
    await begun.promise;
    await asked(server.url, async (redis) => {
      await redis.config('SET', 'maxmemory', '500kb');
      go.resolve();
      await vi.waitFor(() => expect(lines.join('')).toContain('it has no memory left'), patiently);
      const before = await errorReplies(redis);
      // A few tries of the watch: each is a second.
      await vi.waitFor(async () => expect(await errorReplies(redis)).toBeGreaterThan(before + 2), patiently);
      expect(await errorReplies(redis)).toBeLessThan(before + 200);
      await redis.config('SET', 'maxmemory', '0');
    });
    expect(await engine.reportOf(run)).toMatchObject({
      state: 'done',
      units: { total: units, done: units, failed: 0 },
    });
    expect(lines.join('')).not.toMatch(/"level":"error"|stack/);
    expect(lines.filter((line) => line.includes('"part":"redis"')).length).toBeLessThanOrEqual(6);
  });

  it('that takes no writes is refused before a command begins, in words', async () => {
    await using server = await startPrivateRedis({ appendonly: false });
    await asked(server.url, (redis) => redis.config('SET', 'maxmemory', '500kb'));
    const fault: unknown = await checkRedis({ redis: { url: server.url }, prefix: 'p' }).catch(
      (error: unknown) => error,
    );
    expect(String(fault)).toContain('it has no memory left');
    expect(exitCodeOfError(fault)).toBe(5);
    const queue = await createRunQueue({ redis: { url: server.url }, prefix: 'p', service: 's' }, 'prompt');
    const late: unknown = await queue.submit('r', 0).catch((error: unknown) => error);
    expect(exitCodeOfError(late)).toBe(5);
    await queue.close();
  });

  it('G7: gone for good keeps no worker from stopping', async () => {
    const server = await startPrivateRedis({ appendonly: false });
    const { lines, log } = collectingLog();
    const address = { redis: { url: server.url }, prefix: `t-${randomUUID()}`, service: 's' };
    const retry = { maxAttempts: 2, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs: 60_000 };
    const queue = await createRunQueue(address, 'lasting');
    const taken = deferred();
    const workers = await startWorkers({
      address,
      settings: { queues: ['export'], chunkConcurrency: () => 1, retry, graceMs: 200 },
      handlers: {
        async coordinate(_runId, signal) {
          taken.resolve();
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
          return { kind: 'again', delayMs: 1 };
        },
        work: async () => ({ kind: 'settled' }),
      },
      log,
      outages: new OutageJournal(log),
    });
    await queue.submit('r', 0);
    await taken.promise;
    await server.stop();
    await vi.waitFor(() => expect(lines.join('')).toContain('work waits for Redis'), patiently);
    await workers.stop();
    await queue.close();
    expect(lines.filter((line) => line.includes('"part":"redis"')).length).toBe(1);
    await server[Symbol.asyncDispose]();
  });

  it.each(['is gone', 'hangs'])(
    'G7: that %s: a stop ends the work that waits for it before it resolves, and tells no failure',
    async (how) => {
      await using server = await startPrivateRedis({ appendonly: false });
      const { lines, log } = collectingLog();
      const address = { redis: { url: server.url }, prefix: `t-${randomUUID()}`, service: 's' };
      const retry = { maxAttempts: 2, baseDelayMs: 5, maxDelayMs: 10, maxHoldMs: 60_000 };
      const queue = await createRunQueue(address, 'lasting');
      const [taken, away] = [deferred(), deferred()];
      const ends: unknown[] = [];
      const workers = await startWorkers({
        address,
        settings: { queues: ['export'], chunkConcurrency: () => 1, retry, graceMs: 200 },
        handlers: {
          async coordinate(runId) {
            taken.resolve();
            await away.promise;
            await queue.progress.read(runId).catch((error: unknown) => {
              ends.push(error);
              throw error;
            });
            return { kind: 'finished' };
          },
          work: async () => ({ kind: 'settled' }),
        },
        log,
        outages: new OutageJournal(log),
        onGivenUp: () => void queue.giveUp(),
      });
      await queue.submit('r', 0);
      await taken.promise;
      if (how === 'hangs') server.hang();
      else await server.kill();
      away.resolve();
      await workers.stop();
      expect(ends.map((error) => exitCodeOfError(error))).toEqual([5]);
      await queue.close();
      expect(lines.join('')).toContain('could not be handed back');
      expect(lines.join('')).not.toMatch(/"level":"?(error|50)|stack/);
    },
  );

  it.each(['is gone', 'hangs'])(
    'G7: that %s keeps no process of a worker from ending by itself, and the next one does what it left',
    async (how) => {
      await using redis = await startPrivateRedis({ appendonly: true });
      const wells = Array.from({ length: 12 }, (_, index) => `NO 15/9-F-${index}`);
      const data = givenDaily(wells.flatMap((uwi) => januaryRows(10, uwi)));
      await using server = await startTestingServer({ data, latencyMs: 300 });
      const config = 'worker: { graceMs: 500 }\nservice: { concurrency: 1 }\nexport: { chunkWells: 3 }\n';
      await using home = await cliHome(server.url, { redisUrl: redis.url, config });
      const first = home.start(['worker']);
      await first.hears('Working');
      const queued = await home.here([
        'export',
        'daily-production',
        ...wells.flatMap((uwi) => ['--uwi', uwi]),
        '--json',
      ]);
      const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(queued.stdout));
      await vi.waitFor(() => expect(server.state.requests().total).toBeGreaterThan(3), patiently);
      if (how === 'hangs') redis.hang();
      else await redis.stop();
      first.signal('SIGTERM');
      // Many times the grace: a worker that needs it does not end by itself.
      const guard = setTimeout(() => first.signal('SIGKILL'), 60_000);
      const { code, stderr } = await first.ended;
      clearTimeout(guard);
      expect(code, stderr).toBe(0);
      expect(stderr).not.toMatch(/"level":"error"|stack/);
      if (how === 'hangs') redis.goOn();
      else await redis.restart();
      // The interruption is over: the rest is read at once.
      server.state.setOptions({ latencyMs: 0 });
      const next = home.start(['worker']);
      await next.hears('Working');
      const shown = await home.here(['runs', 'show', runId, '--wait', '--json']);
      expect(JSON.parse(shown.stdout)).toMatchObject({
        state: 'done',
        units: { total: wells.length, done: wells.length },
      });
    },
  );
});
