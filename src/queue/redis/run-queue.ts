/** The producer side of the queue: adds runs and chunks, with ids that make adding idempotent, and the ticks of schedules. */
import { type JobsOptions, Queue, type RepeatOptions, type Worker, type WorkerOptions } from 'bullmq';
import type { OutagePart } from '../../core/base/errors.ts';
import { type ChunkQueueName, chunkQueues } from '../../core/run/job-description.ts';
import { sleep } from '../../timers/sleep.ts';
import {
  checkedData,
  chunkItemId,
  dataOf,
  ItemWorker,
  leaseItem,
  mostPayloadBytes,
  tickItemSchema,
  tryLease,
} from './items.ts';
import { createServiceHoldStore } from './limiter/hold-and-circuit.ts';
import {
  type ChunkItem,
  type ItemLease,
  type Lane,
  laneOf,
  lowestPriority,
  type NextTick,
  type QueuedChunk,
  type QueueHandlers,
  type RunProgress,
  type RunQueue,
  runsQueueName,
  type TickSchedule,
  ticksQueueName,
} from '../port.ts';
import { createQueueIdentity, laneName, type QueueAddress, queueName } from './queue-names.ts';
import { connectRedis, endAtOnce, type RedisHandle, redisNow, redisScript, runScript } from './clients.ts';
import { withOutages } from './fault.ts';
import { keyPrefix } from './settings.ts';
import { createItemStarts, createRunLogStore, RedisRunProgress } from './run-progress.ts';
import { createMetricStore } from './metric-store.ts';

/**
 * A completed item is kept for a while, for queue views. Limited by count as well, since BullMQ checks the age only
 * when another item ends (docs/queue.md section 6).
 */
const keepEnded = { age: 3_600, count: 200 };

/** How long an outage is remembered after it was met last, if no worker records its end. */
const forgetDownMs = 6 * 3_600_000;

/**
 * KEYS: start of the outage. ARGV: how long it is kept, ms. Returns the milliseconds since then, by the clock of Redis.
 * Met again, it is kept for longer: a hold must not begin anew while the outage lasts.
 */
const recordDownScript = redisScript(`
${redisNow}
redis.call('SET', KEYS[1], now, 'NX')
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return now - redis.call('GET', KEYS[1])`);

const outageParts: readonly OutagePart[] = ['service', 'warehouse', 'disk', 'files', 'redis'];

const countedStates = ['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const;

/** How long the end of a process waits for Redis. */
const closeMs = 2_000;

/**
 * Core's decision counts and limits the attempts; these only keep BullMQ from giving up earlier. To BullMQ each look of a coordinator
 * is one.
 */
const unlimitedAttempts = { attempts: 1_000_000_000, backoff: { type: 'verdict' } } as const;

/** One queue item for each run and generation: no `:` and no bare integer, which BullMQ refuses. */
const runItemId = (runId: string, generation: number): string => `${runId}-${generation}`;

/**
 * Connects, and checks only that Redis answers; throws UnreachableError('redis') otherwise. `prompt`, for a command,
 * fails within seconds when Redis goes away; `lasting` waits for it to come back.
 */
export async function createRunQueue(address: QueueAddress, kind: 'prompt' | 'lasting'): Promise<RunQueue> {
  const redis = await connectRedis(address.redis, kind);
  return withOutages(new BullRunQueue(redis, address));
}

class BullRunQueue implements RunQueue {
  readonly progress;
  readonly starts;
  readonly identity;
  readonly serviceHold;
  readonly metrics;
  readonly runLog;
  readonly #redis: RedisHandle;
  readonly #prefix: string;
  readonly #runs: Queue;
  readonly #service: string;
  #ticks: Queue | undefined;
  #isGivenUp = false;
  readonly #chunks: Readonly<Record<ChunkQueueName, Readonly<Record<Lane, Queue>>>>;

  constructor(redis: RedisHandle, address: QueueAddress) {
    const [prefix, { service }] = [keyPrefix(address), address];
    this.#redis = redis;
    this.#prefix = prefix;
    this.#service = service;
    this.progress = withOutages(new RedisRunProgress(redis, prefix));
    this.starts = withOutages(createItemStarts(redis, prefix));
    this.identity = withOutages(createQueueIdentity(redis, address));
    this.serviceHold = withOutages(createServiceHoldStore(redis, address));
    this.metrics = withOutages(createMetricStore(redis, address));
    this.runLog = withOutages(createRunLogStore(redis, prefix));
    const open = (name: string): Queue => {
      const queue = new Queue(name, { connection: redis, prefix });
      // A fault of the connection reaches the caller through its failed call.
      queue.on('error', () => {});
      return queue;
    };
    this.#runs = open(queueName(runsQueueName, service));
    this.#chunks = Object.fromEntries(
      chunkQueues.map((name) => [
        name,
        { large: open(laneName(name, 'large', service)), small: open(laneName(name, 'small', service)) },
      ]),
    ) as Record<ChunkQueueName, Record<Lane, Queue>>;
  }

  get isEnded(): boolean {
    return this.#isGivenUp || this.#redis.status === 'end';
  }

  async submit(runId: string, generation: number): Promise<void> {
    // A failed coordinator item is removed, so that a revived run gets a new one.
    const once = {
      jobId: runItemId(runId, generation),
      ...unlimitedAttempts,
      removeOnComplete: keepEnded,
      removeOnFail: true,
      sizeLimit: mostPayloadBytes,
    } satisfies JobsOptions;
    // A kept item would block a run that continues: a retry that died after its item had found the run ended.
    if ((await this.#runs.getJobState(once.jobId)) === 'completed') await this.#runs.remove(once.jobId);
    await this.#runs.add('coordinate', { runId }, once);
  }

  async isSubmitted(runId: string, generation: number): Promise<boolean> {
    const state = await this.#runs.getJobState(runItemId(runId, generation));
    return state !== 'unknown' && state !== 'failed' && state !== 'completed';
  }

  async hasten(runId: string, generation: number): Promise<void> {
    try {
      const item = await this.#runs.getJob(runItemId(runId, generation));
      await item?.promote();
    } catch {
      // The item is not delayed, or Redis does not answer.
    }
  }

  async enqueueNext(runId: string, limit: number): Promise<number> {
    const progress = await this.progress.read(runId);
    if (progress === undefined) return 0;
    const { chunks, cursor } = await this.progress.nextChunks(runId, limit);
    await this.#add(
      this.#laneOf(progress),
      chunks.map((chunk) => ({ runId, generation: progress.generation, chunk })),
      cursor - chunks.length,
    );
    // After the items: after a crash in between they are added again, under the same ids.
    await this.progress.recordAdded(runId, cursor);
    return chunks.length;
  }

  async chunkStatuses(runId: string): Promise<readonly QueuedChunk[]> {
    const progress = await this.progress.read(runId);
    if (progress === undefined) return [];
    const chunks = await this.progress.chunksInFlight(runId);
    const lane = this.#laneOf(progress);
    return Promise.all(chunks.map((chunk) => this.#statusOf(lane, { runId, generation: progress.generation, chunk })));
  }

  #laneOf({ queue, chunks }: Pick<RunProgress, 'queue' | 'chunks'>): Queue {
    return this.#chunks[queue][laneOf(queue, chunks)];
  }

  async #statusOf(queue: Queue, item: ChunkItem): Promise<QueuedChunk> {
    const state = await queue.getJobState(chunkItemId(item));
    if (state === 'active') {
      const isLocked = (await this.#redis.exists(`${queue.toKey(chunkItemId(item))}:lock`)) === 1;
      return { item, status: isLocked ? 'active' : 'stalled' };
    }
    if (state === 'failed') {
      const job = await queue.getJob(chunkItemId(item));
      return { item, status: 'failed', reason: job?.failedReason ?? 'no reason kept' };
    }
    // An item that completed without an end in the progress counts as gone.
    if (state === 'unknown' || state === 'completed') return { item, status: 'gone' };
    return { item, status: 'waiting' };
  }

  async requeue(runId: string, items: readonly ChunkItem[]): Promise<void> {
    const progress = await this.progress.read(runId);
    if (progress === undefined) return;
    const lane = this.#laneOf(progress);
    for (const item of items) await lane.remove(chunkItemId(item));
    await this.#add(lane, items, 0);
  }

  /**
   * `first`: position of the first item in its run. Runs of one lane take turns, item by item
   * (docs/decisions/0022-runs-share-the-requests.md). All items have a priority, since those without one go before all
   * others.
   */
  async #add(lane: Queue, items: readonly ChunkItem[], first: number): Promise<void> {
    if (items.length === 0) return;
    const jobs = items.map((item, position) => ({
      name: 'chunk',
      data: dataOf(item),
      opts: {
        jobId: chunkItemId(item),
        priority: Math.min(lowestPriority, 1 + first + position),
        ...unlimitedAttempts,
        removeOnComplete: keepEnded,
        removeOnFail: keepEnded,
        sizeLimit: mostPayloadBytes,
      } satisfies JobsOptions,
    }));
    await lane.addBulk(jobs);
  }

  async lease({ runId, chunk }: ChunkItem, signal: AbortSignal): Promise<ItemLease> {
    // Without the generation: a retried run must not race with the rest of its previous generation.
    return leaseItem(this.#redis, `${this.#prefix}:lease:${runId}:${chunk}`, signal);
  }

  async tryLease(work: string): Promise<ItemLease | undefined> {
    return tryLease(this.#redis, `${this.#prefix}:lease:${work}`);
  }

  async keepTicks(
    schedules: readonly TickSchedule[],
    nextTick: NextTick,
    others: readonly string[] = [],
  ): Promise<void> {
    this.#ticks ??= new Queue(queueName(ticksQueueName, this.#service), {
      connection: this.#redis,
      prefix: this.#prefix,
      settings: { repeatStrategy: repeatBy(nextTick) },
    }).on('error', () => {});
    await keepTickSchedulers(this.#ticks, schedules, others);
  }

  async workers() {
    return Promise.all(
      this.#named().map(async ([name, [queue]]) => ({ queue: name, workers: await queue.getWorkersCount() })),
    );
  }

  async itemCounts() {
    const counted = this.#named().map(async ([name, lanes]) => {
      const counts = await Promise.all(lanes.map((lane) => lane.getJobCounts(...countedStates)));
      const itemsIn = (state: string): number => counts.reduce((sum, lane) => sum + (lane[state] ?? 0), 0);
      return countedStates.map((state) => ({ queue: name, state, items: itemsIn(state) }));
    });
    return (await Promise.all(counted)).flat();
  }

  /** Every queue with its lanes, the one of large runs first. */
  #named(): ReadonlyArray<readonly [name: string, lanes: readonly [Queue, ...Queue[]]]> {
    return [
      [runsQueueName, [this.#runs]],
      ...Object.entries(this.#chunks).map(([name, { large, small }]) => [name, [large, small]] as const),
    ];
  }

  async recordDown(queue: ChunkQueueName, part: OutagePart): Promise<number> {
    return Number(await runScript(this.#redis, recordDownScript, [this.#downKey(queue, part)], [forgetDownMs]));
  }

  async recordUp(queue: ChunkQueueName): Promise<void> {
    await this.#redis.del(...outageParts.map((part) => this.#downKey(queue, part)));
  }

  #downKey(queue: ChunkQueueName, part: OutagePart): string {
    return `${this.#prefix}:down-since:${part}:${queueName(queue, this.#service)}`;
  }

  async giveUp(): Promise<void> {
    this.#isGivenUp = true;
    endAtOnce(this.#redis);
  }

  async close(): Promise<void> {
    if (this.#isGivenUp) return;
    const queues = [...this.#named().flatMap(([, lanes]) => lanes), this.#ticks];
    const closing = Promise.all(queues.map(async (queue) => queue?.close()));
    await Promise.race([closing.catch(() => undefined), sleep(closeMs, { ref: false })]);
    this.#redis.disconnect();
  }
}

// The ticks of schedules by BullMQ's job schedulers. They only wake a worker: which ticks are due, and which were taken, is
// decided by the ledger (docs/design.md section 11). So one that Redis loses is late, and one that comes twice starts
// nothing.

/** Marks the schedulers that are ours. */
const marker = 'schedule:';

/** A tick that was worked is of no use any more. */
const notKept = { removeOnComplete: true, removeOnFail: true, sizeLimit: mostPayloadBytes } as const;

/** In the place of BullMQ's own reading of a cron, which loses or doubles ticks when the clocks change. */
function repeatBy(nextTick: NextTick) {
  return (afterMs: number, { pattern = '', tz = 'UTC' }: RepeatOptions): number | undefined =>
    nextTick({ cron: pattern, timeZone: tz }, afterMs);
}

/** Writes the schedulers that are missing or differ, and removes those of ours that are neither wanted nor of `others`. */
async function keepTickSchedulers(
  queue: Queue,
  schedules: readonly TickSchedule[],
  others: readonly string[],
): Promise<void> {
  const left = new Set(others.map((name) => `${marker}${name}`));
  const wanted = new Map(schedules.map((schedule) => [`${marker}${schedule.name}`, schedule]));
  for (const { key, pattern, tz } of await queue.getJobSchedulers(0, -1, true)) {
    const same = wanted.get(key);
    // Writing it again would throw a tick away that is due and was not taken.
    if (same !== undefined && same.cron === pattern && same.timeZone === tz) wanted.delete(key);
    else if (same === undefined && key.startsWith(marker) && !left.has(key)) await queue.removeJobScheduler(key);
  }
  for (const [key, { name, cron, timeZone }] of wanted) {
    const template = { name: 'tick', data: { schedule: name }, opts: notKept };
    await queue.upsertJobScheduler(key, { pattern: cron, tz: timeZone }, template);
  }
}

/** The worker of ticks, in a process that works schedules. */
export function ticksWorkers({ ticks }: QueueHandlers, queue: string, options: WorkerOptions): readonly Worker[] {
  if (ticks === undefined) return [];
  const settings = { ...options.settings, repeatStrategy: repeatBy(ticks.next) };
  const worker = new ItemWorker<{ schedule: string }>(
    queue,
    async (job) => {
      const { schedule } = checkedData(job, tickItemSchema);
      await ticks.take(schedule, job.opts.prevMillis ?? Date.now());
    },
    { ...options, settings, maxStalledCount: Number.MAX_SAFE_INTEGER },
  );
  return [worker];
}
