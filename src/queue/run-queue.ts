/** The producer's side of the queue: runs and chunks go in, with ids that make adding again harmless. */
import { Queue, type JobsOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { TransientError } from '../core/errors.ts';
import { createRunBoard } from './board.ts';
import { leaseItem } from './lease.ts';
import {
  chunkQueues,
  runsQueueName,
  type ChunkItem,
  type ChunkQueueName,
  type ChunkStanding,
  type ItemLease,
  type RunQueue,
} from './port.ts';
import { connectRedis } from './redis.ts';

/** An item that is done is kept for a while, so that a queue view has something to show; by count, since age alone is only looked at when another ends (QUEUE.md). */
const keepEnded = { age: 3_600, count: 200 };

/** How long the service's silence is remembered when nobody notes its end. */
const forgetDownMs = 6 * 3_600_000;

/** Attempts are counted and bounded by core's verdict; this only keeps BullMQ from giving up before it. */
const moreAttemptsThanAnyPolicy = 1_000;

/** One queue item a run and round: no `:` and no bare integer, which BullMQ minds. */
const runItemId = (runId: string, round: number): string => `${runId}-${round}`;
const chunkItemId = (item: ChunkItem): string => `${item.runId}-${item.round}-${item.chunk}`;

/**
 * Connects and checks nothing but that Redis answers: UnreachableError('redis') otherwise. `prompt` is for a command, and
 * fails within seconds when Redis goes away; `lasting` waits for it to come back.
 */
export async function createRunQueue(options: {
  readonly url: string;
  readonly prefix: string;
  readonly kind: 'prompt' | 'lasting';
}): Promise<RunQueue> {
  const redis = await connectRedis(options.url, options.kind);
  return new BullRunQueue(redis, options.prefix);
}

class BullRunQueue implements RunQueue {
  readonly board;
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #runs: Queue;
  readonly #chunks: Readonly<Record<ChunkQueueName, Queue>>;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.board = createRunBoard(redis, prefix);
    const open = (name: string): Queue => {
      const queue = new Queue(name, { connection: redis, prefix });
      // A fault of the connection reaches the caller through the call that met it.
      queue.on('error', () => {});
      return queue;
    };
    this.#runs = open(runsQueueName);
    this.#chunks = Object.fromEntries(chunkQueues.map((name) => [name, open(name)])) as Record<ChunkQueueName, Queue>;
  }

  async submit(runId: string, round: number): Promise<void> {
    // A conductor that failed is removed, so that a revived run gets a new one.
    const once: JobsOptions = { jobId: runItemId(runId, round), removeOnComplete: keepEnded, removeOnFail: true };
    await this.#runs.add('conduct', { runId }, once);
  }

  async isSubmitted(runId: string, round: number): Promise<boolean> {
    const state = await this.#runs.getJobState(runItemId(runId, round));
    return state !== 'unknown' && state !== 'failed';
  }

  async addWave(runId: string, limit: number): Promise<number> {
    const board = await this.board.read(runId);
    if (board === undefined) return 0;
    const { chunks, addedThen } = await this.board.nextChunks(runId, limit);
    await this.#add(
      board.queue,
      chunks.map((chunk) => ({ runId, round: board.round, chunk })),
    );
    // After the items: a crash in between adds them again, under the same ids.
    await this.board.noteAdded(runId, addedThen);
    return chunks.length;
  }

  async standings(runId: string): Promise<readonly ChunkStanding[]> {
    const board = await this.board.read(runId);
    if (board === undefined) return [];
    const chunks = await this.board.chunksInFlight(runId);
    return Promise.all(chunks.map((chunk) => this.#standing(board.queue, { runId, round: board.round, chunk })));
  }

  async #standing(queueName: ChunkQueueName, item: ChunkItem): Promise<ChunkStanding> {
    const queue = this.#chunks[queueName];
    const state = await queue.getJobState(chunkItemId(item));
    if (state === 'active') return { item, standing: 'active' };
    if (state === 'failed') {
      const job = await queue.getJob(chunkItemId(item));
      return { item, standing: 'failed', reason: job?.failedReason ?? 'no reason kept' };
    }
    // One that is completed without having ended on the board is as good as gone.
    if (state === 'unknown' || state === 'completed') return { item, standing: 'gone' };
    return { item, standing: 'waiting' };
  }

  async addAgain(queueName: ChunkQueueName, items: readonly ChunkItem[]): Promise<void> {
    for (const item of items) await this.#chunks[queueName].remove(chunkItemId(item));
    await this.#add(queueName, items);
  }

  async #add(queueName: ChunkQueueName, items: readonly ChunkItem[]): Promise<void> {
    if (items.length === 0) return;
    const jobs = items.map((item) => ({
      name: 'chunk',
      data: item,
      opts: {
        jobId: chunkItemId(item),
        attempts: moreAttemptsThanAnyPolicy,
        backoff: { type: 'verdict' },
        removeOnComplete: keepEnded,
        removeOnFail: keepEnded,
      } satisfies JobsOptions,
    }));
    await this.#chunks[queueName].addBulk(jobs);
  }

  async lease({ runId, chunk }: ChunkItem, signal: AbortSignal): Promise<ItemLease> {
    // Without the round: a run that is taken up again must not race with what is left of its last round.
    return leaseItem(this.#redis, `${this.#prefix}:lease:${runId}:${chunk}`, signal);
  }

  async workers() {
    const queues = [this.#runs, ...Object.values(this.#chunks)];
    return Promise.all(queues.map(async (queue) => ({ queue: queue.name, workers: await queue.getWorkersCount() })));
  }

  async noteDown(queueName: ChunkQueueName): Promise<number> {
    const key = this.#downKey(queueName);
    await this.#redis.set(key, Date.now(), 'PX', forgetDownMs, 'NX');
    const since = await this.#redis.get(key);
    if (since === null) throw new TransientError('redis-lost', 'Redis did not keep what it was told');
    return Math.max(0, Date.now() - Number(since));
  }

  async noteUp(queueName: ChunkQueueName): Promise<void> {
    await this.#redis.del(this.#downKey(queueName));
  }

  #downKey(queueName: ChunkQueueName): string {
    return `${this.#prefix}:down-since:${queueName}`;
  }

  async close(): Promise<void> {
    await Promise.all([this.#runs, ...Object.values(this.#chunks)].map((queue) => queue.close()));
    this.#redis.disconnect();
  }
}
