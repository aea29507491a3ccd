import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ChunkDecision } from '../../../src/core/run/retry-decision.ts';
import type { ChunkItem, QueueHandlers, RunningWorkers, RunQueue } from '../../../src/queue/port.ts';
import { laneName } from '../../../src/queue/queue-names.ts';
import { createRunQueue } from '../../../src/queue/run-queue.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { startWorkers } from '../../../src/queue/workers.ts';
import { deferred } from '../../support/deferred.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const serviceKey = 'http://pds.example.com';
const log = pino({ level: 'silent' });
/** For events without a trigger: long, since a busy machine is not a fault. */
const patiently = { timeout: 20_000, interval: 20 };
/** A rate in items a second that no queue reaches: only a hold limits the queue. */
const unlimited = 1_000_000;
const retry = { maxAttempts: 3, baseDelayMs: 10, maxDelayMs: 20, maxHoldMs: 1_000 };

describe('queue items', () => {
  const open: Array<{ close(): Promise<void> }> = [];
  afterEach(async () => {
    for (const each of open.splice(0).toReversed()) await each.close();
  });

  async function newQueue(prefix: string, service = serviceKey): Promise<RunQueue> {
    const queue = await createRunQueue({ redis: { url: sharedRedisUrl() }, prefix, service }, 'lasting');
    open.push(queue);
    return queue;
  }

  async function workers(
    prefix: string,
    handlers: Partial<QueueHandlers>,
    graceMs = 5_000,
    service = serviceKey,
  ): Promise<RunningWorkers> {
    const running = await startWorkers({
      address: { redis: { url: sharedRedisUrl() }, prefix, service },
      settings: { queues: ['export'], chunkConcurrency: () => 2, retry, graceMs },
      handlers: {
        coordinate: async () => ({ kind: 'finished' }),
        work: async () => ({ kind: 'settled' }),
        ...handlers,
      },
      log,
      outages: new OutageJournal(log),
    });
    open.push({ close: () => running.stop() });
    return running;
  }

  async function openRun(queue: RunQueue, chunks: number): Promise<void> {
    const all = Array.from({ length: chunks }, (_, chunk) => chunk);
    await queue.progress.open('r', {
      queue: 'export',
      generation: 0,
      units: chunks,
      settledUnits: 0,
      counts: {},
      chunks: all,
    });
  }

  /** Replies with the verdicts in turn, the last one repeatedly; resolves after `calls` calls. */
  function scripted(calls: number, ...verdicts: ChunkDecision[]) {
    const seen: Array<{ item: ChunkItem; attempt: number }> = [];
    const { promise: called, resolve } = deferred();
    const work: QueueHandlers['work'] = async (item, attempt) => {
      seen.push({ item, attempt });
      if (seen.length === calls) resolve();
      return verdicts[Math.min(seen.length, verdicts.length) - 1] as ChunkDecision;
    };
    return { work, seen, called };
  }

  /** The chunks' queue as a BullMQ object. */
  function exportQueue(prefix: string): Queue {
    const queue = new Queue(laneName('export', 'small', serviceKey), { connection: { url: sharedRedisUrl() }, prefix });
    open.push(queue);
    return queue;
  }

  it('a coordinator is called again until its run is finished', async () => {
    const prefix = `test-${randomUUID()}`;
    let looks = 0;
    const { promise: finished, resolve } = deferred();
    await workers(prefix, {
      coordinate: async () => {
        looks += 1;
        if (looks < 3) return { kind: 'again', delayMs: 5 };
        resolve();
        return { kind: 'finished' };
      },
    });
    await (await newQueue(prefix)).submit('r', 0);
    await finished;
    expect(looks).toBe(3);
  });

  it('a coordinator that would look again in an hour looks at once when it is hastened', async () => {
    const prefix = `test-${randomUUID()}`;
    let looks = 0;
    const { promise: finished, resolve } = deferred();
    await workers(prefix, {
      coordinate: async () => {
        looks += 1;
        if (looks === 1) return { kind: 'again', delayMs: 3_600_000 };
        resolve();
        return { kind: 'finished' };
      },
    });
    const queue = await newQueue(prefix);
    await queue.hasten('r', 0);
    await queue.submit('r', 0);
    await vi.waitFor(async () => {
      await queue.hasten('r', 0);
      expect(looks).toBe(2);
    }, patiently);
    await finished;
  });

  it('G1: a run submitted twice has one coordinator', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await Promise.all([queue.submit('r', 0), queue.submit('r', 0)]);
    expect(await queue.isSubmitted('r', 0)).toBe(true);
    expect(await queue.isSubmitted('r', 1)).toBe(false);
    let looks = 0;
    const { promise: other, resolve } = deferred();
    await workers(prefix, {
      coordinate: async (runId) => {
        if (runId === 'r') looks += 1;
        else resolve();
        return { kind: 'finished' };
      },
    });
    await queue.submit('later', 0);
    await other;
    expect(looks).toBe(1);
  });

  it('a wave adds so many chunks and no chunk twice', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 5);
    expect(await queue.enqueueNext('r', 2)).toBe(2);
    expect(await queue.enqueueNext('r', 9)).toBe(3);
    expect(await queue.enqueueNext('r', 9)).toBe(0);
    const { work, seen, called } = scripted(5, { kind: 'settled' });
    await workers(prefix, { work });
    await called;
    expect(seen.map((call) => call.item.chunk).toSorted((left, right) => left - right)).toEqual([0, 1, 2, 3, 4]);
  });

  it('a verdict of retry waits for its delay, and comes back as the next attempt', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    const { work, seen, called } = scripted(2, { kind: 'retry', delayMs: 3_600_000 }, { kind: 'settled' });
    await workers(prefix, { work });
    await queue.enqueueNext('r', 1);

    const behind = exportQueue(prefix);
    const [waiting] = await vi.waitFor(async () => {
      const delayed = await behind.getDelayed();
      expect(delayed).toMatchObject([{ delay: 3_600_000, attemptsMade: 1 }]);
      return delayed;
    }, patiently);
    expect(seen.map((call) => call.attempt)).toEqual([1]);
    await waiting?.promote();
    await called;
    expect(seen.map((call) => call.attempt)).toEqual([1, 2]);
  });

  it('G7: a verdict of hold pauses the whole queue and uses no attempt', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 4);
    const behind = exportQueue(prefix);
    // Redis keeps the hold by its own clock, so each item first checks whether it is in force.
    const isHeld = async (): Promise<boolean> => (await behind.getRateLimitTtl(unlimited)) > 0;
    const starts: Array<{ attempt: number; isHeld: boolean }> = [];
    const { promise: twoBegan, resolve: secondBegins } = deferred();
    const { promise: allCame, resolve: lastComes } = deferred();
    let calls = 0;
    const work: QueueHandlers['work'] = async (_item, attempt) => {
      const call = (calls += 1);
      starts.push({ attempt, isHeld: await isHeld() });
      if (call === 2) secondBegins();
      if (call === 5) lastComes();
      if (call === 1) {
        await twoBegan;
        return { kind: 'hold', delayMs: 1_000 };
      }
      // The second one settles during the hold, when a worker is free to take the next.
      if (call === 2) await vi.waitFor(async () => expect(await isHeld()).toBe(true), patiently);
      return { kind: 'settled' };
    };
    await queue.enqueueNext('r', 4);
    await workers(prefix, { work });
    await allCame;
    expect(starts).toEqual(Array.from({ length: 5 }, () => ({ attempt: 1, isHeld: false })));
  });

  it('G7: a stop hands back chunks that do not finish within the grace period, and another worker takes them as the same attempt', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await queue.enqueueNext('r', 1);
    const { promise: begun, resolve: begin } = deferred();
    const first = await workers(
      prefix,
      {
        work: (_item, _attempt, signal) =>
          new Promise((resolve) => {
            begin();
            signal.addEventListener('abort', () => resolve({ kind: 'hand-back' }));
          }),
      },
      50,
    );
    await begun;
    await first.stop();
    expect(await queue.chunkStatuses('r')).toMatchObject([{ status: 'waiting' }]);
    const { work, seen, called } = scripted(1, { kind: 'settled' });
    await workers(prefix, { work });
    await called;
    expect(seen[0]?.attempt).toBe(1);
  });

  it('an item whose handler meets a bug is given up, with the reason', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await workers(prefix, { work: () => Promise.reject(new TypeError('x is not a function')) });

    await queue.enqueueNext('r', 1);
    await vi.waitFor(
      async () =>
        expect(await queue.chunkStatuses('r')).toMatchObject([
          { status: 'failed', reason: expect.stringContaining('x is not a function') },
        ]),
      patiently,
    );
  });

  it('G7: an item that has lost its worker far more often than it has units starts again', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await queue.enqueueNext('r', 1);
    const connection = { url: sharedRedisUrl(), maxRetriesPerRequest: null };
    const dying = new Worker(exportQueue(prefix).name, null, { connection, prefix, lockDuration: 1 });
    const item = await dying.getNextJob('its lock');
    await dying.close(true);
    const redis = new Redis(sharedRedisUrl());
    await redis.hset(exportQueue(prefix).toKey(item?.id ?? ''), 'stc', 1_000_000);
    redis.disconnect();
    const { work, seen, called } = scripted(1, { kind: 'settled' });
    await workers(prefix, { work });
    await called;
    expect(seen[0]?.attempt).toBe(1);
  });

  it('an item that Redis lost is said to be gone, and can be added again', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await queue.enqueueNext('r', 1);
    const redis = new Redis(sharedRedisUrl());
    const itemKeys = await redis.keys(`${prefix}:export-*`);
    await redis.del(...itemKeys);
    redis.disconnect();
    const [lost] = await queue.chunkStatuses('r');
    expect(lost?.status).toBe('gone');
    const { work, called } = scripted(1, { kind: 'settled' });
    await workers(prefix, { work });
    await queue.requeue('r', [{ runId: 'r', generation: 0, chunk: 0 }]);
    await called;
  });

  it('G11: an item of one service is never taken by a worker of another one, under the same prefix', async () => {
    const prefix = `test-${randomUUID()}`;
    const otherService = 'http://other.example.com';
    const [queue, other] = [await newQueue(prefix), await newQueue(prefix, otherService)];
    await openRun(queue, 1);
    const taken: string[] = [];
    const { promise: ended, resolve } = deferred();
    const coordinate = async (runId: string) => (taken.push(runId), { kind: 'finished' as const });
    await workers(prefix, { coordinate }, 5_000, otherService);
    await queue.submit('ours', 0);
    await queue.enqueueNext('r', 1);
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 0 });
    await other.submit('theirs', 0);
    await expect.poll(() => taken).toEqual(['theirs']);
    const { work, called } = scripted(1, { kind: 'settled' });
    await workers(prefix, { work, coordinate: async (runId) => (taken.push(runId), resolve(), { kind: 'finished' }) });
    await Promise.all([called, ended]);
    expect(taken).toEqual(['theirs', 'ours']);
  });

  it('counts the workers that listen at each queue', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 0 });
    await workers(prefix, {});
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 1 });
  });

  it('reckons the silence of the service by the clock of Redis, whatever those of the hosts say', async () => {
    const prefix = `test-${randomUUID()}`;
    const [ahead, behind] = [await newQueue(prefix), await newQueue(prefix)];
    const dayMs = 86_400_000;
    const realNow = Date.now;
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() + dayMs);
    await ahead.recordDown('export', 'service');
    vi.spyOn(Date, 'now').mockImplementation(() => realNow() - dayMs);
    const downForMs = await behind.recordDown('export', 'service');
    vi.restoreAllMocks();
    expect(downForMs).toBeGreaterThanOrEqual(0);
    expect(downForMs).toBeLessThan(dayMs);
  });

  it('remembers since when the service is silent, for all workers, until it is heard again', async () => {
    const prefix = `test-${randomUUID()}`;
    const [one, two] = [await newQueue(prefix), await newQueue(prefix)];
    const silentForMs = async (queue: RunQueue, leastMs: number): Promise<number> =>
      vi.waitFor(async () => {
        const silentMs = await queue.recordDown('export', 'service');
        expect(silentMs).toBeGreaterThanOrEqual(leastMs);
        return silentMs;
      }, patiently);
    await one.recordDown('export', 'service');
    const beforeMs = await silentForMs(two, 20);
    expect(await one.recordDown('export', 'service')).toBeGreaterThanOrEqual(beforeMs);
    const heardAtMs = performance.now();
    await two.recordUp('export');
    const silentAgainMs = await one.recordDown('export', 'service');
    // Both ends of the outage are whole milliseconds, so that it may appear one longer than it was.
    expect(silentAgainMs).toBeLessThanOrEqual(performance.now() - heardAtMs + 1);
  });
});
