import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ChunkDecision } from '../../../src/core/run/retry-decision.ts';
import {
  type ChunkItem,
  type QueueHandlers,
  type RunningWorkers,
  type RunQueue,
  runsQueueName,
} from '../../../src/queue/port.ts';
import { laneName, queueName } from '../../../src/queue/redis/queue-names.ts';
import { createRunQueue } from '../../../src/queue/redis/run-queue.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { startWorkers } from '../../../src/queue/redis/workers.ts';
import { deferred } from '../../support/deferred.ts';
import { queueForms } from '../../support/queue-forms.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const serviceKey = 'http://pds.example.com';
const log = pino({ level: 'silent' });
/** For events without a trigger: long, since a busy machine is not a fault. */
const patiently = { timeout: 20_000, interval: 20 };
const retry = { maxAttempts: 3, baseDelayMs: 10, maxDelayMs: 20, maxHoldMs: 1_000 };

const open: Array<{ close(): Promise<void> }> = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

function closedLater<T extends { close(): Promise<void> }>(part: T): T {
  open.push(part);
  return part;
}

function stoppedLater(running: RunningWorkers): RunningWorkers {
  open.push({ close: () => running.stop() });
  return running;
}

/** What workers are started with, beside the address of their queue. */
function optionsOf(handlers: Partial<QueueHandlers>, graceMs = 5_000, concurrency = 2) {
  return {
    settings: { queues: ['export'] as const, chunkConcurrency: () => concurrency, retry, graceMs },
    handlers: {
      coordinate: async () => ({ kind: 'finished' as const }),
      work: async () => ({ kind: 'settled' as const }),
      ...handlers,
    },
    log,
    outages: new OutageJournal(log),
  };
}

async function openRun(queue: RunQueue, chunks: number, runId = 'r'): Promise<void> {
  const all = Array.from({ length: chunks }, (_, chunk) => chunk);
  await queue.progress.open(runId, {
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

describe.each(queueForms)('queue items in $name', (form) => {
  const newQueue = async (prefix: string) => closedLater(await form.queue(prefix));
  const workers = async (prefix: string, ...options: Parameters<typeof optionsOf>) =>
    stoppedLater(await form.workers(prefix, optionsOf(...options)));

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
    for (let delay = 0; delay < 2; delay += 1) await form.pass(5);
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

  it('chunks of two runs take turns, one that is handed back comes before its equals, and a retry after them', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    for (const run of ['r', 's']) {
      await openRun(queue, 3, run);
      await queue.enqueueNext(run, 3);
    }
    const verdicts: Readonly<Record<number, ChunkDecision>> = {
      1: { kind: 'hand-back' },
      2: { kind: 'retry', delayMs: 0 },
      5: { kind: 'hand-back' },
    };
    const order: string[] = [];
    const { promise: called, resolve } = deferred();
    const work: QueueHandlers['work'] = async ({ runId, chunk }, attempt) => {
      order.push(`${runId}${chunk} ${attempt}`);
      if (order.length === 9) resolve();
      return verdicts[order.length] ?? { kind: 'settled' };
    };
    await workers(prefix, { work }, 5_000, 1);
    await called;
    expect(order).toEqual(['r0 1', 'r0 1', 's0 1', 'r0 2', 'r1 1', 'r1 1', 's1 1', 'r2 1', 's2 1']);
  });

  it('a verdict of retry waits for its delay, and comes back as the next attempt', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    const { work, seen, called } = scripted(2, { kind: 'retry', delayMs: 3_600_000 }, { kind: 'settled' });
    await workers(prefix, { work });
    await queue.enqueueNext('r', 1);

    const [waiting] = await vi.waitFor(async () => {
      const delayed = await form.delayed(prefix);
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
    // Redis keeps the hold by its own clock, so each item first checks whether it is in force.
    const isHeld = (): Promise<boolean> => form.isHeld(prefix);
    const starts: Array<{ attempt: number; isHeld: boolean }> = [];
    const { promise: twoBegan, resolve: secondBegins } = deferred();
    const { promise: oneSettles, resolve: secondSettles } = deferred();
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
      if (call === 2) {
        await vi.waitFor(async () => expect(await isHeld()).toBe(true), patiently);
        secondSettles();
      }
      return { kind: 'settled' };
    };
    await queue.enqueueNext('r', 4);
    await workers(prefix, { work });
    await oneSettles;
    await form.pass(1_000);
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
    const stopping = first.stop();
    await form.pass(50);
    await stopping;
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

  it('an item that Redis lost is said to be gone, and can be added again', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    await openRun(queue, 1);
    await queue.enqueueNext('r', 1);
    await form.loseItems(prefix);
    const [lost] = await queue.chunkStatuses('r');
    expect(lost?.status).toBe('gone');
    const { work, called } = scripted(1, { kind: 'settled' });
    await workers(prefix, { work });
    await queue.requeue('r', [{ runId: 'r', generation: 0, chunk: 0 }]);
    await called;
  });

  it('counts the workers that listen at each queue', async () => {
    const prefix = `test-${randomUUID()}`;
    const queue = await newQueue(prefix);
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 0 });
    await workers(prefix, {});
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 1 });
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
    await form.pass(20);
    const beforeMs = await silentForMs(two, 20);
    expect(await one.recordDown('export', 'service')).toBeGreaterThanOrEqual(beforeMs);
    const heardAtMs = performance.now();
    await two.recordUp('export');
    const silentAgainMs = await one.recordDown('export', 'service');
    // Both ends of the outage are whole milliseconds, so that it may appear one longer than it was.
    expect(silentAgainMs).toBeLessThanOrEqual(performance.now() - heardAtMs + 1);
  });
});

// What a clock of a host, a key of BullMQ, or a second service beside the first would change.
describe('queue items in Redis itself', () => {
  const addressOf = (prefix: string, service: string) => ({ redis: { url: sharedRedisUrl() }, prefix, service });
  const newQueue = async (prefix: string, service = serviceKey) =>
    closedLater(await createRunQueue(addressOf(prefix, service), 'lasting'));
  const workers = async (prefix: string, handlers: Partial<QueueHandlers>, service = serviceKey) =>
    stoppedLater(await startWorkers({ address: addressOf(prefix, service), ...optionsOf(handlers) }));

  /** The chunks' queue as a BullMQ object. */
  const exportQueue = (prefix: string): Queue => bullQueue(prefix, laneName('export', 'small', serviceKey));

  function bullQueue(prefix: string, name: string): Queue {
    return closedLater(new Queue(name, { connection: { url: sharedRedisUrl() }, prefix }));
  }

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

  it.each(['chunk', 'coordinator'])(
    'G7: the item of a %s whose lock is gone when it is reported, and there again at the next call, is not given up',
    async (kind) => {
      const prefix = `test-${randomUUID()}`;
      const queue = await newQueue(prefix);
      await openRun(queue, 1);
      const redis = new Redis(sharedRedisUrl());
      open.push({ close: async () => redis.disconnect() });
      const lock = { key: '', token: '' };
      // As the failover of a Redis may do, which loses the newest writes.
      const url = await relayed(async (reply) => {
        if (!reply.includes(missingLock) || lock.key === '') return;
        await redis.set(lock.key, lock.token, 'PX', 10_000);
      });
      const items = kind === 'chunk' ? exportQueue(prefix) : bullQueue(prefix, queueName(runsQueueName, serviceKey));
      let calls = 0;
      const called = async (): Promise<void> => {
        calls += 1;
        if (calls > 1) return;
        const [item] = await items.getActive();
        lock.key = `${items.toKey(item?.id ?? '')}:lock`;
        lock.token = (await redis.getdel(lock.key)) ?? '';
      };
      const address = { redis: { url }, prefix, service: serviceKey };
      const work: QueueHandlers['work'] = async () => (await called(), { kind: 'settled' });
      const coordinate: QueueHandlers['coordinate'] = async () => (await called(), { kind: 'again', delayMs: 60_000 });
      stoppedLater(await startWorkers({ address, ...optionsOf({ work, coordinate }) }));
      if (kind === 'chunk') await queue.enqueueNext('r', 1);
      else await queue.submit('r', 0);
      await vi.waitFor(async () => {
        expect(await items.getFailedCount()).toBe(0);
        expect(calls).toBe(2);
      }, patiently);
    },
  );

  /** The reply of a script of BullMQ. */
  const missingLock = ':-2\r\n';

  /** The address of the Redis of the tests behind a relay, which calls `before` with each reply before it passes it on. */
  async function relayed(before: (reply: string) => Promise<void>): Promise<string> {
    const { hostname, port, href } = new URL(sharedRedisUrl());
    const relay = createServer((client) => {
      const server = connect(Number(port), hostname);
      client.pipe(server);
      const pass = async (reply: Buffer) => (await before(reply.toString('latin1')), reply);
      pipeline(server, (replies: AsyncIterable<Buffer>) => Readable.from(replies).map(pass), client).catch(
        () => undefined,
      );
      client.on('error', () => server.destroy());
    });
    await once(relay.listen(0, '127.0.0.1'), 'listening');
    open.push({ close: async () => void relay.close() });
    const address = new URL(href);
    address.port = String((relay.address() as AddressInfo).port);
    address.hostname = '127.0.0.1';
    return address.href;
  }

  it('G11: an item of one service is never taken by a worker of another one, under the same prefix', async () => {
    const prefix = `test-${randomUUID()}`;
    const otherService = 'http://other.example.com';
    const [queue, other] = [await newQueue(prefix), await newQueue(prefix, otherService)];
    await openRun(queue, 1);
    const taken: string[] = [];
    const { promise: ended, resolve } = deferred();
    const coordinate = async (runId: string) => (taken.push(runId), { kind: 'finished' as const });
    await workers(prefix, { coordinate }, otherService);
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
});
