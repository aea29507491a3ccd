/**
 * Works one queue item: passes its open units to the job, settles those that cannot be retried, and decides what
 * happens to the item. Safe to run twice at once for the same item: a unit is settled once, in the warehouse (G1).
 */
import type { Logger } from 'pino';
import { BlockedError, faultOf, outageOfUnits } from '../core/base/errors.ts';
import {
  type ChunkDecision,
  type ChunkRetryPolicy,
  decideChunk,
  decideUnit,
  isForAll,
  isWorkedSingly,
  judgeUnits,
  type UnitDecision,
  workerDied,
} from '../core/run/retry-decision.ts';
import { isFinished, type PlannedUnit, type UnitOutcome } from '../core/run/run.ts';
import type { ChunkItem, ItemStartStore, StartedWork, UnitReading } from '../queue/port.ts';
import { sleep } from '../timers/sleep.ts';
import { watchForStop } from './watch-for-stop.ts';
import { deadLetterUnits, targetField } from './dead-letters.ts';
import type { Advance, AnyJob, EngineContext, UnsettledUnit } from './job.ts';

/** The parts of our own that work needs besides Redis, without which it does not begin. */
const neededParts = ['warehouse', 'disk', 'files'] as const;

interface ChunkWork {
  readonly item: ChunkItem;
  readonly job: AnyJob;
  readonly log: Logger;
}

interface ChunkWorkerContext extends EngineContext {
  readonly retry: ChunkRetryPolicy;
  /** In [0, 1). */
  readonly random: () => number;
}

export class ChunkWorker {
  readonly #context: ChunkWorkerContext;
  readonly #gate = new WorkGate();

  constructor(context: ChunkWorkerContext) {
    this.#context = context;
  }

  async work(item: ChunkItem, attempt: number, signal: AbortSignal): Promise<ChunkDecision> {
    const { ledger, queue, outages } = this.#context;
    const run = await ledger.runs.readHead(item.runId);
    if (run === undefined) return { kind: 'settled' };
    if (isFinished(run.state)) return this.#endChunk(item);
    const job = this.#jobOf(run.job);
    const log = this.#context.log.child({ ...item, job: run.job });
    if (await this.#isStopRequested(item.runId)) return this.#endChunk(item);
    await using lease = job.isExclusive === true ? await queue.lease(item, signal) : undefined;
    const units = await ledger.runs.openUnits(item.runId, item.chunk);
    if (units.length === 0) return await this.#endChunk(item);

    const workerSignal = lease === undefined ? signal : AbortSignal.any([signal, lease.signal]);
    using stop = watchForStop(item.runId, { ...this.#context, workerSignal });
    const tries = await this.#triesOf(item, units, attempt);
    const chunk = {
      runId: item.runId,
      params: run.params,
      signal: stop.signal,
      isLastAttempt: tries.count >= this.#context.retry.maxAttempts,
      isOwned: () => lease?.isOwned() ?? true,
      read: readingReport((readings) => queue.progress.recordReadings(item.runId, readings)),
    };
    const left = await workItem(item, units, {
      starts: queue.starts,
      gate: this.#gate,
      onSingly: (deaths) => log.warn({ deaths, units: units.length }, 'units are worked one by one'),
      work: async (some, recordProgress) => {
        const advanced = async (advance: Advance): Promise<void> => {
          await Promise.all([tries.advanced(advance), recordProgress()]);
        };
        const settled = async (outcomes: readonly UnitOutcome[]): Promise<void> => {
          if (outcomes.length === 0) return;
          await Promise.all([queue.progress.settle(item.runId, outcomes), recordProgress()]);
        };
        const service = this.#context.service.forRun(item.runId, log);
        return job
          .work({ ...chunk, units: some, advanced, resumed: tries.resumed, settled }, { ...this.#context, service })
          .catch((error: unknown) => some.map((unit) => ({ unit, error })));
      },
    });
    if (left.length < units.length || tries.count === 0) {
      for (const part of neededParts) outages.up(part);
      await queue.recordUp(job.queue);
    }
    return await this.#decide({ item, job, log }, Math.max(1, tries.count), left);
  }

  #jobOf(name: string): AnyJob {
    const job = this.#context.jobs.find((candidate) => candidate.name === name);
    if (job === undefined) throw new Error(`no job named ${name}: is this worker older than the one that planned it?`);
    return job;
  }

  /**
   * Attempts since the item last advanced: work that takes hours may meet more faults than it has attempts. `count` is
   * 0 once this attempt itself has advanced.
   */
  async #triesOf(item: ChunkItem, units: readonly PlannedUnit[], attempt: number) {
    const progress = await this.#context.queue.progress.read(item.runId);
    const own = progress?.underWay.filter((entry) => units.some(({ unit }) => unit === entry.unit)) ?? [];
    // An item of an earlier generation may have left a higher one.
    const advancedAt = Math.min(attempt, Math.max(1, ...own.map((entry) => entry.attempt)));
    const tries = {
      count: attempt + 1 - advancedAt,
      resumed: async (advance: Advance): Promise<void> => {
        await this.#context.queue.progress.advance(item.runId, { ...advance, attempt: advancedAt });
      },
      advanced: async (advance: Advance): Promise<void> => {
        tries.count = 0;
        await this.#context.queue.progress.advance(item.runId, { ...advance, attempt });
      },
    };
    return tries;
  }

  async #decide(work: ChunkWork, attempt: number, left: readonly UnsettledUnit[]): Promise<ChunkDecision> {
    const { item } = work;
    const leftWith = (verdict: UnitDecision): readonly UnsettledUnit[] =>
      left.filter((entry) => decideUnit(entry.error) === verdict);
    const stopping = leftWith('stop-run');
    const [stop] = stopping;
    if (stop !== undefined)
      await this.#context.queue.progress.requestStop(item.runId, { kind: 'stop', fault: faultOf(stop.error) });
    // The others of the chunk were not tried: they end with the rest of the run.
    await this.#deadLetter(work, firstWithEach(stopping));
    await this.#deadLetter(work, leftWith('dead-letter'));
    if (await this.#isStopRequested(item.runId)) return this.#endChunk(item);
    if (leftWith('hand-back').length > 0) return { kind: 'hand-back' };
    const blocked = left.map(({ error }) => error).find((error) => error instanceof BlockedError);
    if (blocked !== undefined) {
      work.log.info({ delayMs: blocked.delayMs, because: blocked.message }, 'the chunk waits');
      return { kind: 'wait', delayMs: blocked.delayMs };
    }

    return this.#decideRest(work, attempt, left);
  }

  /** The decision on units that failed in a way that may pass. */
  async #decideRest(work: ChunkWork, attempt: number, left: readonly UnsettledUnit[]): Promise<ChunkDecision> {
    const { item, job, log } = work;
    const again = left.filter(({ error }) => decideUnit(error) === 'try-again');
    const errors = again.map(({ error }) => error).filter((error) => error instanceof Error);
    const part = outageOfUnits(left.map(({ error }) => error));
    const [first] = errors;
    const message = faultOf(first).message;
    if (part !== undefined) this.#context.outages.down(part, message);
    const downForMs = part === undefined ? undefined : await this.#context.queue.recordDown(job.queue, part);
    const { retry: policy, random } = this.#context;
    const verdict = decideChunk({ errors, attempt, downForMs, policy, jitter: random() });
    if (verdict === undefined) {
      await this.#deadLetter(work, again);
      return this.#endChunk(item);
    }
    if (verdict.kind === 'settled') return this.#endChunk(item);
    const level = verdict.kind === 'hold' ? 'debug' : 'warn';
    const [only, ...others] = again;
    const named = only === undefined || others.length > 0 ? {} : targetField(job, only.unit);
    log[level]({ ...named, attempt, units: again.length, verdict, because: message }, 'tried again');
    return verdict;
  }

  async #deadLetter({ item, job, log }: ChunkWork, entries: readonly UnsettledUnit[]): Promise<void> {
    await deadLetterUnits(item, entries, { ...this.#context, job, log });
  }

  async #endChunk(item: ChunkItem): Promise<ChunkDecision> {
    const isLast = await this.#context.queue.progress.endChunk(item.runId, item.chunk);
    if (isLast) await this.#context.queue.hasten(item.runId, item.generation);
    return { kind: 'settled' };
  }

  async #isStopRequested(runId: string): Promise<boolean> {
    const progress = await this.#context.queue.progress.read(runId);
    return progress?.stopRequest !== undefined;
  }
}

/** The units that met an error themselves: those that were not begun after it carry the same one. */
function firstWithEach(left: readonly UnsettledUnit[]): readonly UnsettledUnit[] {
  const met = new Set<unknown>();
  return left.filter(({ error }) => !met.has(error) && met.add(error));
}

// Reports what was read of the units of a chunk, for displays: the work neither waits for it nor fails by it.

/** Displays look twice a second. */
const writeEveryMs = 250;

/** The returned function writes at once, or with all others that come until a while after an earlier write. */
export function readingReport(
  write: (readings: readonly UnitReading[]) => Promise<void>,
): (reading: UnitReading) => void {
  /** The newest reading of each unit that was not written yet. */
  let waiting = new Map<number, UnitReading>();
  let isWriting = false;

  async function writeAll(): Promise<void> {
    isWriting = true;
    try {
      while (waiting.size > 0) {
        const readings = [...waiting.values()];
        waiting = new Map();
        await write(readings);
        await sleep(writeEveryMs, { ref: false });
      }
    } catch {
      // A display that stands still for a while is no fault of the work, which reports an outage of Redis itself.
    } finally {
      isWriting = false;
    }
  }

  return (reading) => {
    waiting.set(reading.unit, reading);
    if (!isWriting) void writeAll();
  };
}

// The work of one start of an item: all its open units together, or one by one where starts of it died
// (core/run/retry-decision.ts). Each start is noted until it ends, so that the next one knows of a worker that died.

interface ItemWorkContext {
  readonly starts: ItemStartStore;
  readonly gate: WorkGate;
  /** Works units of the item, and never rejects. Returns those that did not settle. */
  readonly work: (
    units: readonly PlannedUnit[],
    recordProgress: () => Promise<void>,
  ) => Promise<readonly UnsettledUnit[]>;
  readonly onSingly: (deaths: number) => void;
}

/** Works the open units of an item. Returns those that did not settle, with their errors. */
export async function workItem(
  { runId, chunk }: ChunkItem,
  units: readonly PlannedUnit[],
  context: ItemWorkContext,
): Promise<readonly UnsettledUnit[]> {
  const { starts, gate, work, onSingly } = context;
  const deaths = await starts.begin(runId, { chunk });
  try {
    if (isWorkedSingly(deaths)) {
      onSingly(deaths);
      return await workSingly(runId, units, context);
    }
    return await gate.together(() => work(units, progressOf(runId, { chunk }, starts)));
  } finally {
    await forget(runId, { chunk }, starts);
  }
}

async function workSingly(
  runId: string,
  units: readonly PlannedUnit[],
  { starts, gate, work }: ItemWorkContext,
): Promise<readonly UnsettledUnit[]> {
  const { toTry, guilty } = judgeUnits(units, await starts.ofUnits(runId));
  const left: UnsettledUnit[] = guilty.map((unit) => ({ unit, error: workerDied(runId) }));
  for (const [position, unit] of toTry.entries()) {
    const started = { unit: unit.unit };
    const unsettled = await gate.alone(async () => {
      await starts.begin(runId, started);
      try {
        return await work([unit], progressOf(runId, started, starts));
      } finally {
        await forget(runId, started, starts);
      }
    });
    left.push(...unsettled);
    const forAll = unsettled.find(({ error }) => isForAll(error));
    if (forAll === undefined) continue;
    return [...left, ...toTry.slice(position + 1).map((later) => ({ unit: later, error: forAll.error }))];
  }
  return left;
}

/** To be called when a unit settled or advanced: a start that got somewhere did not die of what it was given. */
function progressOf(runId: string, work: StartedWork, starts: ItemStartStore): () => Promise<void> {
  let isRecorded = false;
  return async () => {
    if (isRecorded) return;
    isRecorded = true;
    await forget(runId, work, starts);
  };
}

/** During an outage of Redis the start stays noted: one that did not die is counted then, and several are needed. */
async function forget(runId: string, work: StartedWork, starts: ItemStartStore): Promise<void> {
  await starts.end(runId, work).catch(() => undefined);
}

// Keeps the work of a process apart from work that may kill it, whose death would count against both.

/** How long either kind waits for the other: some work takes hours. */
const defaultPatienceMs = 60_000;

export class WorkGate {
  readonly #patienceMs: number;
  readonly #together = new Set<Promise<unknown>>();
  /** Settles when all work that asked to be alone has ended. */
  #alone: Promise<unknown> = Promise.resolve();

  constructor(patienceMs = defaultPatienceMs) {
    this.#patienceMs = patienceMs;
  }

  /** Runs the work beside other work, and after work that is alone. */
  async together<T>(work: () => Promise<T>): Promise<T> {
    await this.#afterAlone();
    const running = work();
    this.#together.add(running);
    try {
      return await running;
    } finally {
      this.#together.delete(running);
    }
  }

  /** Runs the work after all other work of the process, and before work that comes later. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#alone;
    const running = this.#patiently(before).then(async () => {
      await this.#patiently(Promise.allSettled(this.#together));
      return work();
    });
    this.#alone = running.catch(() => undefined);
    return running;
  }

  async #afterAlone(): Promise<void> {
    const sinceMs = performance.now();
    for (;;) {
      const last = this.#alone;
      await this.#patiently(last);
      // More may have asked meanwhile.
      if (last === this.#alone || performance.now() - sinceMs >= this.#patienceMs) return;
    }
  }

  async #patiently(others: Promise<unknown>): Promise<void> {
    const ended = new AbortController();
    const late = sleep(this.#patienceMs, { signal: ended.signal, ref: false }).catch(() => undefined);
    await Promise.race([others, late]);
    ended.abort();
  }
}
