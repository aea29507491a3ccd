/**
 * The forms of the queue that hold one contract: on the Redis of the tests, in the memory of one process, and on the Redis in
 * memory that models work on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { EmbeddedQueue } from '../../src/queue/embedded/run-queue.ts';
import { startEmbeddedWorkers } from '../../src/queue/embedded/workers.ts';
import type { ItemStartStore, MetricStore, RunningWorkers, RunProgressStore, RunQueue } from '../../src/queue/port.ts';
import { laneName } from '../../src/queue/redis/queue-names.ts';
import { createItemStarts, RedisRunProgress } from '../../src/queue/redis/run-progress.ts';
import { createRunQueue } from '../../src/queue/redis/run-queue.ts';
import { createMetricStore } from '../../src/queue/redis/metric-store.ts';
import { startWorkers } from '../../src/queue/redis/workers.ts';
import { memoryLane, memoryProgress, memoryQueue, memoryStarts } from './memory-queue.ts';
import { memoryProcess, memoryRedis, type MemoryProcess, type MemoryRedis } from './memory-redis.ts';
import { memoryMetrics } from './memory-stores.ts';
import { startMemoryWorkers } from './memory-workers.ts';
import { sharedRedisUrl } from './redis.ts';

const service = 'http://pds.example.com';
/** A rate in items a second that no queue reaches: only a hold limits the queue. */
const unlimited = 1_000_000;

interface Stores {
  readonly progress: RunProgressStore;
  readonly starts: ItemStartStore;
  readonly metrics: MetricStore;
  close(): void;
}

/** Those that are called with a prefix see one another by it. */
export interface QueueForm {
  readonly name: 'Redis' | 'embedded' | 'memory';
  /** Lets time pass: the real one, or that of the form's clock. */
  pass(ms: number): Promise<void>;
  stores(prefix: string): Stores;
  /** A queue of another process each time. */
  queue(prefix: string, kind?: 'prompt' | 'lasting'): Promise<RunQueue>;
  workers(prefix: string, options: Omit<Parameters<typeof startWorkers>[0], 'address'>): Promise<RunningWorkers>;
  /** Whether a hold keeps the small exports back. */
  isHeld(prefix: string): Promise<boolean>;
  /** The small exports that wait for a delay, with what lets it be over. */
  delayed(
    prefix: string,
  ): Promise<
    ReadonlyArray<{ readonly delay: number; readonly attemptsMade: number; readonly promote: () => Promise<void> }>
  >;
  /** Loses the items, and keeps the progress of runs. */
  loseItems(prefix: string): Promise<void>;
}

const addressOf = (prefix: string) => ({ redis: { url: sharedRedisUrl() }, prefix, service });

async function withRedis<T>(use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(sharedRedisUrl(), { maxRetriesPerRequest: null });
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** Uses the queue of small exports as a BullMQ object. */
async function withExports<T>(prefix: string, use: (queue: Queue) => Promise<T>): Promise<T> {
  return withRedis(async (connection) => {
    const queue = new Queue(laneName('export', 'small', service), { connection, prefix });
    try {
      return await use(queue);
    } finally {
      await queue.close();
    }
  });
}

const inRedis: QueueForm = {
  name: 'Redis',
  pass: (ms) => sleep(ms),
  stores(prefix) {
    const redis = new Redis(sharedRedisUrl());
    return {
      progress: new RedisRunProgress(redis, prefix),
      starts: createItemStarts(redis, prefix),
      metrics: createMetricStore(redis, addressOf(prefix)),
      close: () => redis.disconnect(),
    };
  },
  queue: (prefix, kind = 'lasting') => createRunQueue(addressOf(prefix), kind),
  workers: (prefix, options) => startWorkers({ address: addressOf(prefix), ...options }),
  isHeld: (prefix) => withExports(prefix, async (queue) => (await queue.getRateLimitTtl(unlimited)) > 0),
  delayed: (prefix) =>
    withExports(prefix, async (queue) =>
      (await queue.getDelayed()).map(({ id = '', delay, attemptsMade }) => ({
        delay,
        attemptsMade,
        promote: () => withExports(prefix, async (again) => (await again.getJob(id))?.promote()),
      })),
    ),
  loseItems: (prefix) =>
    withRedis(async (redis) => void (await redis.del(...(await redis.keys(`${prefix}:export-*`))))),
};

/** The clock of the form in memory, of all its states. */
let nowMs = 1_000_000;
const states = new Map<string, MemoryRedis>();

function stateAt(prefix: string): MemoryRedis {
  const state = states.get(prefix) ?? memoryRedis();
  states.set(prefix, state);
  return state;
}

const processAt = (prefix: string): MemoryProcess => memoryProcess(stateAt(prefix), { now: () => nowMs });
/** Long enough for all that needs no time. */
const settle = (): Promise<void> => sleep(1);

const inMemory: QueueForm = {
  name: 'memory',
  async pass(ms) {
    await settle();
    nowMs += ms;
    for (const state of states.values()) state.poke();
    await settle();
  },
  stores(prefix) {
    const own = processAt(prefix);
    return {
      progress: memoryProgress(own),
      starts: memoryStarts(own),
      metrics: memoryMetrics(own),
      close: () => undefined,
    };
  },
  queue: async (prefix) => memoryQueue(processAt(prefix)),
  workers: async (prefix, options) => startMemoryWorkers({ own: processAt(prefix), ...options }),
  isHeld: async (prefix) => nowMs < (stateAt(prefix).heldUntilMs.get(memoryLane('export', 'small')) ?? 0),
  async delayed(prefix) {
    const items = [...stateAt(prefix).items.values()].filter((item) => item.state === 'delayed');
    return items.map(({ atMs, attemptsMade }) => {
      const delay = atMs - nowMs;
      return { delay, attemptsMade, promote: () => inMemory.pass(delay) };
    });
  },
  loseItems: async (prefix) => stateAt(prefix).loseItems(),
};

const embeddedQueues = new Map<string, EmbeddedQueue>();
/** Time of the embedded form: the real one, and what was passed over. */
let aheadMs = 0;
const embeddedNow = (): number => Date.now() + aheadMs;

/** One process has it: those of one prefix are the same. */
function embeddedAt(prefix: string): EmbeddedQueue {
  const queue =
    embeddedQueues.get(prefix) ??
    new EmbeddedQueue({
      queueId: prefix,
      now: embeddedNow,
      // Its state goes with its process.
      store: { read: async () => [], write: async () => undefined },
    });
  embeddedQueues.set(prefix, queue);
  return queue;
}

const exportLane = (prefix: string) => embeddedAt(prefix).lane('export/small');

const embedded: QueueForm = {
  name: 'embedded',
  async pass(ms) {
    await settle();
    aheadMs += ms;
    for (const queue of embeddedQueues.values()) queue.changed();
    await settle();
  },
  stores(prefix) {
    const { progress, starts, metrics } = embeddedAt(prefix);
    return { progress, starts, metrics, close: () => undefined };
  },
  queue: async (prefix) => embeddedAt(prefix),
  workers: async (prefix, options) => startEmbeddedWorkers({ queue: embeddedAt(prefix), now: embeddedNow, ...options }),
  isHeld: async (prefix) => embeddedNow() < exportLane(prefix).heldUntilMs,
  async delayed(prefix) {
    const items = [...exportLane(prefix).all].filter(({ state }) => state === 'delayed');
    return items.map((item) => ({
      // As it was put off: the time since then is of no test.
      delay: Math.ceil((item.dueAtMs - embeddedNow()) / 10_000) * 10_000,
      attemptsMade: item.attemptsMade,
      promote: async () => {
        exportLane(prefix).putBack(item, 'back');
        embeddedAt(prefix).changed();
      },
    }));
  },
  loseItems: async (prefix) => {
    const lane = exportLane(prefix);
    for (const { id } of lane.all) lane.remove(id);
  },
};

export const queueForms: readonly QueueForm[] = [inRedis, embedded, inMemory];
