/** Works a run in this process until it has ended. */
import type { Logger } from 'pino';
import { AbortedError, OutageError, UsageError } from '../../core/base/errors.ts';
import { counted, roughDurationText } from '../../core/base/text.ts';
import { chunkQueues } from '../../core/run/job-description.ts';
import { isFinished, type RunReport } from '../../core/run/run.ts';
import type { OutageJournal } from '../../runs/outage-journal.ts';
import { WorkedElsewhereError } from '../../runs/queue-claim.ts';
import { after } from '../../timers/sleep.ts';
import type { App } from '../app.ts';
import { measureFreshness } from '../health/metrics.ts';
import { AlertKeeper } from '../alerts/keeper.ts';
import { publishAfterRun } from '../warehouse/feed.ts';
import { pruneOnceADay } from '../warehouse/retention.ts';
import { orderLongTail } from '../warehouse/table-order.ts';
import { followRun, type RunObserver } from './follow-run.ts';
import { queueOfJob, type RunName } from './start-run.ts';
import { workHere } from './worker-host.ts';

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
      await measureFreshness(app, log);
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
