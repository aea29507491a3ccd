/**
 * Works one queue item: hands its open units to the job, settles what cannot be tried again, and says what becomes of
 * the item. Safe to run twice at once for the same item: a unit is settled once, in the warehouse (G1).
 */
import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import { AbortedError, faultOf, TransientError, WellsyncError } from '../core/errors.ts';
import { isFinished, type PlannedUnit, type UnitOutcome } from '../core/run.ts';
import { judgeChunk, judgeUnit, type ChunkRetryPolicy, type ChunkVerdict, type UnitVerdict } from '../core/verdict.ts';
import type { ChunkItem, ChunkQueueName, QueueHandlers, RunQueue } from '../queue/port.ts';
import type { Advance, AnyJob, JobParts, Leftover } from './job.ts';

/** How often work in flight looks at the cancel flag. */
const haltLookMs = 1_000;

export function createChunkWorker(
  parts: JobParts & {
    readonly queue: RunQueue;
    readonly jobs: readonly AnyJob[];
    readonly retry: ChunkRetryPolicy;
    readonly random: () => number;
    readonly log: Logger;
  },
): QueueHandlers['work'] {
  const { warehouse, queue, jobs, retry, random, log } = parts;

  async function work(item: ChunkItem, attempt: number, signal: AbortSignal): Promise<ChunkVerdict> {
    const run = await warehouse.runs.read(item.runId);
    if (run === undefined || isFinished(run.state)) return { kind: 'settled' };
    const job = jobs.find((candidate) => candidate.name === run.job);
    if (job === undefined)
      throw new Error(`no job named ${run.job}: is this worker older than the one that planned it?`);
    if (await isHalted(item.runId)) return endChunk(item);
    await using lease = job.isExclusive === true ? await queue.lease(item, signal) : undefined;
    const units = await warehouse.runs.openUnits(item.runId, item.chunk);
    if (units.length === 0) return await endChunk(item);

    using halt = watchHalt(item.runId, lease === undefined ? signal : AbortSignal.any([signal, lease.signal]));
    const tries = await triesOf(item, units, attempt);
    const left = await job
      .work(
        {
          runId: item.runId,
          params: run.params,
          units,
          signal: halt.signal,
          isLastAttempt: tries.count >= retry.maxAttempts,
          isHeld: () => lease?.isHeld() ?? true,
          advanced: tries.advanced,
          settled: (outcomes) => queue.board.settle(item.runId, outcomes),
        },
        parts,
      )
      .catch((error: unknown): readonly Leftover[] => units.map((unit) => ({ unit, error })));
    if (left.length < units.length || tries.count === 0) await queue.noteUp(job.queue);
    return await judge(item, job.queue, Math.max(1, tries.count), left);
  }

  /**
   * Attempts since the item last came further: one that works for hours may meet trouble more often than it has attempts.
   * `count` is 0 once this attempt came further itself.
   */
  async function triesOf(item: ChunkItem, units: readonly PlannedUnit[], attempt: number) {
    const board = await queue.board.read(item.runId);
    const own = board?.underWay.filter((progress) => units.some(({ unit }) => unit === progress.unit)) ?? [];
    const tries = {
      count: attempt + 1 - Math.max(1, ...own.map((progress) => progress.attempt)),
      advanced: async (advance: Advance): Promise<void> => {
        tries.count = 0;
        await queue.board.progress(item.runId, { ...advance, attempt });
      },
    };
    return tries;
  }

  async function judge(
    item: ChunkItem,
    queueName: ChunkQueueName,
    attempt: number,
    left: readonly Leftover[],
  ): Promise<ChunkVerdict> {
    const leftWith = (verdict: UnitVerdict): readonly Leftover[] =>
      left.filter((entry) => judgeUnit(entry.error) === verdict);
    const [stop] = leftWith('stop-run');
    if (stop !== undefined) await queue.board.halt(item.runId, { kind: 'stop', fault: faultOf(stop.error) });
    await bury(item, leftWith('dead-letter'));
    if (await isHalted(item.runId)) return endChunk(item);
    if (leftWith('hand-back').length > 0) return { kind: 'hand-back' };

    const again = leftWith('try-again');
    const errors = again.map((entry) => entry.error).filter((error) => error instanceof TransientError);
    const isDown = errors.length === left.length && errors.length > 0 && errors.every((error) => error.serviceDown);
    const downForMs = isDown ? await queue.noteDown(queueName) : undefined;
    const verdict = judgeChunk({ errors, attempt, downForMs, policy: retry, jitter: random() });
    if (verdict === undefined) {
      await bury(item, again);
      return endChunk(item);
    }
    if (verdict.kind === 'settled') return endChunk(item);
    const { message } = faultOf(errors[0]);
    log.warn({ ...item, attempt, units: again.length, verdict, because: message }, 'units are tried again');
    return verdict;
  }

  /** Dead letters: the units fail, with the reason for the report; a fault of wellsync itself is logged with its stack. */
  async function bury(item: ChunkItem, entries: readonly Leftover[]): Promise<void> {
    if (entries.length === 0) return;
    for (const { unit, error } of entries) {
      const isBug = !(error instanceof WellsyncError);
      log[isBug ? 'error' : 'warn'](
        { ...item, target: unit.target, ...(isBug ? { err: error } : faultOf(error)) },
        'failed',
      );
    }
    const outcomes = entries.map(({ unit, error }): UnitOutcome => ({
      unit: unit.unit,
      state: 'failed',
      counts: {},
      fault: faultOf(error),
    }));
    await warehouse.runs.settle(item.runId, outcomes);
    await queue.board.settle(item.runId, outcomes);
  }

  async function endChunk(item: ChunkItem): Promise<ChunkVerdict> {
    await queue.board.endChunk(item.runId, item.chunk);
    return { kind: 'settled' };
  }

  async function isHalted(runId: string): Promise<boolean> {
    const board = await queue.board.read(runId);
    return board?.halt !== undefined;
  }

  /** A signal that aborts, with an AbortedError, when the worker stops or when the run is halted from any host. */
  function watchHalt(runId: string, workerSignal: AbortSignal): { readonly signal: AbortSignal } & Disposable {
    const controller = new AbortController();
    // Every request of the chunk listens to it: many at one time, and none for long.
    setMaxListeners(0, controller.signal);
    const onStop = (): void => controller.abort(new AbortedError('the worker stops'));
    if (workerSignal.aborted) onStop();
    workerSignal.addEventListener('abort', onStop, { once: true });
    const timer = setInterval(() => {
      isHalted(runId).then(
        (halted) => {
          if (halted) controller.abort(new AbortedError('the run was cancelled or stopped'));
        },
        (error: unknown) => log.warn({ runId, err: error }, 'the cancel flag could not be read'),
      );
    }, haltLookMs);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        clearInterval(timer);
        workerSignal.removeEventListener('abort', onStop);
      },
    };
  }

  return work;
}
