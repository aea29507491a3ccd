/** The port between runs and the queue, with its lanes: one embedded in the working process, or BullMQ on Redis. */
import type { Fault, OutagePart } from '../core/base/errors.ts';
import type { ChunkQueueName } from '../core/run/job-description.ts';
import type { ChunkDecision, ChunkRetryPolicy } from '../core/run/retry-decision.ts';
import type { Counts, RunState } from '../core/run/run.ts';
import type { ServiceHold, ServiceOutage } from '../core/run/service-hold.ts';

/** The queue with one item a run, for its coordinator. */
export const runsQueueName = 'runs';

export const ticksQueueName = 'ticks';

/** When a schedule is due; its ticks are those of {@link NextTick}. */
export interface TickSchedule {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
}

/** The first tick after an instant, milliseconds since 1970; undefined if there is none. */
export type NextTick = (schedule: Omit<TickSchedule, 'name'>, afterMs: number) => number | undefined;

/** A queue item: identifiers only, no data and no secrets (G10, docs/queue.md section 3). */
export interface ChunkItem {
  readonly runId: string;
  readonly generation: number;
  readonly chunk: number;
}

/** Why a run must stop: an operator's request, or a fault found by its work. */
export type StopRequest =
  | { readonly kind: 'cancel'; readonly requestedBy: string }
  | { readonly kind: 'stop'; readonly fault: Fault };

/**
 * The live state of a run. It only moves forward and can be lost: the warehouse holds the durable state (docs/queue.md
 * section 4).
 */
export interface RunProgress {
  readonly state: RunState;
  /** Current generation of the run: part of the ids of its queue items. */
  readonly generation: number;
  readonly queue: ChunkQueueName;
  readonly units: number;
  readonly settledUnits: number;
  /** Totals over settled and running units. */
  readonly counts: Counts;
  readonly underWay: readonly UnitProgress[];
  /** Units that are being read, or wait for their merge. Their rows are not in `counts`. */
  readonly reading: readonly UnitReading[];
  readonly chunks: number;
  readonly chunksAdded: number;
  readonly chunksEnded: number;
  readonly stopRequest: StopRequest | undefined;
  /** Milliseconds since a unit was last settled or a chunk ended, by the clock of the queue. */
  readonly unmovedMs: number;
}

export interface UnitProgress {
  readonly unit: number;
  /** Grows with the work; out of `whole`, where that is known. */
  readonly done: number;
  readonly whole?: number;
  readonly counts: Counts;
  /** The attempt of the queue item that made this progress. */
  readonly attempt: number;
}

/**
 * What was read of a unit that is not settled yet. Nothing of it is durable: it gives a queue item no new attempts, and
 * is for displays alone.
 */
export interface UnitReading {
  readonly unit: number;
  readonly rows: number;
  readonly expectedRows?: number;
  readonly isRead: boolean;
}

export interface RunProgressStore {
  read(runId: string): Promise<RunProgress | undefined>;
  /** Resets the progress to the state in the warehouse. */
  open(
    runId: string,
    start: {
      readonly queue: ChunkQueueName;
      readonly generation: number;
      readonly units: number;
      readonly settledUnits: number;
      readonly counts: Counts;
      readonly chunks: readonly number[];
    },
  ): Promise<void>;
  /** Marks units as settled and adds their counts, once for each unit, however often and by whomever it is called. */
  settle(runId: string, outcomes: ReadonlyArray<{ readonly unit: number; readonly counts: Counts }>): Promise<void>;
  /** Records the progress of a unit. Ignores progress behind the recorded one, and that of a settled unit. */
  advance(runId: string, progress: UnitProgress): Promise<void>;
  /** Records what was read of units. Ignores readings with fewer rows than the recorded ones, and of settled units. */
  recordReadings(runId: string, readings: readonly UnitReading[]): Promise<void>;
  /** Records that a chunk of the progress has ended. Returns whether all of them have. */
  endChunk(runId: string, chunk: number): Promise<boolean>;
  /** Keeps the first stop request. A run without a progress gets one, so that the coordinator finds the request. */
  requestStop(runId: string, stopRequest: StopRequest): Promise<void>;
  finish(runId: string, state: RunState): Promise<void>;
  /** Deletes the progress: the next step of the coordinator resets it from the warehouse. */
  forget(runId: string): Promise<void>;
  /** As {@link forget}, but for a stop request, which the next step finds. */
  restart(runId: string): Promise<void>;
}

/** Work that is begun: all open units of a chunk, or one of them alone. */
export type StartedWork = { readonly chunk: number } | { readonly unit: number };

/** Starts of work that did not end: those of workers that died, and those under way. */
export interface ItemStartStore {
  /** Notes a start. Returns how many starts of the same work before it did not end. */
  begin(runId: string, work: StartedWork): Promise<number>;
  /** Forgets the starts of work that has ended, or that has settled something. */
  end(runId: string, work: StartedWork): Promise<void>;
  /** Starts of single units that did not end, by the ordinal of the unit. */
  ofUnits(runId: string): Promise<ReadonlyMap<number, number>>;
}

/** Status of an added chunk whose end was not recorded. `stalled`: its worker has not renewed its lock for seconds. */
export type QueuedChunk =
  | { readonly item: ChunkItem; readonly status: 'active' | 'stalled' | 'waiting' | 'gone' }
  | { readonly item: ChunkItem; readonly status: 'failed'; readonly reason: string };

/** The exclusive right to work an item, for as long as this process can be sure of it. */
export interface ItemLease extends AsyncDisposable {
  /** By the clock of this process, even while its event loop is blocked. */
  isOwned(): boolean;
  /** Aborts, with an AbortedError, when the lease is lost. */
  readonly signal: AbortSignal;
}

export interface WorkerCount {
  readonly queue: string;
  readonly workers: number;
}

/** The identity of the queue that works a warehouse: of a service and a prefix in Redis, or of the working process. */
export interface QueueIdentity {
  /** Random; undefined before the first worker, and after the queue lost its data. */
  readonly queueId: string | undefined;
  /** The warehouse of the living workers; undefined if there are none. */
  readonly warehouseId: string | undefined;
}

export interface QueueIdentityStore {
  read(): Promise<QueueIdentity>;
  /**
   * Writes the queue's id if there is none, and binds the queue to the warehouse for another `keepMs` unless it is
   * bound to another one. Returns the resulting identity.
   */
  keep(queueId: string, warehouseId: string, keepMs: number): Promise<QueueIdentity>;
  /** Ends the binding, so that another warehouse may be worked at once; the id stays. */
  release(warehouseId: string): Promise<void>;
}

/** What holds all requests to the service back: a Retry-After (G9), or that it is down. */
export interface ServiceHoldStore {
  read(): Promise<ServiceHold | undefined>;
  /** The outage for which the circuit holds requests back; undefined while it is closed. */
  readOutage(): Promise<ServiceOutage | undefined>;
  /** Lifts the hold and closes the circuit: lets requests be sent at once. Returns the hold that was lifted. */
  lift(): Promise<ServiceHold | undefined>;
}

/** The metrics of all processes of a service, by series (src/core/run/metrics.ts). */
export interface MetricStore {
  /** Takes the totals of a source so far: each increment counts once, however often its total is reported. */
  raise(source: string, totals: ReadonlyMap<string, number>): Promise<void>;
  set(values: ReadonlyMap<string, number>): Promise<void>;
  read(): Promise<{ readonly sums: ReadonlyMap<string, number>; readonly gauges: ReadonlyMap<string, number> }>;
}

/** The last lines of the log about each run, as JSON text. */
export interface RunLogStore {
  append(runId: string, lines: readonly string[]): Promise<void>;
  read(runId: string): Promise<readonly string[]>;
}

/** Number of items of a queue in a state of BullMQ: `waiting`, `active`, `delayed`, `prioritized`, `failed`. */
export interface ItemCount {
  readonly queue: string;
  readonly state: string;
  readonly items: number;
}

/**
 * On Redis a prompt queue fails within seconds during an outage; a lasting one waits for its end. Both throw
 * OutageError('redis') while Redis answers with errors (out of memory, read-only, loading).
 */
export interface RunQueue {
  /** Whether the connection has ended for good, as a prompt one does with its first fault. */
  readonly isEnded: boolean;
  /** Ends the connection at once: what waits for it, and what is asked later, fails. For a process that ends. */
  giveUp(): Promise<void>;
  readonly identity: QueueIdentityStore;
  readonly progress: RunProgressStore;
  readonly starts: ItemStartStore;
  readonly serviceHold: ServiceHoldStore;
  readonly metrics: MetricStore;
  readonly runLog: RunLogStore;
  /** Adds the coordinator's item of a run. Idempotent: its id is deterministic. */
  submit(runId: string, generation: number): Promise<void>;
  isSubmitted(runId: string, generation: number): Promise<boolean>;
  /** Lets the coordinator look at a run at once, where it would look later. It does without where this fails. */
  hasten(runId: string, generation: number): Promise<void>;
  /** Adds the next wave: at most `limit` chunks that were not added yet. Returns their number. */
  enqueueNext(runId: string, limit: number): Promise<number>;
  /** The chunks that were added and have not ended, with their status in the queue. */
  chunkStatuses(runId: string): Promise<readonly QueuedChunk[]>;
  requeue(runId: string, items: readonly ChunkItem[]): Promise<void>;
  /**
   * Waits until no other worker has the item, then holds it until disposed. A worker that died, or cannot reach the queue,
   * loses it within seconds, and has stopped by then unless its whole process was suspended. Rejects with AbortedError.
   */
  lease(item: ChunkItem, signal: AbortSignal): Promise<ItemLease>;
  /**
   * Takes the exclusive right to a work that is no item, such as an inbox; undefined where another process has it. It is
   * lost as that of {@link lease} is.
   */
  tryLease(work: string): Promise<ItemLease | undefined>;
  /**
   * Lets every worker hear of the ticks of these schedules, and of no others; those named in `others` stay as they are.
   * Changes only what differs, so that a tick that is due stays. The queue may lose them: it is to be called again and again.
   */
  keepTicks(schedules: readonly TickSchedule[], nextTick: NextTick, others?: readonly string[]): Promise<void>;
  workers(): Promise<readonly WorkerCount[]>;
  /** Items of each queue that have not ended, and failed ones that are kept. */
  itemCounts(): Promise<readonly ItemCount[]>;
  /**
   * Records that a part is down for the chunks of a queue, or that they moved on; shared by all workers. `recordDown`
   * returns the milliseconds since the part went down.
   */
  recordDown(queue: ChunkQueueName, part: OutagePart): Promise<number>;
  recordUp(queue: ChunkQueueName): Promise<void>;
  close(): Promise<void>;
}

/** Handlers of queue items. Each may be called twice for the same item (G1). */
export interface QueueHandlers {
  /** One step of a run: plans it, adds a wave, or finishes it. Returns when to take the next step. */
  coordinate(
    runId: string,
    signal: AbortSignal,
  ): Promise<{ readonly kind: 'finished' } | { readonly kind: 'again'; readonly delayMs: number }>;
  work(item: ChunkItem, attempt: number, signal: AbortSignal): Promise<ChunkDecision>;
  /** Of a process that works schedules. `take` is called at each tick, at least once, and never throws. */
  readonly ticks?: {
    readonly next: NextTick;
    readonly take: (name: string, dueMs: number) => Promise<void>;
  };
}

export interface WorkerSettings {
  readonly queues: readonly ChunkQueueName[];
  /** Chunks of a queue that this process works concurrently; as many again of small runs. */
  readonly chunkConcurrency: (queue: ChunkQueueName) => number;
  readonly retry: ChunkRetryPolicy;
  /** How long running work may take to finish after a stop, before it is handed back. */
  readonly graceMs: number;
}

export interface RunningWorkers {
  /** Takes no more work, gives running work the grace period (by default that of the settings), then hands it back. */
  stop(graceMs?: number): Promise<void>;
}

// The lanes of a queue. Small runs have places of their own in every worker, so that they begin at once, however many and
// long the items of large runs are.

export type Lane = 'large' | 'small';

/** Items of a small run: each worker has as many places for them as for those of large runs. One may be 300,000 rows of an export. */
const mostSmallItems = 4;

/** The lane of a run with so many items. A push is one item, however large its file is. */
export function laneOf(queue: ChunkQueueName, items: number): Lane {
  return queue !== 'push' && items <= mostSmallItems ? 'small' : 'large';
}

/** The lanes that {@link laneOf} gives out for a queue. */
export function lanesOf(queue: ChunkQueueName): readonly Lane[] {
  return queue === 'push' ? ['large'] : ['large', 'small'];
}

/** Items of one queue take turns by their position in their run; no position is beyond this. */
export const lowestPriority = 2_097_151;

/** Steps of the coordinator are short: one process can run many. */
export const coordinatorConcurrency = 10;
