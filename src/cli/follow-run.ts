/** Owns following a run to its end: the board for what moves, the warehouse for what is true. */
import { setTimeout as delay } from 'node:timers/promises';
import { AbortedError, TransientError, UnreachableError } from '../core/errors.ts';
import { isFinished, type RunReport } from '../core/run.ts';
import { runsQueueName, type BoardState, type ChunkQueueName, type RunQueue } from '../queue/port.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { ProgressDisplay } from './progress-display.ts';
import { doneUnitsOf } from './run-progress.ts';

const lookEveryMs = 500;
/** The warehouse is asked rarely: every look at a file takes a turn away from those who write it. */
const ledgerEveryMs = 5_000;
/** A run that does not move for so long may have nobody who works it. */
const quietMs = 5_000;
const answerMs = 5_000;
/** How long Redis may be away before following is given up; the run itself goes on when it is back. */
const redisPatienceMs = 60_000;

export interface FollowParts {
  readonly queue: RunQueue;
  /** Where the chunks of the run wait; undefined for a job of another version. */
  readonly chunkQueue: ChunkQueueName | undefined;
  readonly warehouse: Warehouse;
  readonly display: ProgressDisplay;
  readonly now: () => number;
  /** Called at most once, when the run stands still and no worker listens anywhere. */
  readonly onNoWorker: () => void;
}

/** The report of the run when it has ended. Throws AbortedError when the signal aborts: the run goes on then. */
export async function followRun(runId: string, parts: FollowParts, signal: AbortSignal): Promise<RunReport> {
  try {
    return await new Follower(runId, parts, signal).run();
  } finally {
    parts.display.end();
  }
}

class Follower {
  readonly #runId: string;
  readonly #parts: FollowParts;
  readonly #signal: AbortSignal;
  #ledgerReadAtMs = 0;
  #movedAtMs: number;
  #doneUnits = -1;
  #saidNoWorker = false;
  #redisAwaySinceMs: number | undefined;

  constructor(runId: string, parts: FollowParts, signal: AbortSignal) {
    this.#runId = runId;
    this.#parts = parts;
    this.#signal = signal;
    this.#movedAtMs = parts.now();
  }

  async run(): Promise<RunReport> {
    for (;;) {
      const board = await this.#readBoard();
      if (board !== undefined) this.#show(board);
      const report = await this.#report(board);
      if (report !== undefined) return report;
      await this.#watchForWorkers();
      await this.#pause();
    }
  }

  /** An outage of Redis is waited out: the work goes on by itself when it is back (G7). */
  async #readBoard(): Promise<BoardState | undefined> {
    const { queue, display, now } = this.#parts;
    try {
      const board = await answerOf(queue.board.read(this.#runId), this.#signal);
      this.#redisAwaySinceMs = undefined;
      return board;
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      if (this.#redisAwaySinceMs === undefined) display.note(`${error.message}; looking again.`);
      this.#redisAwaySinceMs ??= now();
      if (now() - this.#redisAwaySinceMs > redisPatienceMs) throw error;
      return undefined;
    }
  }

  #show(board: BoardState): void {
    const { display, now } = this.#parts;
    const doneUnits = doneUnitsOf(board);
    if (doneUnits !== this.#doneUnits) this.#movedAtMs = now();
    this.#doneUnits = doneUnits;
    if (board.units > 0) display.show({ board, atMs: now() });
  }

  async #report(board: BoardState | undefined): Promise<RunReport | undefined> {
    const { warehouse, now } = this.#parts;
    const isEnded = board !== undefined && isFinished(board.state);
    const mayHaveEnded = board === undefined && now() - this.#ledgerReadAtMs >= ledgerEveryMs;
    if (!isEnded && !mayHaveEnded) return undefined;
    // A file that others hold for long is asked again later: the run goes on meanwhile.
    const run = await warehouse.runs.read(this.#runId).catch(passOver(TransientError));
    this.#ledgerReadAtMs = now();
    return run !== undefined && isFinished(run.state) ? run.report : undefined;
  }

  async #watchForWorkers(): Promise<void> {
    const { queue, chunkQueue, now, onNoWorker } = this.#parts;
    const isQuiet = now() - this.#movedAtMs >= quietMs && this.#redisAwaySinceMs === undefined;
    if (this.#saidNoWorker || !isQuiet) return;
    this.#movedAtMs = now();
    // An outage is the next look's to tell.
    const unattended = answerOf(isUnattended(queue, chunkQueue), this.#signal).catch(passOver(UnreachableError));
    if ((await unattended) !== true) return;
    this.#saidNoWorker = true;
    onNoWorker();
  }

  async #pause(): Promise<void> {
    await pause(lookEveryMs, this.#signal);
  }
}

/** Takes an error of this class for no answer; any other is thrown on. */
function passOver(passing: typeof TransientError | typeof UnreachableError): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof passing)) throw error;
    return undefined;
  };
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await delay(delayMs, undefined, { signal }).catch(() => {
    throw new AbortedError('no longer followed');
  });
}

/** A lasting connection waits for Redis without a word: after a few seconds that is a fault, and a signal ends the wait. */
async function answerOf<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const settled = new AbortController();
  const tooLate = pause(answerMs, AbortSignal.any([signal, settled.signal])).then(() => {
    throw new UnreachableError('redis', 'Redis does not answer', { hint: 'The run goes on when it is back.' });
  });
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    settled.abort();
  }
}

/** Whether nobody, on any host, works the runs or the queue of their chunks: what is queued there stays. */
export async function isUnattended(queue: RunQueue, chunkQueue: ChunkQueueName | undefined): Promise<boolean> {
  const needed: readonly (string | undefined)[] = [runsQueueName, chunkQueue];
  return (await queue.workers()).some((entry) => entry.workers === 0 && needed.includes(entry.queue));
}
