/**
 * Takes a run from its request to its report, one short look at a time. Every look can be lost, repeated or made by two
 * processes at once: what it decides, it decides from the board and the warehouse, and every act of it is idempotent.
 *
 *   no board      prepare: plan (once), then put up the board from the ledger
 *   halted        wait for the chunks in flight, settle the rest, finish
 *   all ended     finish
 *   otherwise     add the next wave; when nothing moves, see after the chunks in flight
 */
import type { Logger } from 'pino';
import { faultOf, TransientError, UsageError, WellsyncError } from '../core/errors.ts';
import { isFinished, type RunRecord, type UnitOutcome } from '../core/run.ts';
import type { BoardState, Halt, QueueHandlers, RunQueue } from '../queue/port.ts';
import type { AnyJob, JobParts } from './job.ts';
import { buildReport } from './report.ts';

export interface ConductorOptions {
  /** Chunks of a run that are in the queue at one time: enough for every worker, few for Redis (QUEUE.md). */
  readonly chunksInFlight: number;
  /** A run in which nothing moved for this long has its chunks looked after. */
  readonly stuckAfterMs: number;
}

const conductorDefaults: ConductorOptions = { chunksInFlight: 64, stuckAfterMs: 15_000 };

const lookAgainMs = { busy: 500, prepared: 50, troubled: 5_000 } as const;
type Look = Awaited<ReturnType<QueueHandlers['conduct']>>;

export function createConductor(
  parts: JobParts & { readonly queue: RunQueue; readonly jobs: readonly AnyJob[]; readonly log: Logger },
  options: ConductorOptions = conductorDefaults,
): QueueHandlers['conduct'] {
  const { warehouse, queue, jobs, now, log } = parts;

  /** A look must not fail: what is transient is looked at again, what is not ends the run with its reason. */
  async function conduct(runId: string): Promise<Look> {
    try {
      return await look(runId);
    } catch (error) {
      if (error instanceof TransientError) {
        log.warn({ runId, err: error }, 'a look at the run did not succeed: looking again');
        return { kind: 'again', delayMs: lookAgainMs.troubled };
      }
      const isBug = !(error instanceof WellsyncError);
      log[isBug ? 'error' : 'warn']({ runId, ...(isBug ? { err: error } : faultOf(error)) }, 'the run cannot go on');
      return finish(runId, { kind: 'stop', fault: faultOf(error) });
    }
  }

  async function look(runId: string): Promise<Look> {
    const board = await queue.board.read(runId);
    if (board === undefined || board.state === 'queued') return prepare(runId, board?.halt);
    if (isFinished(board.state)) return { kind: 'finished' };
    if (board.halt !== undefined) {
      // Chunks that still wait need not be removed: whoever takes one finds the run finished (QUEUE.md).
      return (await lookAfter(runId, board)) === 0 ? finish(runId, board.halt) : again();
    }
    if (board.chunksEnded === board.chunks) return finish(runId, undefined);
    await advance(runId, board);
    return again();
  }

  async function prepare(runId: string, halt: Halt | undefined): Promise<Look> {
    const run = await warehouse.runs.read(runId);
    if (run === undefined) {
      log.error({ runId }, 'the warehouse does not know this run: its queue item is dropped');
      return { kind: 'finished' };
    }
    if (isFinished(run.state)) return { kind: 'finished' };
    const job = jobOf(run);
    if (halt !== undefined) return finish(runId, halt);
    if (run.unitCount === undefined) {
      const units = await job.plan(run.params, parts, runId);
      await warehouse.runs.savePlan(runId, units, now());
      log.info({ runId, job: run.job, units: units.length }, 'planned');
    } else {
      await warehouse.runs.resume(runId);
    }
    const [open, sums] = [await warehouse.runs.openChunks(runId), await warehouse.runs.sums(runId)];
    await queue.board.open(runId, {
      queue: job.queue,
      round: run.round,
      units: sums.units.total,
      settledUnits: sums.units.total - sums.units.open,
      counts: sums.counts,
      chunks: open.map((entry) => entry.chunk),
    });
    return open.length === 0 ? finish(runId, undefined) : { kind: 'again', delayMs: lookAgainMs.prepared };
  }

  async function advance(runId: string, board: BoardState): Promise<void> {
    const room = options.chunksInFlight - (board.chunksAdded - board.chunksEnded);
    if (board.chunksAdded < board.chunks && room > 0) {
      await queue.addWave(runId, room);
    } else if (now() - board.movedAtMs > options.stuckAfterMs) {
      await lookAfter(runId, board);
    }
  }

  /**
   * Sees after chunks whose end was not heard of. One whose item is gone (Redis lost it) is added again; one that the
   * queue gave up (its worker died with it again and again) becomes a dead letter. Returns how many are being worked.
   */
  async function lookAfter(runId: string, board: BoardState): Promise<number> {
    const standings = await queue.standings(runId);
    const gone = standings.filter((entry) => entry.standing === 'gone').map((entry) => entry.item);
    if (gone.length > 0 && board.halt === undefined) {
      log.warn({ runId, chunks: gone.map((item) => item.chunk) }, 'queue items are gone: added again');
      await queue.addAgain(board.queue, gone);
    }
    for (const entry of standings) {
      if (entry.standing === 'failed') await buryChunk(runId, entry.item.chunk, entry.reason);
    }
    return standings.filter((entry) => entry.standing === 'active').length;
  }

  async function buryChunk(runId: string, chunk: number, reason: string): Promise<void> {
    log.error({ runId, chunk, reason }, 'the queue gave a chunk up');
    const units = await warehouse.runs.openUnits(runId, chunk);
    const fault = {
      code: 'given-up',
      message: `the queue gave this chunk up: ${reason}`,
      hint: `See the log of the workers for why they died, then: wellsync runs retry ${runId}`,
    };
    const outcomes = units.map(({ unit }): UnitOutcome => ({ unit, state: 'failed', counts: {}, fault }));
    await warehouse.runs.settle(runId, outcomes);
    await queue.board.settle(runId, outcomes);
    await queue.board.endChunk(runId, chunk);
  }

  async function finish(runId: string, halt: Halt | undefined): Promise<Look> {
    const run = await runOf(runId);
    if (halt !== undefined) await settleRest(run, halt);
    const sums = await warehouse.runs.sums(runId);
    // A cancel that came when all was settled changed nothing.
    const isTooLate = halt?.kind === 'cancel' && run.unitCount !== undefined && sums.units.cancelled === 0;
    // A chunk ended without its units: the board knew more than the ledger. The ledger is right, so start over from it.
    if (sums.units.open > 0) {
      await queue.board.forget(runId);
      return again();
    }
    const job = jobOf(run);
    await job.atEnd?.(runId, parts);
    const report = buildReport(run, job, sums, isTooLate ? undefined : halt, now());
    await warehouse.runs.finish(report);
    await queue.board.finish(runId, report.state);
    log.info({ runId, job: run.job, state: report.state, units: report.units, counts: report.counts }, 'finished');
    return { kind: 'finished' };
  }

  async function settleRest(run: RunRecord, halt: Halt): Promise<void> {
    await warehouse.runs.settleRest(
      run.runId,
      halt.kind === 'cancel' ? { state: 'cancelled' } : { state: 'failed', fault: halt.fault },
    );
  }

  async function runOf(runId: string): Promise<RunRecord> {
    const run = await warehouse.runs.read(runId);
    if (run === undefined) throw new Error(`run ${runId} is on the board but not in the warehouse`);
    return run;
  }

  function jobOf(run: RunRecord): AnyJob {
    const job = jobs.find((candidate) => candidate.name === run.job);
    if (job === undefined) {
      throw new UsageError(`run ${run.runId} is of a job that this version does not know: ${run.job}`);
    }
    return job;
  }

  return conduct;
}

function again(): Look {
  return { kind: 'again', delayMs: lookAgainMs.busy };
}
