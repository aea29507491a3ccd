/** The consumer side of the queue: takes items, passes them to the engine, and translates its decisions for BullMQ. */
import {
  DelayedError,
  Queue,
  type Job as QueueJob,
  UnrecoverableError,
  WaitingError,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import type { Logger } from 'pino';
import { faultOf, holdDelayMs, outagePartOf, type OutageRecord, TransientError } from '../../core/base/errors.ts';
import { type ChunkDecision, decideUnit } from '../../core/run/retry-decision.ts';
import { sleep } from '../../timers/sleep.ts';
import {
  checkedData,
  type ChunkItemData,
  chunkItemSchema,
  ForeignItemError,
  itemOf,
  ItemWorker,
  runItemSchema,
  shownId,
  workOf,
} from './items.ts';
import {
  coordinatorConcurrency,
  lanesOf,
  type QueueHandlers,
  type RunningWorkers,
  runsQueueName,
  ticksQueueName,
  type WorkerSettings,
} from '../port.ts';
import { laneName, type QueueAddress, queueName } from './queue-names.ts';
import { connectRedis, type RedisHandle } from './clients.ts';
import { redisOutage } from './fault.ts';
import { keyPrefix } from './settings.ts';
import { RedisWatch, RepeatedLines } from './check.ts';
import { ticksWorkers } from './run-queue.ts';

/**
 * A killed worker's item restarts within lockDuration + stalledInterval, 8 to 13 s as measured in docs/queue.md section
 * 4 (G7). A stall uses no attempt.
 */
const liveness = { lockDuration: 10_000, stalledInterval: 5_000 };

/** Starts of a coordinator's step that may die: one that kills each worker is not begun for ever. */
const coordinatorDeaths = { maxStalledCount: 400 };

/**
 * What becomes of a chunk whose worker dies again and again is decided unit by unit (src/core/run/retry-decision.ts), after
 * three starts of each of its units, however many there are. The queue has no limit of its own, which would fail them all.
 */
const chunkDeaths = { maxStalledCount: Number.MAX_SAFE_INTEGER };

/** How long running work may take to hand itself back after a stop. */
const handBackMs = 5_000;

/** How long running work may take to end once it is told that it cannot be handed back. */
const heardMs = 500;

/** A Redis that does not answer for so long when work is to be handed back is away, whatever is known of it. */
const answerMs = 1_000;

/** How long running work may take to end once nothing of it can wait for Redis any more. */
const endMs = 1_500;

interface WorkersOptions {
  readonly address: QueueAddress;
  readonly settings: WorkerSettings;
  readonly handlers: QueueHandlers;
  readonly log: Logger;
  readonly outages: OutageRecord;
  /** Called when the work in flight cannot be handed back: ends the other connections that it may wait for. */
  readonly onGivenUp?: () => void;
}

/** Resolves when every worker is connected. Throws UnreachableError('redis') if Redis does not answer now. */
export async function startWorkers(options: WorkersOptions): Promise<RunningWorkers> {
  const workers = new QueueWorkers(await connectRedis(options.address.redis, 'lasting'), options);
  await workers.ready();
  return workers;
}

class QueueWorkers implements RunningWorkers {
  /** Of the queues, which share it; each worker copies it. */
  readonly #redis: RedisHandle;
  readonly #options: WorkersOptions;
  readonly #workers: readonly Worker[];
  readonly #queues: readonly Queue[];
  readonly #watch: RedisWatch;
  readonly #lines = new RepeatedLines();
  readonly #underWay = new Set<Promise<unknown>>();
  #isStopping = false;

  constructor(redis: RedisHandle, options: WorkersOptions) {
    const { address, settings, handlers, outages } = options;
    const [prefix, { service }] = [keyPrefix(address), address];
    this.#redis = redis;
    this.#options = options;
    this.#watch = new RedisWatch({
      redis,
      prefix,
      outages,
      onDown: () => this.#pause(),
      onUp: () => this.#resume(),
    });
    const common = commonOptions(redis, prefix);
    const chunkQueues = settings.queues.flatMap((name) =>
      lanesOf(name).map((lane) => ({
        queue: new Queue(laneName(name, lane, service), { connection: redis, prefix }),
        concurrency: settings.chunkConcurrency(name),
      })),
    );
    this.#queues = chunkQueues.map(({ queue }) => queue);
    // BullMQ passes a signal to processors that declare three parameters.
    this.#workers = [
      new ItemWorker<{ runId: string }>(
        queueName(runsQueueName, service),
        (job, token, signal) => this.#coordinate(job, token, signal),
        { ...common, ...coordinatorDeaths, concurrency: coordinatorConcurrency },
      ),
      ...ticksWorkers(handlers, queueName(ticksQueueName, service), common),
      ...chunkQueues.map(
        ({ queue, concurrency }) =>
          new ItemWorker<ChunkItemData>(
            queue.name,
            (job, token, signal) => this.#workChunk(queue, job, token, signal),
            { ...common, ...chunkDeaths, concurrency },
          ),
      ),
    ];
    this.#logTrouble();
  }

  async ready(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.waitUntilReady()));
  }

  async stop(graceMs = this.#options.settings.graceMs): Promise<void> {
    this.#isStopping = true;
    try {
      await this.#end(graceMs);
    } finally {
      this.#watch.close();
      this.#redis.disconnect();
    }
  }

  async #end(graceMs: number): Promise<void> {
    const parts = [...this.#workers, ...this.#queues];
    const closing = Promise.all(parts.map((part) => part.close()));
    if (await isOver(closing, graceMs)) return;
    for (const worker of this.#workers) worker.cancelAllJobs('the worker stops');
    // Without Redis nothing can be handed back: handlers only get the time to hear of it.
    if (await isOver(closing, (await this.#answers()) ? handBackMs : heardMs)) return;
    // Redis is unreachable, or a handler ignores its signal: the items return when their locks expire.
    this.#options.log.warn('the work in flight could not be handed back: it starts again when its lock has run out');
    closing.catch(() => undefined);
    // What ends with the connections is no outage of Redis.
    this.#watch.close();
    this.#disconnect().catch(() => undefined);
    this.#options.onGivenUp?.();
    // What they need is closed after them.
    await isOver(Promise.allSettled(this.#underWay), endMs);
  }

  /** Whether Redis answers. A network that is cut, and a server that hangs, are not known to be away for a while. */
  async #answers(): Promise<boolean> {
    return !this.#watch.isDown && (await isOver(this.#redis.ping(), answerMs).catch(() => false));
  }

  async #during<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /** One part ends the connection that all of them share: its socket gets a listener from each that ends it. */
  async #disconnect(): Promise<void> {
    const [first, ...others] = this.#workers;
    await first?.disconnect();
    await Promise.all(others.map((worker) => worker.disconnect()));
  }

  /** Items under way go on; no further one is taken. */
  #pause(): void {
    for (const worker of this.#workers) worker.pause(true).catch(() => undefined);
  }

  #resume(): void {
    if (this.#isStopping) return;
    for (const worker of this.#workers) worker.resume().catch(() => undefined);
  }

  #logTrouble(): void {
    const onError = (error: Error): void => this.#recordError(error);
    for (const queue of this.#queues) queue.on('error', onError);
    for (const worker of this.#workers) {
      worker.on('error', onError);
      worker.on('stalled', (id) =>
        this.#options.log.warn({ item: shownId(id) }, 'an item lost its worker and starts again'),
      );
      worker.on('failed', (job, error) => {
        // BullMQ tells this of an item that is tried again, too: that has not finished.
        if (job === undefined || job.finishedOn !== undefined) this.#logGivenUp(job, error);
      });
    }
  }

  #logGivenUp(job: QueueJob | undefined, error: Error): void {
    const log = this.#options.log.child({ item: shownId(job?.id), ...workOf(job?.data) });
    if (error instanceof ForeignItemError) log.error({ because: error.message }, 'an item was given up');
    else log.error({ err: error }, 'an item was given up');
  }

  /** A lock that was lost in an outage needs no line: the item starts again, or another worker has it (G1). */
  #recordError(error: Error): void {
    if (this.#watch.recordOfWorker(error)) return;
    const because = lockFaultOf(error);
    if (because === undefined) {
      this.#lines.log(error.message, (leftOut) => {
        const fields = { because: error.message, ...(leftOut > 0 && { leftOut }) };
        this.#options.log.warn(fields, 'the queue reports a fault');
      });
    } else this.#options.log.debug({ because }, 'an item lost its lock: it may be worked twice, which changes nothing');
  }

  async #coordinate(job: QueueJob<{ runId: string }>, token?: string, signal = neverAborted()): Promise<void> {
    const { runId } = checkedData(job, runItemSchema);
    const step = await this.#during(this.#options.handlers.coordinate(runId, signal)).catch((error: unknown) => {
      if (isOfStop(error, signal)) return { kind: 'hand-back' } as const;
      throw error;
    });
    if (step.kind === 'finished') return;
    await this.#throughOutages(signal, async () => {
      if (step.kind === 'hand-back') {
        await job.moveToWait(token);
        throw new WaitingError();
      }
      await job.moveToDelayed(Date.now() + step.delayMs, token);
      throw new DelayedError();
    });
  }

  async #workChunk(queue: Queue, job: QueueJob<ChunkItemData>, token?: string, signal = neverAborted()): Promise<void> {
    const item = itemOf(checkedData(job, chunkItemSchema));
    const attempt = job.attemptsMade + 1;
    const verdict = await this.#during(this.#options.handlers.work(item, attempt, signal)).catch((error: unknown) =>
      isOfStop(error, signal) ? ({ kind: 'hand-back' } as const) : this.#verdictOnTrouble(error),
    );
    await this.#throughOutages(signal, () => translate(verdict, queue, job, token));
  }

  /** Tells the queue what becomes of an item, as soon as Redis takes it; a stop does not wait for Redis. */
  async #throughOutages(signal: AbortSignal, report: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await report();
        return;
      } catch (error) {
        if (signal.aborted || !this.#watch.record(error)) throw error;
        await this.#watch.over(signal);
      }
    }
  }

  /**
   * The decision on a fault outside any unit: waits for a transient fault, and gives up on a bug, with its stack in the
   * log.
   */
  #verdictOnTrouble(error: unknown): ChunkDecision {
    const part = outagePartOf(error);
    if (part === 'redis') this.#watch.record(error);
    if (part !== undefined) {
      return { kind: 'hold', delayMs: holdDelayMs(this.#options.outages.down(part, faultOf(error).message)) };
    }
    if (!(error instanceof TransientError)) {
      throw new UnrecoverableError(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    this.#options.log.warn({ because: error.message }, 'the queue waits');
    return { kind: 'hold', delayMs: troubledMs };
  }
}

/** Whether work ended because it was stopped: a stop ends connections, which says nothing of Redis. */
function isOfStop(error: unknown, { aborted }: AbortSignal): boolean {
  return decideUnit(error) === 'hand-back' || (aborted && outagePartOf(error) === 'redis');
}

function neverAborted(): AbortSignal {
  return new AbortController().signal;
}

function commonOptions(connection: WorkerOptions['connection'], prefix: string): WorkerOptions {
  return {
    connection,
    prefix,
    ...liveness,
    runRetryDelay: 2_000,
    // Never reached; BullMQ checks `queue.rateLimit` only if a limiter is set.
    limiter: { max: 1_000_000, duration: 1_000 },
    settings: { backoffStrategy: (_attempts, _type, error) => retryDelayMs(error) },
  };
}

async function isOver(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const clock = new AbortController();
  const late = sleep(withinMs, { signal: clock.signal }).catch(() => undefined);
  try {
    return await Promise.race([work.then(() => true), late.then(() => false)]);
  } finally {
    clock.abort();
  }
}

// The engine's decisions on a queue item in the words of BullMQ, and BullMQ's faults in ours.

/** The pause after a fault that may pass, and after a state of Redis that met BullMQ itself. */
const troubledMs = 5_000;

/** Carries the delay of a `retry` decision through BullMQ to the backoff strategy. */
class TryAgainError extends Error {
  override readonly name = 'TryAgainError';
  readonly delayMs: number;

  constructor(delayMs: number) {
    super(`tried again in ${delayMs} ms`);
    this.delayMs = delayMs;
  }
}

/** Returns for a settled item; every other decision throws the error that BullMQ expects for it. */
async function translate(
  verdict: ChunkDecision,
  queue: Queue,
  job: QueueJob,
  token: string | undefined,
): Promise<void> {
  switch (verdict.kind) {
    case 'settled':
      return;
    case 'retry':
      throw new TryAgainError(verdict.delayMs);
    case 'hold':
      await queue.rateLimit(Math.max(1, Math.round(verdict.delayMs)));
      throw Worker.RateLimitError();
    case 'wait':
      await job.moveToDelayed(Date.now() + verdict.delayMs, token);
      throw new DelayedError();
    case 'hand-back':
      await job.moveToWait(token);
      throw new WaitingError();
  }
}

/**
 * -1 gives an item up. A state of Redis that met BullMQ itself is no fault of the item, and neither is a lock that was gone when
 * its end was reported: a failover loses the newest writes, and the lock may be there again at the next call.
 */
function retryDelayMs(error: unknown): number {
  if (error instanceof TryAgainError) return error.delayMs;
  const isOfRedis = redisOutage(error) !== undefined || (error instanceof Error && lockFaultOf(error) !== undefined);
  return isOfRedis ? troubledMs : -1;
}

/** BullMQ's words for an item whose lock this worker no longer has, in ours; undefined for any other error. */
function lockFaultOf({ message }: Error): string | undefined {
  const found = /(?:missing lock for job|lock mismatch for job|could not renew lock for job) (?<item>\S+)/i.exec(
    message,
  );
  if (found === null) return undefined;
  return `the lock of item ${found.groups?.['item'] ?? ''} ran out before it was renewed`;
}
