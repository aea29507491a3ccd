/**
 * Works queues in this process: the claim on the warehouse, the workers, and the revival of runs that the queue has lost.
 */
import type { Logger } from 'pino';
import { AbortedError, faultOf, OutageError, UsageError } from '../../core/base/errors.ts';
import { shownService } from '../../core/base/service-key.ts';
import type { QueueKind } from '../../core/run/warehouse-queue.ts';
import { type ChunkQueueName, chunkQueues } from '../../core/run/job-description.ts';
import { shownAddress } from '../../queue/redis/settings.ts';
import { type QueueClaim, WorkedElsewhereError } from '../../runs/queue-claim.ts';
import { OutageJournal } from '../../runs/outage-journal.ts';
import { keepReviving, reviveRuns } from '../../runs/revival.ts';
import { abortOf, after, sleep } from '../../timers/sleep.ts';
import type { App } from '../app.ts';
import { AlertKeeper } from '../alerts/keeper.ts';
import { FreshnessMeter, measureFreshness } from '../health/freshness.ts';
import { takeInbox } from '../inbox/inbox-owner.ts';
import { keepTaking } from '../inbox/inbox-worker.ts';
import { Scheduler } from '../schedules/scheduler.ts';
import { redisLocationOf, serviceIdentityOf } from '../service/service-settings.ts';
import { keepPublishing, publishAfterRun } from '../warehouse/feed.ts';
import { keepPruning, pruneOnceADay } from '../warehouse/retention.ts';
import { keepInOrder, orderLongTail } from '../warehouse/table-order.ts';
import { keepRunLog } from './run-log.ts';
import { counted, roughDurationText } from '../../core/base/text.ts';
import { isFinished, type RunReport } from '../../core/run/run.ts';
import { followRun, type RunObserver } from './follow-run.ts';
import { queueOfJob, type RunName } from './start-run.ts';

/** How long running work may take to hand itself back once another queue has the warehouse: none of it is committed. */
const takenOverGraceMs = 1_000;

/** How soon a process that keeps others from the warehouse is asked again whether it works. */
const reclaimMs = 500;

/** How long the work on a file of the inbox may take to be handed back. */
const inboxGraceMs = 2_000;

/**
 * Works as long as `during` is pending; then running work ends within the configured grace period, or is handed back.
 * `isReady` tells whether work can be done at this moment. The signal of `during` aborts when another queue has taken the warehouse over, or its file is gone: then this throws
 * TakenOverError or WarehouseGoneError.
 * Throws UsageError or UnreachableError if this queue may not work the warehouse, or its inbox is another one's (G11).
 */
export async function workHere<T>(
  work: {
    readonly app: App;
    readonly queues: readonly ChunkQueueName[];
    readonly log: Logger;
    /** Whether the process stands until it is told to stop: only such a one takes files of the inbox, and ticks of schedules. */
    readonly isStanding?: boolean;
    /** Aborts when the process is told to stop, which may be before it works: then this throws AbortedError. */
    readonly stop?: AbortSignal;
    /** Whether the feed is published whenever a run has ended here. */
    readonly keepsFeed?: boolean;
    /** Called when this process has ended a run, or found it ended. */
    readonly onRunEnded?: (runId: string) => void;
  },
  during: (lost: AbortSignal, outages: OutageJournal, isReady: () => boolean) => Promise<T>,
): Promise<T> {
  const { app, log } = work;
  const queue = await app.queue('lasting');
  await using claim = await claimFor(work);
  const right = work.isStanding === true ? await takeInbox(app, log) : undefined;
  const outages = new OutageJournal(log);
  const ending = new AbortController();
  const ended = AbortSignal.any([ending.signal, claim.signal]);
  const freshness = new FreshnessMeter();
  const role = work.isStanding === true ? 'worker' : 'command';
  const alerts = new AlertKeeper(app, log, { role, outages, hasScheduler: work.isStanding === true });
  const recordFeed = (address: string, fault: string | undefined) => alerts.recordFeed(address, fault);
  const publishSoon = work.keepsFeed === true ? keepPublishing(app, log, ended, recordFeed) : () => {};
  const onRunEnded = async (runId: string): Promise<void> => {
    freshness.recordRunEnd();
    publishSoon();
    work.onRunEnded?.(runId);
    await alerts.recordRunEnd(runId);
  };
  const scheduler = work.isStanding === true ? new Scheduler({ app, log, outages, alerts }) : undefined;
  const ticks = scheduler === undefined ? {} : { ticks: scheduler };
  const workers = await app.startWorkers({ ...work, outages, onRunEnded, ...ticks });
  const revival = { ledger: app.ledger, queue, outages };
  void keepReviving(revival, ended, log);
  app.queueWay.onWoken(() => {
    scheduler?.readNow();
    void reviveRuns(revival).catch(() => undefined);
  });
  void keepPruning(app, log, ended);
  const copying = keepRunLog(queue.runLog, ended);
  void keepInOrder(app, log, ended);
  void scheduler?.keep(ended);
  const taking = right === undefined ? Promise.resolve() : keepTaking({ app, log, right }, outages, ended);
  void freshness.keep(app, log, ended);
  void alerts.keep(ended);
  try {
    const result = await during(claim.signal, outages, () => claim.isBeating && hasOwnParts(outages));
    if (!claim.signal.aborted) return result;
    throw claim.signal.reason;
  } catch (error) {
    throw claim.signal.aborted ? claim.signal.reason : error;
  } finally {
    ending.abort();
    // A Redis that is away must not hold the end of the process up: what is taken lies in the inbox.
    const handedBack = Promise.race([Promise.all([taking, copying]), sleep(inboxGraceMs, { ref: false })]);
    await Promise.all([handedBack, workers.stop(claim.signal.aborted ? takenOverGraceMs : undefined)]);
    app.queueWay.onWoken(() => undefined);
    if (app.queueWay.kind === 'embedded' && !claim.signal.aborted) await endSettled(app, onRunEnded, log);
    await alerts.sendLast();
  }
}

/** A process that asks the service a question keeps others from the warehouse for moments: one that stands waits for it. */
async function claimFor({ app, log, isStanding, stop }: Parameters<typeof workHere>[0]): Promise<QueueClaim> {
  for (;;) {
    try {
      return await app.claimQueue(log);
    } catch (error) {
      const other = isStanding === true && error instanceof WorkedElsewhereError && (await app.queueWay.otherWorker());
      const isAsking = async (): Promise<boolean> =>
        (await (await app.queue('lasting')).workers()).every(({ workers }) => workers === 0);
      if (!other || !(await isAsking())) throw error;
      // It may be a worker that has just begun: then it listens soon.
      const soon = [other.closed, AbortSignal.timeout(reclaimMs)];
      await abortOf(AbortSignal.any(stop === undefined ? soon : [...soon, stop]));
      if (stop?.aborted === true) throw new AbortedError('stopped before it worked');
    }
  }
}

/** Nobody else coordinates what was worked here. What cannot be ended now is ended by the next process. */
async function endSettled(app: App, onRunEnded: (runId: string) => Promise<void>, log: Logger): Promise<void> {
  try {
    for (const runId of await (await app.runService()).endSettled()) await onRunEnded(runId);
  } catch (error) {
    log.warn({ because: faultOf(error).message }, 'runs that are done could not be ended: the next process ends them');
  }
}

/** A service that is down, or files that are away, are no fault of this process: what needs neither goes on. */
function hasOwnParts(outages: OutageJournal): boolean {
  return outages.lasting().every(({ part }) => part === 'service' || part === 'files');
}

/** The source of a worker's work, and the destination of the data. Addresses are without secrets (G10). */
export interface WorkerReport {
  readonly queues: readonly string[];
  readonly queue: QueueKind;
  /** Null, like the prefix, for an embedded queue. */
  readonly redis: string | null;
  readonly prefix: string | null;
  readonly service: string;
  readonly warehouse: string;
  /** Address of the health port; null without one. */
  readonly health: string | null;
}

/** Throws UsageError if no address of the service is configured. */
export function workerReport(
  { config, warehouse }: App,
  queues: readonly string[],
  health: string | undefined,
): WorkerReport {
  return {
    queues,
    queue: config.redis === undefined ? 'embedded' : 'redis',
    redis: config.redis === undefined ? null : shownAddress(config.redis),
    prefix: config.redis === undefined ? null : redisLocationOf(config).prefix,
    service: shownService(serviceIdentityOf(config)),
    warehouse: warehouse.location,
    health: health ?? null,
  };
}

// Works a run in this process until it has ended.

/** How often a lasting outage is looked for. */
const pollEveryMs = 1_000;

/**
 * Works the queue of the run, beside any workers, and calls `use` with the report as soon as the run has ended; chunks
 * of other runs that this process took are finished after that. Without Redis one process works: while another does, that one
 * has the run, and this one waits, at most `queue.maxHoldMs`; then it throws WorkedElsewhereError. When the signal aborts, running work is handed back:
 * the run stays queued, and any worker continues it. Throws AbortedError then, unless the run ended with that work;
 * `onStopping` is called before running work is waited for. Throws UsageError for a job of another version, and
 * TakenOverError when another queue takes the warehouse over, WarehouseGoneError when its file is gone, and OutageError
 * when an outage lasts longer than `queue.maxHoldMs`: the run stays queued then.
 */
export async function workInline<T>(
  app: App,
  run: RunName,
  how: {
    readonly observer: RunObserver;
    readonly log: Logger;
    readonly signal: AbortSignal;
    readonly onStopping: () => void;
  },
  use: (report: RunReport) => Promise<T>,
): Promise<T> {
  const endMs = performance.now() + app.config.queue.maxHoldMs;
  let isFirst = true;
  for (;;) {
    try {
      return await workInThisProcess(app, run, how, use);
    } catch (error) {
      if (!(error instanceof WorkedElsewhereError) || performance.now() >= endMs) throw error;
      const most = roughDurationText(app.config.queue.maxHoldMs);
      if (isFirst) how.observer.remark(`Another process works the warehouse: this run waits for it, at most ${most}.`);
      isFirst = false;
      const report = await followOther(app, run, how, endMs);
      if (report !== undefined) return use(report);
    }
  }
}

/** How soon a process that cannot be reached is looked for again. */
const retryClaimMs = 2_000;

/** Hands the run to the process that works, and follows it. Undefined once that one has ended, or where it cannot be reached. */
async function followOther(
  app: App,
  run: RunName,
  { observer, signal }: { readonly observer: RunObserver; readonly signal: AbortSignal },
  endMs: number,
): Promise<RunReport | undefined> {
  const head = await app.ledger.runs.readHead(run.runId);
  if (head === undefined || isFinished(head.state)) return (await app.ledger.runs.read(run.runId))?.report;
  await (await app.queue('lasting')).submit(run.runId, head.generation);
  const other = (await app.queueWay.otherWorker())?.closed ?? AbortSignal.timeout(retryClaimMs);
  const late = new AbortController();
  const timer = after(endMs - performance.now(), () => late.abort());
  try {
    return await followRun(app, run, { observer, signal: AbortSignal.any([signal, other, late.signal]) });
  } catch (error) {
    if (signal.aborted || !(error instanceof AbortedError || error instanceof OutageError)) throw error;
    return undefined;
  } finally {
    timer.cancel();
  }
}

async function workInThisProcess<T>(
  app: App,
  run: RunName,
  how: Parameters<typeof workInline<T>>[2],
  use: (report: RunReport) => Promise<T>,
): Promise<T> {
  const { observer, log, signal, onStopping } = how;
  const queue = queueOfJob(app, run.job);
  if (queue === undefined) {
    throw new UsageError(`run ${run.runId} is of a job that this version does not know: ${run.job}`);
  }
  const { maxHoldMs } = app.config.queue;
  const endedHere = new AbortController();
  const follow = async (lost: AbortSignal, outages: OutageJournal): Promise<T> => {
    using limit = watchHold(outages, maxHoldMs, run.runId);
    const ending = AbortSignal.any([signal, lost, limit.signal]);
    try {
      await nameOthers(app, run, observer);
      const followed = { observer, signal: ending, redisPatienceMs: maxHoldMs, ended: endedHere.signal };
      const report = await followRun(app, run, followed);
      const result = await use(report);
      const alerts = new AlertKeeper(app, log, { role: 'command', outages });
      await publishAfterRun(app, log, ending, (address, fault) => alerts.recordFeed(address, fault));
      // The gauges of an embedded queue end with its process.
      if (app.queueWay.kind === 'redis') await measureFreshness(app, log);
      await pruneOnceADay(app, log, ending);
      if ((report.counts['inserted'] ?? 0) > 0) await orderLongTail(app, log, ending);
      return result;
    } catch (error) {
      if (signal.aborted) onStopping();
      throw limit.signal.aborted ? limit.signal.reason : error;
    }
  };
  try {
    const onRunEnded = (runId: string): void => {
      if (runId === run.runId) endedHere.abort();
    };
    // Nobody else works meanwhile what other commands hand over.
    const queues = app.queueWay.kind === 'embedded' ? chunkQueues : [queue];
    return await workHere({ app, queues, log, onRunEnded }, follow);
  } catch (error) {
    if (!signal.aborted) throw error;
    // The running work may have been the last of the run.
    const ended = await app.ledger.runs.read(run.runId);
    if (ended?.report === undefined || !isFinished(ended.state)) throw error;
    return use(ended.report);
  }
}

/** Without Redis this process works every unfinished run: the time that it takes must not be a riddle. */
async function nameOthers({ ledger, queueWay }: App, { runId }: RunName, observer: RunObserver): Promise<void> {
  if (queueWay.kind === 'redis') return;
  const others = (await ledger.runs.unfinished()).filter((other) => other.runId !== runId);
  const [first] = others;
  if (first === undefined) return;
  const which = others.length === 1 ? `run ${first.runId}` : `${counted(others.length, 'run')}, such as ${first.runId}`;
  observer.remark(`Beside its own run this process goes on with what had not ended: ${which}.`);
}

/** A signal that aborts, with an OutageError, once an outage has lasted for `maxHoldMs`. */
function watchHold(
  outages: OutageJournal,
  maxHoldMs: number,
  runId: string,
): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const timer = setInterval(() => {
    const [longest] = outages.lasting();
    if (longest === undefined || longest.forMs < maxHoldMs) return;
    const waited = roughDurationText(longest.forMs);
    controller.abort(
      new OutageError(longest.part, 'held-too-long', `${longest.reason}: waited for ${waited}`, {
        hint: 'What is done is kept, and the rest stays queued.',
        action: { kind: 'retry-run', runId },
      }),
    );
  }, pollEveryMs);
  return { signal: controller.signal, [Symbol.dispose]: () => clearInterval(timer) };
}
