/** What exports share: parts of their descriptions, and the reader that gathers what is read into batches. */
import type { NextAction } from '../src/core/base/action.ts';
import { NotFoundError, UsageError } from '../src/core/base/errors.ts';
import { figure } from '../src/core/base/text.ts';
import type { CountDescription, UnitDescription } from '../src/core/run/job-description.ts';
import { type Counts, countsOfTargets, type PlannedUnit, type ReadKind, type RunReport } from '../src/core/run/run.ts';
import type { ChunkOfWork, JobContext, Judgement, UnsettledUnit } from '../src/runs/job.ts';
import type { SettleUnknown } from '../src/warehouse/port/wells.ts';
import type { ReadOrder } from '../src/warehouse/port/runs.ts';
import { isForAll } from '../src/core/run/retry-decision.ts';

export function readingUnits(one: string, many: string): UnitDescription {
  return { one, many, failing: 'could not be read to the end', held: 'held' };
}

/** Targets that the service answers with 404: see src/core/run/run.ts. */
export const newlyUnknown: CountDescription = {
  name: 'newlyUnknown',
  isException: true,
  isByAlerts: true,
  isOfUnits: true,
  remark: 'the service does not know them (404): nothing was removed',
};

/** Targets that have rows in the warehouse, unknown ones, and those that are both. */
export const rowsOfTargets: readonly CountDescription[] = countsOfTargets.map((name) => ({ name, isHidden: true }));

/** Rows that left the warehouse although nobody released them, where they are more than a run may remove. */
export const removedUnapproved: CountDescription = { name: 'removedUnapproved', isException: true, isHidden: true };

/**
 * Tells of a run that removed more rows than `maxRowsPerRun` unapproved: each window may be within the guard, and the run
 * as a whole a loss (G4). `isAllowed`: a person let the rows of the run go.
 */
export function judgeRemoved(counts: Counts, isAllowed: boolean, maxRowsPerRun: number): Judgement {
  const removed = counts['removed'] ?? 0;
  if (isAllowed || removed <= maxRowsPerRun) return { counts: {}, notices: [] };
  return {
    counts: { [removedUnapproved.name]: removed },
    notices: [
      `${figure(removed)} rows that the service no longer has were removed, and nobody had released them: more than export.shrink.maxRowsPerRun (${figure(maxRowsPerRun)}); the history keeps them`,
    ],
  };
}

/** The next step where rows are held. */
export function releaseSteps({ runId, units }: RunReport): readonly NextAction[] {
  return units.held > 0 ? [{ kind: 'release-rows', runId }] : [];
}

/** Limits on what the exports remove unapproved: of a window or a month (core's ShrinkGuard), and of a run. */
export interface ShrinkSettings {
  /** Share of the rows, 0 to 1. */
  readonly maxShare: number;
  readonly maxRows: number;
  readonly maxRowsPerRun: number;
}

/**
 * Throws UsageError for a run that releases held rows: what it was to let go was shown before it ended, so it is released
 * again by whoever is shown it now. A killed run goes on without a retry.
 */
export async function refuseRetryOfRelease(runId: string, { ledger }: Pick<JobContext, 'ledger'>): Promise<void> {
  const params = (await ledger.runs.readHead(runId))?.params;
  if (typeof params !== 'object' || params === null || !('releaseOf' in params)) return;
  const of = String(params.releaseOf);
  throw new UsageError(`run ${runId} released rows that run ${of} holds: it is not retried, they are released again`, {
    action: { kind: 'release-rows', runId: of },
  });
}

// A 404 of a target of an export is its outcome, not a failure (docs/design.md sections 4.1 and 4.2).

/** Tells the progress that a unit is read whose target is unknown: it is settled with the end of its chunk. */
export function recordUnknown(error: unknown, { unit }: PlannedUnit, { read }: Pick<ChunkOfWork<never>, 'read'>): void {
  if (error instanceof NotFoundError) read({ unit, rows: 0, isRead: true });
}

/** Settles the units that a 404 left, with the requests that each took. Returns the other ones. */
export async function settleUnknown(
  left: readonly UnsettledUnit[],
  settle: SettleUnknown,
  { runId, settled }: Pick<ChunkOfWork<never>, 'runId' | 'settled'>,
  { now }: Pick<JobContext, 'now'>,
  requests: ReadonlyMap<number, number> = new Map(),
): Promise<readonly UnsettledUnit[]> {
  const unknown = left.filter(({ error }) => error instanceof NotFoundError);
  if (unknown.length === 0) return left;
  const units = unknown.map(({ unit: { unit, target } }) => ({ unit, target, requests: requests.get(unit) }));
  await settled(await settle({ runId, units, atMs: now() }));
  return left.filter((entry) => !unknown.includes(entry));
}

/**
 * The numbers of reads (docs/decisions/0026-reads-have-an-order.md), which end together with the next that is begun.
 */
export class ReadNumbers {
  /** Numbers of reads that have ended, which the warehouse does not know yet: a transaction of their own would be one more. */
  #ended: number[] = [];

  /** Reads under a number that is taken before. */
  async during<T>(
    read: { readonly kind: ReadKind; readonly runId: string },
    order: ReadOrder,
    work: (readNo: number) => Promise<T>,
  ): Promise<T> {
    const ended = this.#ended;
    this.#ended = [];
    const readNo = await order.begin({ ...read, ended }).catch((error: unknown) => {
      this.#ended.push(...ended);
      throw error;
    });
    try {
      return await work(readNo);
    } finally {
      this.#ended.push(readNo);
    }
  }
}

// Reads the units of a chunk concurrently and commits the readings in batches, whenever as much as a batch was read. A failed
// unit does not stop the others.

interface GatheredWork<Reading> {
  /** Number of units read concurrently. */
  readonly concurrency: number;
  /** Reads a unit to its end. */
  read(unit: PlannedUnit): Promise<Reading>;
  /** Memory of a reading, in the unit of `maxWeight`. */
  weigh(reading: Reading): number;
  /** A batch is committed once it weighs so much; the reader that filled it waits meanwhile (G8). */
  readonly maxWeight: number;
  /**
   * The shared budget for readings, if there is one: while it is short, a batch is committed early, unless one is under
   * way that will give back its own room. Many small batches would cost more than the wait.
   */
  readonly room?: {
    readonly isShort: boolean;
    /** Returns a function that ends the calls. */
    whenShort(giveBack: () => void): () => void;
  };
  /** What the next commit had better weigh at the most; what does not fit stays for the one behind it. */
  readonly mostFitting?: () => number;
  /** Makes readings durable with the outcomes of their units. Calls never overlap. */
  commit(readings: readonly Reading[]): Promise<void>;
}

/** Returns the units that did not settle, with their errors. */
export async function readInBatches<Reading>(
  units: readonly PlannedUnit[],
  work: GatheredWork<Reading>,
): Promise<readonly UnsettledUnit[]> {
  const { room } = work;
  const left: UnsettledUnit[] = [];
  const gathered = new GatheredReadings(work);
  let committing: Promise<void> = Promise.resolve();
  /** Commits that are under way, or wait for their turn. */
  let commits = 0;
  /** An error that every further unit would meet as well: no further unit is begun. */
  let forAll: unknown;

  const leave = (unit: PlannedUnit, error: unknown): void => {
    letGoOfFrames(error);
    left.push({ unit, error });
  };
  const commit = (): Promise<void> => {
    commits += 1;
    gathered.ask();
    committing = committing.then(async () => {
      const entries = gathered.take();
      try {
        if (entries.length > 0) await work.commit(entries.map(({ reading }) => reading));
      } catch (error) {
        for (const { unit } of entries) leave(unit, error);
      }
      commits -= 1;
      if (gathered.isFull || room?.isShort === true) void commitEarly();
    });
    return committing;
  };
  const commitEarly = async (): Promise<void> => {
    if (commits === 0 && gathered.count > 0) await commit();
  };
  const read = async (unit: PlannedUnit): Promise<void> => {
    if (forAll !== undefined) return leave(unit, forAll);
    try {
      const reading = await work.read(unit);
      gathered.add(unit, reading);
      if (gathered.isFull) await commit();
      else if (room?.isShort) await commitEarly();
    } catch (error) {
      if (isForAll(error)) forAll = error;
      leave(unit, error);
    }
  };

  const next = units.values();
  const endCalls = room?.whenShort(() => void commitEarly());
  const readers = Array.from({ length: work.concurrency }, async () => {
    for (const unit of next) await read(unit);
  });
  await Promise.all(readers);
  await committing;
  while (gathered.count > 0) await commit();
  endCalls?.();
  return left;
}

interface Gathered<Reading> {
  readonly unit: PlannedUnit;
  readonly reading: Reading;
  readonly weight: number;
}

/** What was read and is in no commit, the oldest first. */
class GatheredReadings<Reading> {
  readonly #work: Pick<GatheredWork<Reading>, 'weigh' | 'maxWeight' | 'mostFitting'>;
  readonly #entries: Gathered<Reading>[] = [];
  #weight = 0;
  /** Commits that asked for a batch, and have not taken it. */
  #asking = 0;

  constructor(work: Pick<GatheredWork<Reading>, 'weigh' | 'maxWeight' | 'mostFitting'>) {
    this.#work = work;
  }

  get count(): number {
    return this.#entries.length;
  }

  /** Whether there is a batch more than commits have asked for. */
  get isFull(): boolean {
    return this.#weight >= (this.#asking + 1) * this.#work.maxWeight;
  }

  add(unit: PlannedUnit, reading: Reading): void {
    const weight = this.#work.weigh(reading);
    this.#entries.push({ unit, reading, weight });
    this.#weight += weight;
  }

  /** For a commit that takes its batch in its turn. */
  ask(): void {
    this.#asking += 1;
  }

  /** The oldest readings, until they are a batch or the next does not fit; one at least, if there is one. */
  take(): readonly Gathered<Reading>[] {
    const { maxWeight, mostFitting } = this.#work;
    const mostWeight = mostFitting?.() ?? Infinity;
    let [count, sum] = [0, 0];
    for (const { weight } of this.#entries) {
      if (count > 0 && (sum >= maxWeight || sum + weight > mostWeight)) break;
      count += 1;
      sum += weight;
    }
    this.#asking -= 1;
    this.#weight -= sum;
    return this.#entries.splice(0, count);
  }
}

/**
 * Reads the stack of an error. Until then the error retains everything that its frames could see: here, every row of
 * the batch (G8).
 */
function letGoOfFrames(error: unknown): void {
  for (let each = error; each instanceof Error; each = each.cause) void each.stack;
}
