/** The consumer's side of the queue: takes items, hands them to the engine, and translates its verdicts to BullMQ. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DelayedError,
  Queue,
  UnrecoverableError,
  WaitingError,
  Worker,
  type Job as QueueJob,
  type WorkerOptions,
} from 'bullmq';
import type { Logger } from 'pino';
import { AbortedError, TransientError, UnreachableError } from '../core/errors.ts';
import type { ChunkVerdict } from '../core/verdict.ts';
import { runsQueueName, type ChunkItem, type QueueHandlers, type RunningWorkers, type WorkerSettings } from './port.ts';
import { lastingOptions } from './redis.ts';

/**
 * A killed worker's item starts again within lockDuration + stalledInterval, 8 to 13 s as measured in QUEUE.md (G7). A
 * stall uses no attempt; an item that took ten workers down with it is given up.
 */
const liveness = { lockDuration: 10_000, stalledInterval: 5_000, maxStalledCount: 10 };

/** Looks at runs are short: one process can keep many runs going. */
const conductorConcurrency = 10;

/** A pause after a fault that nobody classified as the service's or the target's: the warehouse is away, say. */
const troubledMs = 5_000;

/** How long work that was told to stop may take to hand itself back. */
const handBackMs = 5_000;

/** Carries the delay of a `retry` verdict through BullMQ to the backoff strategy. */
class TryAgainError extends Error {
  override readonly name = 'TryAgainError';
  readonly delayMs: number;

  constructor(delayMs: number) {
    super(`tried again in ${delayMs} ms`);
    this.delayMs = delayMs;
  }
}

export async function startWorkers(options: {
  readonly url: string;
  readonly prefix: string;
  readonly settings: WorkerSettings;
  readonly handlers: QueueHandlers;
  readonly log: Logger;
}): Promise<RunningWorkers> {
  const { url, prefix, settings, handlers, log } = options;
  const connection = { url, ...lastingOptions };
  const common: WorkerOptions = {
    connection,
    prefix,
    ...liveness,
    runRetryDelay: 2_000,
    // Never reached; BullMQ looks at `queue.rateLimit` only where a limiter is set.
    limiter: { max: 1_000_000, duration: 1_000 },
    settings: { backoffStrategy: (_attempts, _type, error) => (error instanceof TryAgainError ? error.delayMs : -1) },
  };

  const conductor = new Worker(runsQueueName, conduct, { ...common, concurrency: conductorConcurrency });
  const held = settings.queues.map((name) => new Queue(name, { connection, prefix }));
  const chunkWorkers = settings.queues.map(
    (name, position) =>
      new Worker<ChunkItem>(name, (job, token, signal) => workChunk(held[position] as Queue, job, token, signal), {
        ...common,
        concurrency: settings.chunkConcurrency,
      }),
  );
  const workers = [conductor, ...chunkWorkers];
  const onError = (error: Error): void => log.warn({ because: error.message }, 'trouble with Redis');
  for (const queue of held) queue.on('error', onError);
  for (const worker of workers) {
    worker.on('error', onError);
    worker.on('stalled', (id) => log.warn({ item: id }, 'an item lost its worker and starts again'));
    worker.on('failed', (job, error) => {
      if (!(error instanceof TryAgainError)) log.error({ item: job?.id, err: error }, 'an item was given up');
    });
  }
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));

  async function conduct(job: QueueJob<{ runId: string }>, token?: string, signal?: AbortSignal): Promise<void> {
    const look = await handlers.conduct(job.data.runId, signal ?? new AbortController().signal);
    if (look.kind === 'finished') return;
    await job.moveToDelayed(Date.now() + look.delayMs, token);
    throw new DelayedError();
  }

  async function workChunk(
    queue: Queue,
    job: QueueJob<ChunkItem>,
    token?: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const attempt = job.attemptsMade + 1;
    const verdict = await handlers
      .work(job.data, attempt, signal ?? new AbortController().signal)
      .catch((error: unknown) => verdictOnTrouble(error));
    await translate(verdict, queue, job, token);
  }

  /** A fault outside of any unit: what may pass is waited for, a bug is given up with its stack. */
  function verdictOnTrouble(error: unknown): ChunkVerdict {
    if (error instanceof AbortedError) return { kind: 'hand-back' };
    const mayPass = error instanceof TransientError || error instanceof UnreachableError;
    if (!mayPass) throw new UnrecoverableError(error instanceof Error ? (error.stack ?? error.message) : String(error));
    log.warn({ err: error }, 'the queue waits');
    return { kind: 'hold', delayMs: troubledMs };
  }

  return {
    async stop() {
      const closing = Promise.all([...workers, ...held].map((part) => part.close()));
      if (await isOver(closing, settings.graceMs)) return;
      for (const worker of workers) worker.cancelAllJobs('the worker stops');
      if (await isOver(closing, handBackMs)) return;
      // Redis is away, or a handler does not listen to its signal: the items come back by their stalled locks.
      log.warn('the work in flight could not be handed back: it starts again when its lock has run out');
      closing.catch(() => undefined);
      for (const part of [...workers, ...held]) part.disconnect().catch(() => undefined);
    },
  };
}

/** Whether the work is over within the time. */
async function isOver(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const clock = new AbortController();
  const over = work.then(() => true);
  const late = sleep(withinMs, false, { signal: clock.signal }).catch(() => false);
  try {
    return await Promise.race([over, late]);
  } finally {
    clock.abort();
  }
}

/** Returns for a settled item; every other verdict leaves by the error that BullMQ understands. */
async function translate(verdict: ChunkVerdict, queue: Queue, job: QueueJob, token: string | undefined): Promise<void> {
  switch (verdict.kind) {
    case 'settled':
      return;
    case 'retry':
      throw new TryAgainError(verdict.delayMs);
    case 'hold':
      await queue.rateLimit(Math.max(1, Math.round(verdict.delayMs)));
      throw Worker.RateLimitError();
    case 'hand-back':
      await job.moveToWait(token);
      throw new WaitingError();
  }
}
