/** Works a run in this process until it has ended. */
import type { Logger } from 'pino';
import { OutageError, UsageError } from '../../core/base/errors.ts';
import { roughDurationText } from '../../core/base/text.ts';
import { isFinished, type RunReport } from '../../core/run/run.ts';
import type { OutageJournal } from '../../runs/outage-journal.ts';
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
 * of other runs that this process took are finished after that. When the signal aborts, running work is handed back:
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
      const followed = { observer, signal: ending, redisPatienceMs: maxHoldMs, ended: endedHere.signal };
      const report = await followRun(app, run, followed);
      const result = await use(report);
      const alerts = new AlertKeeper(app, log, { role: 'worker', outages });
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
    return await workHere({ app, queues: [queue], log, onRunEnded }, follow);
  } catch (error) {
    if (!signal.aborted) throw error;
    // The running work may have been the last of the run.
    const ended = await app.ledger.runs.read(run.runId);
    if (ended?.report === undefined || !isFinished(ended.state)) throw error;
    return use(ended.report);
  }
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
