/**
 * Takes a run from its request to its report, in short steps. Every step can be lost, repeated or taken by two processes at
 * once: it decides by the progress and the warehouse, and its effects are idempotent.
 *
 *   no progress      prepare: plan (once), then open the progress from the ledger
 *   stop requested   wait for the chunks in flight, settle the rest, finish
 *   all ended        finish
 *   otherwise        add the next wave; without progress, check the chunks in flight
 */
import type { Logger } from 'pino';
import {
  AbortedError,
  type Fault,
  faultOf,
  holdDelayMs,
  outagePartOf,
  TransientError,
  WellsyncError,
} from '../core/base/errors.ts';
import { decideUnit } from '../core/run/retry-decision.ts';
import { isFinished, type PlannedUnit, type RunRecord } from '../core/run/run.ts';
import type { QueueHandlers, RunProgress, StopRequest } from '../queue/port.ts';
import { deadLetterChunk } from './dead-letters.ts';
import type { AnyJob, EngineContext } from './job.ts';
import { finishRun, jobOf } from './finish-run.ts';
import { orStopped, watchForStop } from './watch-for-stop.ts';

export interface CoordinatorOptions {
  /**
   * Chunks of a run that are in the queue at one time: enough for every worker, few for the queue (docs/queue.md section
   * 3).
   */
  readonly chunksInFlight: number;
  /** The chunks of a run without progress for this long are checked. */
  readonly stuckAfterMs: number;
  /** How long a run is held by faults that may pass, such as an outage, before it ends with them. */
  readonly maxHoldMs: number;
}

export const coordinatorDefaults = { chunksInFlight: 64, stuckAfterMs: 15_000 } as const;

const pollAgainMs = 500;
type Step = Awaited<ReturnType<QueueHandlers['coordinate']>>;

export class Coordinator {
  readonly #context: EngineContext;
  readonly #options: CoordinatorOptions;
  /** Since when the looks at a run do not succeed, by a clock that never goes back. */
  readonly #failingSinceMs = new Map<string, number>();

  constructor(context: EngineContext, options: CoordinatorOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * A step after a fault that may pass is repeated, for at most `maxHoldMs`; any other fault ends the run with its
   * reason. Rejects with an error that hands the run back when the signal aborts, or when this process may not go on.
   */
  async coordinate(runId: string, signal: AbortSignal): Promise<Step> {
    try {
      const step = await this.#step(runId, signal);
      this.#failingSinceMs.delete(runId);
      return step;
    } catch (error) {
      // Another process has the run now, or will.
      if (decideUnit(error) === 'hand-back') throw error;
      if (isPassing(error)) return this.#hold(runId, error);
      const isBug = !(error instanceof WellsyncError);
      const log = await this.#logOf(runId);
      log[isBug ? 'error' : 'warn'](isBug ? { err: error } : faultOf(error), 'the run cannot go on');
      return this.#end(runId, faultOf(error));
    }
  }

  /** A run that was held for too long ends as failed, once that can be written. */
  async #hold(runId: string, error: unknown): Promise<Step> {
    const now = performance.now();
    const sinceMs = this.#failingSinceMs.get(runId) ?? now;
    this.#failingSinceMs.set(runId, sinceMs);
    const part = outagePartOf(error);
    const fault = faultOf(error);
    if (part !== undefined) this.#context.outages.down(part, fault.message);
    else (await this.#logOf(runId)).warn({ because: fault.message }, 'a look at the run did not succeed');
    if (now - sinceMs >= this.#options.maxHoldMs) return this.#end(runId, fault);
    return { kind: 'again', delayMs: holdDelayMs(now - sinceMs) };
  }

  async #end(runId: string, fault: Fault): Promise<Step> {
    try {
      return await this.#finish(runId, { kind: 'stop', fault });
    } catch (error) {
      if (!isPassing(error)) throw error;
      const { message } = faultOf(error);
      this.#context.outages.down(outagePartOf(error) ?? 'warehouse', message);
      return { kind: 'again', delayMs: holdDelayMs(Infinity) };
    }
  }

  async #step(runId: string, signal: AbortSignal): Promise<Step> {
    const progress = await this.#context.queue.progress.read(runId);
    if (progress === undefined || progress.state === 'queued')
      return this.#prepare(runId, progress?.stopRequest, signal);
    if (isFinished(progress.state)) return this.#endOrStartOver(runId);
    if (progress.stopRequest !== undefined) {
      // Waiting chunks need not be removed: the worker that takes one finds the run finished (docs/queue.md section 3).
      return (await this.#stepAfter(runId, progress)) === 0 ? this.#finish(runId, progress.stopRequest) : again();
    }
    if (progress.chunksEnded === progress.chunks) return this.#finish(runId, undefined);
    await this.#advance(runId, progress);
    return again();
  }

  /** Progress may have ended while the ledger has reopened the run: a retry that died before it could forget the progress. */
  async #endOrStartOver(runId: string): Promise<Step> {
    const run = await this.#context.ledger.runs.readHead(runId);
    if (run === undefined || isFinished(run.state)) return { kind: 'finished' };
    await this.#context.queue.progress.forget(runId);
    return again();
  }

  async #prepare(runId: string, stopRequest: StopRequest | undefined, signal: AbortSignal): Promise<Step> {
    const { ledger, queue, jobs, now, log } = this.#context;
    const run = await ledger.runs.read(runId);
    if (run === undefined) {
      log.error({ runId }, 'the warehouse does not know this run: its queue item is dropped');
      return { kind: 'finished' };
    }
    if (isFinished(run.state)) return { kind: 'finished' };
    const job = jobOf(run, jobs);
    if (stopRequest !== undefined) return this.#finish(runId, stopRequest);
    if (run.generation > 0) this.#logOfRun(run).info(`retried by ${run.reopenedBy ?? 'nobody that is known'}`);
    if (run.unitCount === undefined) {
      const units = await this.#plan(run, job, signal);
      if (units === undefined) return again();
      await ledger.runs.savePlan(runId, units, now());
      this.#logOfRun(run).info({ units: units.length }, 'planned');
    } else {
      await ledger.runs.resume(runId, now());
    }
    const open = await ledger.runs.openChunks(runId);
    const { units, counts = {} } = (await ledger.runs.figures([runId])).get(runId) ?? {};
    await queue.progress.open(runId, {
      queue: job.queue,
      generation: run.generation,
      units: units?.total ?? 0,
      settledUnits: units === undefined ? 0 : units.total - units.open,
      counts,
      chunks: open.map((entry) => entry.chunk),
    });
    if (open.length === 0) return this.#finish(runId, undefined);
    await queue.enqueueNext(runId, this.#options.chunksInFlight);
    return again();
  }

  /** Leaves a plan whose run or worker is to stop: a plan settles nothing. Undefined when the run is to stop. */
  async #plan(run: RunRecord, job: AnyJob, workerSignal: AbortSignal): Promise<readonly PlannedUnit[] | undefined> {
    const { runId, params } = run;
    using stop = watchForStop(runId, { ...this.#context, workerSignal });
    try {
      const service = this.#context.service.forRun(runId, this.#logOfRun(run));
      const context = { ...this.#context, service };
      return await orStopped(job.plan(params, context, runId), stop.signal);
    } catch (error) {
      if (!(error instanceof AbortedError) || !stop.signal.aborted || workerSignal.aborted) throw error;
      return undefined;
    }
  }

  async #advance(runId: string, progress: RunProgress): Promise<void> {
    const room = this.#options.chunksInFlight - (progress.chunksAdded - progress.chunksEnded);
    if (progress.chunksAdded < progress.chunks && room > 0) {
      await this.#context.queue.enqueueNext(runId, room);
    } else if (progress.unmovedMs > this.#options.stuckAfterMs) {
      await this.#stepAfter(runId, progress);
    }
  }

  /**
   * Checks chunks whose end was not recorded. A chunk whose item is gone (the queue lost it) is added again; a chunk that
   * the queue gave up (its worker died repeatedly) becomes a dead letter. Returns the number of chunks in work.
   */
  async #stepAfter(runId: string, progress: RunProgress): Promise<number> {
    const chunkStatuses = await this.#context.queue.chunkStatuses(runId);
    const gone = chunkStatuses.filter((entry) => entry.status === 'gone').map((entry) => entry.item);
    if (gone.length > 0 && progress.stopRequest === undefined) {
      const chunks = gone.map((item) => item.chunk);
      (await this.#logOf(runId)).warn({ chunks }, 'queue items were missing: added again');
      await this.#context.queue.requeue(runId, gone);
    }
    for (const { item, ...found } of chunkStatuses) {
      if (found.status !== 'failed') continue;
      const log = (await this.#logOf(runId)).child({ chunk: item.chunk });
      await deadLetterChunk(item, found.reason, { ...this.#context, log });
    }
    return chunkStatuses.filter(({ status }) => status === 'active' || status === 'stalled').length;
  }

  async #finish(runId: string, stopRequest: StopRequest | undefined): Promise<Step> {
    const report = await finishRun(await this.#runOf(runId), stopRequest, {
      ...this.#context,
      location: this.#context.warehouse.location,
    });
    if (report === undefined) {
      // A chunk ended without its units: the progress was ahead of the ledger. The ledger is right, so the progress is
      // reset from it. Somebody may have asked for a stop meanwhile.
      if (stopRequest === undefined) await this.#context.queue.progress.restart(runId);
      return again();
    }
    this.#context.outages.up('warehouse');
    const { state, units, counts } = report;
    this.#logOfRun(report).info({ state, units, counts }, 'finished');
    return { kind: 'finished' };
  }

  #logOfRun({ runId, job }: Pick<RunRecord, 'runId' | 'job'>): Logger {
    return this.#context.log.child({ runId, job });
  }

  /** Without the job where the ledger cannot be read. */
  async #logOf(runId: string): Promise<Logger> {
    const run = await this.#context.ledger.runs.readHead(runId).catch(() => undefined);
    return run === undefined ? this.#context.log.child({ runId }) : this.#logOfRun(run);
  }

  async #runOf(runId: string): Promise<RunRecord> {
    const run = await this.#context.ledger.runs.read(runId);
    if (run === undefined) throw new Error(`run ${runId} has progress in the queue but is not in the ledger`);
    return run;
  }
}

function again(): Step {
  return { kind: 'again', delayMs: pollAgainMs };
}

function isPassing(error: unknown): boolean {
  return error instanceof TransientError || outagePartOf(error) !== undefined;
}
