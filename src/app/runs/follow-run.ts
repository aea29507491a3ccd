/** Follows a run to its end: live figures come from its progress in the queue, its report from the ledger. */
import { AbortedError, OutageError, outagePartOf, TransientError, WarehouseGoneError } from '../../core/base/errors.ts';
import type { ChunkQueueName } from '../../core/run/job-description.ts';
import { isFinished, type RunReport } from '../../core/run/run.ts';
import type { RunProgress, RunQueue } from '../../queue/port.ts';
import { sleep } from '../../timers/sleep.ts';
import type { Ledger } from '../../warehouse/port/warehouse.ts';
import type { App } from '../app.ts';
import { isQueueUnattended, queueOfJob, type RunName } from './start-run.ts';
import { type ProgressSample, doneUnitsOf } from './run-progress.ts';

const defaultPollEveryMs = 500;
/** Interval of reads of the warehouse; it is long, because each read of the file delays the writers. */
const ledgerEveryMs = 5_000;
/** Progress that has not moved for this long no longer shows whether the run has ended. */
const stillMs = 15_000;
/** A run without progress for this long may have no worker. */
const quietMs = 5_000;
const answerMs = 5_000;
/** How long a mere follower waits for Redis; the run itself continues when Redis is back. */
const defaultRedisPatienceMs = 60_000;

/** A display of a followed run: a progress bar, lines of text, a stream of events. */
export interface RunObserver {
  /** Called twice a second, once the run is planned. */
  show(sample: ProgressSample): void;
  /** Shows a message that must not be lost, such as an outage of Redis. */
  remark(text: string): void;
  end(): void;
}

/**
 * Follows a run until it has ended; returns its report. `onNoWorker` is called at most once, when the run makes no
 * progress and no worker is running anywhere. Throws AbortedError when the signal aborts; the run continues. Throws
 * OutageError if Redis cannot be used for `redisPatienceMs`, by default a minute.
 */
export async function followRun(
  app: App,
  { runId, job }: RunName,
  how: {
    readonly observer: RunObserver;
    readonly signal: AbortSignal;
    readonly onNoWorker?: () => void;
    readonly redisPatienceMs?: number;
    /** Aborts when this process has ended the run itself: its end is looked for at once. */
    readonly ended?: AbortSignal;
    /** By default half a second. */
    readonly pollEveryMs?: number;
  },
): Promise<RunReport> {
  const { observer, signal, onNoWorker = () => {}, ended } = how;
  const { redisPatienceMs = defaultRedisPatienceMs, pollEveryMs = defaultPollEveryMs } = how;
  const queue = await app.queue('lasting');
  const { ledger } = app;
  const context = {
    queue,
    queueName: app.queueWay.kind === 'redis' ? 'Redis' : 'the process that works the warehouse',
    chunkQueue: queueOfJob(app, job),
    ledger,
    observer,
    now: Date.now,
    onNoWorker,
    redisPatienceMs,
    ended,
    pollEveryMs,
  };
  try {
    return await new Follower(runId, context, signal).run();
  } finally {
    observer.end();
  }
}

interface FollowContext {
  readonly queue: RunQueue;
  /** What has the live figures. */
  readonly queueName: string;
  readonly chunkQueue: ChunkQueueName | undefined;
  readonly ledger: Ledger;
  readonly observer: RunObserver;
  readonly now: () => number;
  readonly onNoWorker: () => void;
  readonly redisPatienceMs: number;
  readonly ended: AbortSignal | undefined;
  readonly pollEveryMs: number;
}

class Follower {
  readonly #runId: string;
  readonly #context: FollowContext;
  readonly #signal: AbortSignal;
  #ledgerReadAtMs = 0;
  #movedAtMs: number;
  #doneUnits = -1;
  #saidNoWorker = false;
  #redisAwaySinceMs: number | undefined;

  constructor(runId: string, context: FollowContext, signal: AbortSignal) {
    this.#runId = runId;
    this.#context = context;
    this.#signal = signal;
    this.#movedAtMs = context.now();
  }

  async run(): Promise<RunReport> {
    for (;;) {
      const progress = await this.#readProgress();
      if (progress !== undefined) this.#show(progress);
      const report = await this.#report(progress);
      if (report !== undefined) return report;
      await this.#watchForWorkers();
      await this.#pause();
    }
  }

  /** Waits out an outage of Redis: the work continues by itself when it is back (G7). */
  async #readProgress(): Promise<RunProgress | undefined> {
    const { queue, observer, now, redisPatienceMs } = this.#context;
    try {
      const progress = await answerOf(queue.progress.read(this.#runId), this.#signal, this.#context.queueName);
      this.#redisAwaySinceMs = undefined;
      return progress;
    } catch (error) {
      if (!(error instanceof OutageError) || error.part !== 'redis') throw error;
      if (this.#redisAwaySinceMs === undefined) observer.remark(`${error.message}; looking again.`);
      this.#redisAwaySinceMs ??= now();
      if (now() - this.#redisAwaySinceMs > redisPatienceMs) throw error;
      return undefined;
    }
  }

  #show(progress: RunProgress): void {
    const { observer, now } = this.#context;
    const doneUnits = doneUnitsOf(progress);
    if (doneUnits !== this.#doneUnits) this.#movedAtMs = now();
    this.#doneUnits = doneUnits;
    if (progress.units > 0) observer.show({ progress, atMs: now() });
  }

  async #report(progress: RunProgress | undefined): Promise<RunReport | undefined> {
    const { ledger, now } = this.#context;
    const isEnded = progress !== undefined && isFinished(progress.state);
    // Unmoved progress may belong to a run that another queue has taken over and ended.
    const isBlind = progress === undefined || progress.unmovedMs >= stillMs;
    const mayHaveEnded = isBlind && now() - this.#ledgerReadAtMs >= ledgerEveryMs;
    if (!isEnded && !mayHaveEnded) return undefined;
    // If others hold the file for long, reads it again later: the run continues meanwhile.
    const run = await ledger.runs.read(this.#runId).catch(passOverTrouble);
    this.#ledgerReadAtMs = now();
    return run !== undefined && isFinished(run.state) ? run.report : undefined;
  }

  async #watchForWorkers(): Promise<void> {
    const { queue, chunkQueue, now, onNoWorker } = this.#context;
    const isQuiet = now() - this.#movedAtMs >= quietMs && this.#redisAwaySinceMs === undefined;
    if (this.#saidNoWorker || !isQuiet) return;
    this.#movedAtMs = now();
    // The next read reports an outage.
    const unattended = answerOf(isQueueUnattended(queue, chunkQueue), this.#signal, this.#context.queueName).catch(
      passOverTrouble,
    );
    if ((await unattended) !== true) return;
    this.#saidNoWorker = true;
    onNoWorker();
  }

  /** The end of the run shortens one pause, not those after it: the report may take a moment longer. */
  async #pause(): Promise<void> {
    const { ended, pollEveryMs } = this.#context;
    if (ended === undefined || ended.aborted) return pause(pollEveryMs, this.#signal);
    const early = AbortSignal.any([this.#signal, ended]);
    await sleep(pollEveryMs, { signal: early }).catch(() => undefined);
    if (this.#signal.aborted) throw new AbortedError('no longer followed');
  }
}

/** Returns undefined for a state that passes; rethrows any other error. */
function passOverTrouble(error: unknown): undefined {
  const mayPass = error instanceof TransientError || outagePartOf(error) !== undefined;
  if (!mayPass || error instanceof WarehouseGoneError) throw error;
  return undefined;
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, { signal }).catch(() => {
    throw new AbortedError('no longer followed');
  });
}

/**
 * A lasting connection waits for Redis silently. Throws after a few seconds without an answer, and when the signal
 * aborts.
 */
async function answerOf<T>(answer: Promise<T>, signal: AbortSignal, queueName: string): Promise<T> {
  const settled = new AbortController();
  const tooLate = pause(answerMs, AbortSignal.any([signal, settled.signal])).then(() => {
    throw new OutageError('redis', 'redis-outage', `${queueName} does not answer`, {
      hint: 'The run goes on when it is back.',
    });
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    settled.abort();
  }
}
