/**
 * The queue of a process without Redis. While this process works the warehouse, it is the queue; beside a working process of
 * the host it is that one's, over its socket; and where nobody works, it is what the ledger keeps.
 */
import { OutageError } from '../../core/base/errors.ts';
import type { QueueStateStore } from '../../core/run/warehouse-queue.ts';
import type { Admission, Limits } from '../admission.ts';
import type {
  ChunkItem,
  ItemLease,
  ItemStartStore,
  MetricStore,
  QueueIdentity,
  QueueIdentityStore,
  RunLogStore,
  RunProgressStore,
  RunQueue,
  ServiceHoldStore,
} from '../port.ts';
import type { Asked } from './socket-protocol.ts';
import { type PeerOptions, Peers } from './peers.ts';
import { EmbeddedQueue } from './run-queue.ts';
import { Working } from './working.ts';

/** How long what the ledger keeps counts as read. */
const keptMs = 500;

/** How often one question is asked of processes that end meanwhile. */
const mostTries = 3;

export interface ProcessQueueOptions extends PeerOptions {
  /** What the ledger keeps. */
  readonly store: QueueStateStore;
  readonly now: () => number;
}

export class ProcessQueue implements RunQueue {
  readonly isEnded = false;
  /** Of this process; it has workers while it works. */
  readonly local: EmbeddedQueue;
  readonly peers: Peers;
  readonly working: Working;
  readonly #options: ProcessQueueOptions;
  #kept: { readonly queue: Promise<EmbeddedQueue>; readonly sinceMs: number } | undefined;

  constructor(options: ProcessQueueOptions) {
    const { queueId, store, now } = options;
    this.#options = options;
    this.local = new EmbeddedQueue({ queueId, now, store });
    this.peers = new Peers(options);
    this.working = new Working(this.local, this.peers, options);
  }

  /** The identity of the queue that works the warehouse, by whoever works. */
  workingIdentity(): Promise<QueueIdentity> {
    return this.#ask((queue) => queue.identity.read());
  }

  /** Leave to send requests, for a process that works, or that keeps others from it. */
  async admission(): Promise<(limits: Limits) => Admission> {
    if (!this.working.isWorking) await this.local.restoreHold();
    return (limits) => this.local.serviceHold.admission(limits);
  }

  /** Asks whoever works. One that ends meanwhile is asked no more: what it was asked is asked again, which changes nothing. */
  async #ask<Answer>(call: (queue: Asked) => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; tries <= mostTries; tries += 1) {
      if (this.working.isWorking) return call(this.local);
      const peer = await this.peers.find();
      if (peer === undefined) break;
      try {
        return await call(peer.queue);
      } catch (error) {
        if (!(error instanceof OutageError) || !peer.closed.aborted) throw error;
        if (tries === mostTries) this.peers.ignore();
      }
    }
    return this.working.isWorking ? call(this.local) : this.#askKept(call);
  }

  /** What was not said to the working process itself, it finds in the ledger once it is woken. */
  async #wakeOther(): Promise<void> {
    if (this.working.isWorking || this.peers.reached !== undefined) return;
    // One may have begun to work meanwhile, and have read the ledger before.
    await this.peers.find();
    await this.peers.wake();
  }

  /** Asks what the ledger keeps, as a queue that nobody works; what is changed in it is in the ledger then. */
  async #askKept<Answer>(call: (queue: Asked) => Promise<Answer>): Promise<Answer> {
    const kept = await this.#readKept();
    const answer = await call(kept);
    await kept.flush();
    return answer;
  }

  /** A list asks of each of its runs, at one time: what is read is good for all of them. */
  #readKept(): Promise<EmbeddedQueue> {
    const nowMs = performance.now();
    if (this.#kept !== undefined && nowMs - this.#kept.sinceMs < keptMs) return this.#kept.queue;
    const kept = { queue: this.#restored(), sinceMs: nowMs };
    this.#kept = kept;
    kept.queue.catch(() => {
      if (this.#kept === kept) this.#kept = undefined;
    });
    return kept.queue;
  }

  async #restored(): Promise<EmbeddedQueue> {
    const { queueId, now, store } = this.#options;
    const queue = new EmbeddedQueue({ queueId, now, store });
    await queue.restore();
    return queue;
  }

  // The port. What only a working process does is its own.

  get identity(): QueueIdentityStore {
    return this.local.identity;
  }

  readonly progress: RunProgressStore = {
    read: (runId) => this.#ask((queue) => queue.progress.read(runId)),
    requestStop: async (runId, request) => {
      await this.#ask((queue) => queue.progress.requestStop(runId, request));
      await this.#wakeOther();
    },
    forget: (runId) => this.#ask((queue) => queue.progress.forget(runId)),
    finish: (runId, state) => this.#ask((queue) => queue.progress.finish(runId, state)),
    open: (...given) => this.local.progress.open(...given),
    settle: (...given) => this.local.progress.settle(...given),
    advance: (...given) => this.local.progress.advance(...given),
    recordReadings: (...given) => this.local.progress.recordReadings(...given),
    endChunk: (...given) => this.local.progress.endChunk(...given),
    restart: (...given) => this.local.progress.restart(...given),
  };

  readonly serviceHold: ServiceHoldStore = {
    read: () => this.#ask((queue) => queue.serviceHold.read()),
    readOutage: () => this.#ask((queue) => queue.serviceHold.readOutage()),
    lift: async () => {
      // What this process has read of it before must not stay.
      if (!this.working.isWorking) this.local.serviceHold.state.forget();
      const lifted = await this.#ask((queue) => queue.serviceHold.lift());
      await this.#wakeOther();
      return lifted;
    },
  };

  readonly metrics: MetricStore = {
    raise: (...given) => this.#ask((queue) => queue.metrics.raise(...given)),
    set: (...given) => this.#ask((queue) => queue.metrics.set(...given)),
    read: () => this.#ask((queue) => queue.metrics.read()),
  };

  readonly runLog: RunLogStore = {
    append: (...given) => this.local.runLog.append(...given),
    read: (runId) => this.#ask((queue) => queue.runLog.read(runId)),
  };

  get starts(): ItemStartStore {
    return this.local.starts;
  }

  async submit(runId: string, generation: number): Promise<void> {
    await this.#ask((queue) => queue.submit(runId, generation));
    if (!this.working.isWorking && this.peers.reached === undefined) this.working.remember(runId, generation);
    await this.#wakeOther();
  }

  isSubmitted(runId: string, generation: number): Promise<boolean> {
    return this.#ask((queue) => queue.isSubmitted(runId, generation));
  }

  hasten(runId: string, generation: number): Promise<void> {
    return this.#ask((queue) => queue.hasten(runId, generation));
  }

  chunkStatuses(runId: string) {
    return this.#ask((queue) => queue.chunkStatuses(runId));
  }

  /** One that works and cannot be reached counts: it is on another host, or of another user. */
  async workers() {
    const counts = await this.#ask((queue) => queue.workers());
    if (this.working.isWorking || !(await this.peers.isWorkedOutOfReach())) return counts;
    return counts.map(({ queue }) => ({ queue, workers: 1 }));
  }

  itemCounts() {
    return this.#ask((queue) => queue.itemCounts());
  }

  enqueueNext(runId: string, limit: number): Promise<number> {
    return this.local.enqueueNext(runId, limit);
  }

  requeue(runId: string, items: readonly ChunkItem[]): Promise<void> {
    return this.local.requeue(runId, items);
  }

  lease(item: ChunkItem, signal: AbortSignal): Promise<ItemLease> {
    return this.local.lease(item, signal);
  }

  tryLease(work: string): Promise<ItemLease | undefined> {
    return this.local.tryLease(work);
  }

  /** The working process reads the schedules itself, once it knows that they have changed. */
  async keepTicks(...given: Parameters<RunQueue['keepTicks']>): Promise<void> {
    if (this.working.isWorking) return this.local.keepTicks(...given);
    await this.peers.find();
    await this.peers.wake();
  }

  recordDown(...given: Parameters<RunQueue['recordDown']>): Promise<number> {
    return this.local.recordDown(...given);
  }

  recordUp(...given: Parameters<RunQueue['recordUp']>): Promise<void> {
    return this.local.recordUp(...given);
  }

  giveUp(): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    this.peers.end();
    await this.working.close();
  }
}
