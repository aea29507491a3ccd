/** The port to the queue: what runs ask of it, and what it asks of them. BullMQ and Redis stay behind it. */
import type { Fault } from '../core/errors.ts';
import type { Counts, RunState } from '../core/run.ts';
import type { ChunkRetryPolicy, ChunkVerdict } from '../core/verdict.ts';

/** The queue that holds one item a run, for its conductor. */
export const runsQueueName = 'runs';

/** The queues that hold chunks. */
export const chunkQueues = ['export', 'push', 'cleanup'] as const;
export type ChunkQueueName = (typeof chunkQueues)[number];

/** A queue item: identifiers only, no data and no secrets (G10, QUEUE.md). */
export interface ChunkItem {
  readonly runId: string;
  readonly round: number;
  readonly chunk: number;
}

/** Why a run must not go on: asked for by an operator, or found out by its work. */
export type Halt =
  | { readonly kind: 'cancel'; readonly requestedBy: string }
  | { readonly kind: 'stop'; readonly fault: Fault };

/** The live state of a run: moves only forward, and can be lost, since the warehouse has the truth (QUEUE.md). */
export interface BoardState {
  readonly state: RunState;
  /** Of the run in hand: part of the ids of its queue items. */
  readonly round: number;
  readonly queue: ChunkQueueName;
  readonly units: number;
  readonly settledUnits: number;
  /** Of settled units, and of those under way. */
  readonly counts: Counts;
  /** Units that are worked for long and told how far they have come. */
  readonly underWay: readonly UnitProgress[];
  readonly chunks: number;
  readonly chunksAdded: number;
  readonly chunksEnded: number;
  readonly halt: Halt | undefined;
  /** When a unit was last settled or a chunk ended. */
  readonly movedAtMs: number;
}

/** How far a unit has come that is not settled yet. */
export interface UnitProgress {
  readonly unit: number;
  /** Grows with the work; of `whole`, where that is known. */
  readonly done: number;
  readonly whole?: number;
  /** What is accounted for so far, from the unit's beginning. */
  readonly counts: Counts;
  /** The attempt of the queue item that came this far. */
  readonly attempt: number;
}

export interface RunBoard {
  read(runId: string): Promise<BoardState | undefined>;
  /** Starts the board over from the warehouse's truth. */
  open(
    runId: string,
    start: {
      readonly queue: ChunkQueueName;
      readonly round: number;
      readonly units: number;
      readonly settledUnits: number;
      readonly counts: Counts;
      readonly chunks: readonly number[];
    },
  ): Promise<void>;
  /** Marks units as settled and adds their counts, once for each unit, whoever says it how often. */
  settle(runId: string, outcomes: ReadonlyArray<{ readonly unit: number; readonly counts: Counts }>): Promise<void>;
  /** Tells how far a unit has come; one that is behind what was told before, or of a settled unit, is ignored. */
  progress(runId: string, progress: UnitProgress): Promise<void>;
  endChunk(runId: string, chunk: number): Promise<void>;
  /** The first halt stays. A run without a board gets one that halts it as soon as it is looked at. */
  halt(runId: string, halt: Halt): Promise<void>;
  finish(runId: string, state: RunState): Promise<void>;
  /** Forgets the board: the next look starts over from the warehouse. */
  forget(runId: string): Promise<void>;
}

/** How an added chunk stands when its end was not heard of. */
export type ChunkStanding =
  | { readonly item: ChunkItem; readonly standing: 'active' | 'waiting' | 'gone' }
  | { readonly item: ChunkItem; readonly standing: 'failed'; readonly reason: string };

/** The sole right to work an item, for as long as this process can be sure of it. */
export interface ItemLease extends AsyncDisposable {
  /** By the clock of this process, whether or not its event loop had a turn to notice. */
  isHeld(): boolean;
  /** Aborts, with an AbortedError, when it is held no longer. */
  readonly signal: AbortSignal;
}

export interface WorkerCount {
  readonly queue: string;
  readonly workers: number;
}

/** A prompt queue fails within seconds while Redis is away; a lasting one waits for it to come back. */
export interface RunQueue {
  readonly board: RunBoard;
  /** Adds the item that conducts a run. Adding it again is harmless: ids are deterministic. */
  submit(runId: string, round: number): Promise<void>;
  isSubmitted(runId: string, round: number): Promise<boolean>;
  /** Adds the next wave: at most `limit` chunks that were not added yet. Returns how many. */
  addWave(runId: string, limit: number): Promise<number>;
  /** The chunks that were added and did not end, with how they stand in the queue. */
  standings(runId: string): Promise<readonly ChunkStanding[]>;
  /** Adds chunks again whose items are gone. */
  addAgain(queue: ChunkQueueName, items: readonly ChunkItem[]): Promise<void>;
  /**
   * Waits until nobody else has the item, then keeps it until disposed. A worker that died, or cannot reach Redis, loses it
   * within seconds, and has stopped by then unless its whole process stood still. Rejects with AbortedError.
   */
  lease(item: ChunkItem, signal: AbortSignal): Promise<ItemLease>;
  /** How many workers listen at each queue, over all hosts. */
  workers(): Promise<readonly WorkerCount[]>;
  /**
   * Notes that the service did not answer, or that it did. Shared by all workers. `noteDown` returns for how long it has
   * been so, in milliseconds.
   */
  noteDown(queue: ChunkQueueName): Promise<number>;
  noteUp(queue: ChunkQueueName): Promise<void>;
  close(): Promise<void>;
}

/** What the queue calls when an item is to be worked. Both must stand being called twice for the same item (G1). */
export interface QueueHandlers {
  /** One look at a run: plans it, adds a wave, finishes it. Says when to look again. */
  conduct(
    runId: string,
    signal: AbortSignal,
  ): Promise<{ readonly kind: 'finished' } | { readonly kind: 'again'; readonly delayMs: number }>;
  work(item: ChunkItem, attempt: number, signal: AbortSignal): Promise<ChunkVerdict>;
}

export interface WorkerSettings {
  readonly queues: readonly ChunkQueueName[];
  /** Chunks that this process works at one time, for each queue. */
  readonly chunkConcurrency: number;
  readonly retry: ChunkRetryPolicy;
  /** How long a stop lets work in flight finish before it is handed back. */
  readonly graceMs: number;
}

export interface RunningWorkers {
  /** Stops taking work, lets what is in flight finish for the grace, then hands it back. */
  stop(): Promise<void>;
}
