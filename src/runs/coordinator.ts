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
import { AbortedError, type Fault, faultOf, TransientError, WellsyncError } from '../core/base/errors.ts';
import { holdDelayMs, outagePartOf, type OutageRecord } from '../core/base/outage.ts';
import { decideUnit } from '../core/run/retry-decision.ts';
import { isFinished, type PlannedUnit, type RunRecord } from '../core/run/run.ts';
import type { ChunkItem, QueueHandlers, RunProgress, RunQueue, StopRequest } from '../queue/port.ts';
import { deadLetterChunk } from './dead-letters.ts';
import type { AnyJob, JobContext } from './job.ts';
import { finishRun, jobOf } from './finish-run.ts';
import { orStopped, watchForStop } from './stop-watch.ts';

export interface CoordinatorOptions {
  /**
   * Chunks of a run that are in the queue at one time: enough for every worker, few for Redis (docs/queue.md section
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
  readonly #context: JobContext;
  readonly #ledger: JobContext['ledger'];
  readonly #queue: RunQueue;
  readonly #jobs: readonly AnyJob[];
  readonly #now: () => number;
  readonly #log: Logger;
  readonly #outages: OutageRecord;
  readonly #version: string;
  readonly #options: CoordinatorOptions;
  /** Since when the looks at a run do not succeed, by a clock that never goes back. */
  readonly #heldSinceMs = new Map<string, number>();

  constructor(
    context: JobContext & {
      readonly queue: RunQueue;
      readonly jobs: readonly AnyJob[];
      readonly log: Logger;
      readonly outages: OutageRecord;
      /** Of this program, for reports. */
      readonly version: string;
    },
    options: CoordinatorOptions,
  ) {
    this.#context = context;
    this.#ledger = context.ledger;
    this.#queue = context.queue;
    this.#jobs = context.jobs;
    this.#now = context.now;
    this.#log = context.log;
    this.#outages = context.outages;
    this.#version = context.version;
    this.#options = options;
  }

  /**
   * A step after a fault that may pass is repeated, for at most `maxHoldMs`; any other fault ends the run with its
   * reason. Rejects with an error that hands the run back when the signal aborts, or when this process may not go on.
   */
  async coordinate(runId: string, signal: AbortSignal): Promise<Step> {
    try {
      const step = await this.#step(runId, signal);
      this.#heldSinceMs.delete(runId);
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
    const sinceMs = this.#heldSinceMs.get(runId) ?? now;
    this.#heldSinceMs.set(runId, sinceMs);
    const part = outagePartOf(error);
    const fault = faultOf(error);
    if (part === undefined) {
      (await this.#logOf(runId)).warn({ because: fault.message }, 'a look at the run did not succeed');
    }
    if (part !== undefined) this.#outages.down(part, fault.message);
    if (now - sinceMs >= this.#options.maxHoldMs) return this.#end(runId, fault);
    return { kind: 'again', delayMs: holdDelayMs(now - sinceMs) };
  }

  async #end(runId: string, fault: Fault): Promise<Step> {
    try {
      return await this.#finish(runId, { kind: 'stop', fault });
    } catch (error) {
      if (!isPassing(error)) throw error;
      const { message } = faultOf(error);
      this.#outages.down(outagePartOf(error) ?? 'warehouse', message);
      return { kind: 'again', delayMs: holdDelayMs(Infinity) };
    }
  }

  async #step(runId: string, signal: AbortSignal): Promise<Step> {
    const progress = await this.#queue.progress.read(runId);
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
    const run = await this.#ledger.runs.readHead(runId);
    if (run === undefined || isFinished(run.state)) return { kind: 'finished' };
    await this.#queue.progress.forget(runId);
    return again();
  }

  async #prepare(runId: string, stopRequest: StopRequest | undefined, signal: AbortSignal): Promise<Step> {
    const run = await this.#ledger.runs.read(runId);
    if (run === undefined) {
      this.#log.error({ runId }, 'the warehouse does not know this run: its queue item is dropped');
      return { kind: 'finished' };
    }
    if (isFinished(run.state)) return { kind: 'finished' };
    const job = jobOf(run, this.#jobs);
    if (stopRequest !== undefined) return this.#finish(runId, stopRequest);
    if (run.unitCount === undefined) {
      const units = await this.#plan(run, job, signal);
      if (units === undefined) return again();
      await this.#ledger.runs.savePlan(runId, units, this.#now());
      this.#logOfRun(run).info({ units: units.length }, 'planned');
    } else {
      await this.#ledger.runs.resume(runId);
    }
    const [open, totals] = [await this.#ledger.runs.openChunks(runId), await this.#ledger.runs.totals(runId)];
    await this.#queue.progress.open(runId, {
      queue: job.queue,
      generation: run.generation,
      units: totals.units.total,
      settledUnits: totals.units.total - totals.units.open,
      counts: totals.counts,
      chunks: open.map((entry) => entry.chunk),
    });
    if (open.length === 0) return this.#finish(runId, undefined);
    await this.#queue.enqueueNext(runId, this.#options.chunksInFlight);
    return again();
  }

  /** Leaves a plan whose run or worker is to stop: a plan writes nothing. Undefined when the run is to stop. */
  async #plan(run: RunRecord, job: AnyJob, workerSignal: AbortSignal): Promise<readonly PlannedUnit[] | undefined> {
    const { runId, params } = run;
    using stop = watchForStop(runId, { queue: this.#queue, workerSignal });
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
      await this.#queue.enqueueNext(runId, room);
    } else if (progress.unmovedMs > this.#options.stuckAfterMs) {
      await this.#stepAfter(runId, progress);
    }
  }

  /**
   * Checks chunks whose end was not recorded. A chunk whose item is gone (Redis lost it) is added again; a chunk that
   * the queue gave up (its worker died repeatedly) becomes a dead letter. Returns the number of chunks in work.
   */
  async #stepAfter(runId: string, progress: RunProgress): Promise<number> {
    const chunkStatuses = await this.#queue.chunkStatuses(runId);
    const gone = chunkStatuses.filter((entry) => entry.status === 'gone').map((entry) => entry.item);
    if (gone.length > 0 && progress.stopRequest === undefined) {
      const chunks = gone.map((item) => item.chunk);
      (await this.#logOf(runId)).warn({ chunks }, 'queue items were missing in Redis: added again');
      await this.#queue.requeue(runId, gone);
    }
    for (const entry of chunkStatuses) {
      if (entry.status === 'failed') await this.#deadLetter(entry.item, entry.reason);
    }
    return chunkStatuses.filter(({ status }) => status === 'active' || status === 'stalled').length;
  }

  async #deadLetter(item: ChunkItem, reason: string): Promise<void> {
    const log = (await this.#logOf(item.runId)).child({ chunk: item.chunk });
    await deadLetterChunk(item, reason, { ledger: this.#ledger, queue: this.#queue, log });
  }

  async #finish(runId: string, stopRequest: StopRequest | undefined): Promise<Step> {
    const report = await finishRun(await this.#runOf(runId), stopRequest, {
      ledger: this.#ledger,
      queue: this.#queue,
      jobs: this.#jobs,
      location: this.#context.warehouse.location,
      version: this.#version,
      now: this.#now,
    });
    if (report === undefined) {
      // A chunk ended without its units: the progress was ahead of the ledger. The ledger is right, so the progress is
      // reset from it.
      if (stopRequest === undefined) await this.#queue.progress.forget(runId);
      return again();
    }
    this.#outages.up('warehouse');
    const { state, units, counts } = report;
    this.#logOfRun(report).info({ state, units, counts }, 'finished');
    return { kind: 'finished' };
  }

  /** Names run and job in each line. */
  #logOfRun({ runId, job }: Pick<RunRecord, 'runId' | 'job'>): Logger {
    return this.#log.child({ runId, job });
  }

  /** Without the job where the ledger cannot be read. */
  async #logOf(runId: string): Promise<Logger> {
    const run = await this.#ledger.runs.readHead(runId).catch(() => undefined);
    return run === undefined ? this.#log.child({ runId }) : this.#logOfRun(run);
  }

  async #runOf(runId: string): Promise<RunRecord> {
    const run = await this.#ledger.runs.read(runId);
    if (run === undefined) throw new Error(`run ${runId} has progress in Redis but is not in the ledger`);
    return run;
  }
}

function again(): Step {
  return { kind: 'again', delayMs: pollAgainMs };
}

function isPassing(error: unknown): boolean {
  return error instanceof TransientError || outagePartOf(error) !== undefined;
}
