/**
 * The queue of a process without Redis. While this process works the warehouse, it is the queue; beside a working process of
 * the host it is that one's, over its socket; and where nobody works, it is what the ledger keeps.
 */
import { OutageError } from '../../core/base/errors.ts';
import type { QueueStateStore } from '../../core/run/queue-state.ts';
import type { Presence } from '../../core/run/presence.ts';
import type { Admission, Limits } from '../limiter/admission.ts';
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
import type { Asked } from './calls.ts';
import { EmbeddedQueue } from './run-queue.ts';
import { connectToPeer, type QueuePeer } from './socket-client.ts';
import { sleep } from '../../timers/sleep.ts';
import { removeOthers, socketPath } from './socket-path.ts';
import { type QueueServer, type ServedWork, serveQueue } from './socket-server.ts';

/** How long what the ledger keeps counts as read. */
const keptMs = 500;

/** How long a process that did not answer is not asked again. */
const silentMs = 5_000;

/** How often one question is asked of processes that end meanwhile. */
const mostTries = 3;

/** A lost session of a server is made again within it (src/warehouse/postgres/presence.ts). */
const madeAgainMs = 3_000;

/** Runs beyond are found in the ledger. */
const mostSubmitted = 100;

export interface ProcessQueueOptions {
  /** Random: that of the process. */
  readonly queueId: string;
  /** Of a DuckDB warehouse; undefined for one of a server. */
  readonly databaseFile: string | undefined;
  /** What the ledger keeps. */
  readonly store: QueueStateStore;
  /** What the warehouse itself knows of the working process. */
  readonly presence: Presence;
  /** Whether the last beat is young enough for its process to live. */
  readonly isBeating: () => Promise<boolean>;
  /** The queue of the last beat; undefined where nobody works. */
  readonly owner: () => Promise<string | undefined>;
  readonly now: () => number;
}

export class ProcessQueue implements RunQueue {
  readonly isEnded = false;
  /** Of this process; it has workers while it works. */
  readonly local: EmbeddedQueue;
  readonly #options: ProcessQueueOptions;
  readonly #path: string;
  /** Runs that were submitted before this process worked: they need no revival. */
  readonly #submitted: (readonly [runId: string, generation: number])[] = [];
  #isWorking = false;
  #kept: { readonly queue: EmbeddedQueue; readonly readAtMs: number } | undefined;
  #server: QueueServer | undefined;
  /** Why there is no socket. */
  #unserved: unknown;
  #peer: QueuePeer | undefined;
  /** A process that is stopped is not asked before. */
  #silentUntilMs = 0;
  #presence: { end(): Promise<void> } | undefined;
  #onWoken = (): void => {};

  constructor(options: ProcessQueueOptions) {
    const { queueId, databaseFile, store, now } = options;
    this.#options = options;
    this.#path = socketPath(queueId, databaseFile);
    this.local = new EmbeddedQueue({ queueId, now, store });
  }

  // The work of this process.

  /**
   * Lets other commands in, before this process claims the warehouse: from the claim on, they look for it. `sendRequest` sends
   * their requests to the service. Where no socket can be made, others wait for what is in the ledger.
   */
  async listen(sendRequest: ServedWork['sendRequest']): Promise<void> {
    const served = { onWoken: () => this.#onWoken(), sendRequest };
    try {
      this.#server ??= await serveQueue(this.#path, this.local, served);
      this.#unserved = undefined;
    } catch (error) {
      this.#unserved = error;
    }
    const { presence, queueId } = this.#options;
    this.#presence ??= await presence.keep(queueId, () => void this.#wake());
  }

  /** To be called once the claim stands. Returns why other commands cannot reach this process, if they cannot. */
  async beginWork(): Promise<unknown> {
    this.#peer?.end();
    await this.local.restore();
    for (const [runId, generation] of this.#submitted.splice(0)) await this.local.submit(runId, generation);
    this.#isWorking = true;
    await removeOthers(this.#path, this.#options.databaseFile);
    return this.#unserved;
  }

  /** Another host has left work in the ledger, or a request to stop. */
  async #wake(): Promise<void> {
    if (!this.#isWorking) return;
    await this.local.restoreStops().catch(() => undefined);
    this.#onWoken();
  }

  /** To be called once the claim has ended, and what was noted is in the ledger. */
  async endWork(): Promise<void> {
    this.#isWorking = false;
    await this.#server?.close();
    this.#server = undefined;
    await this.#presence?.end();
    this.#presence = undefined;
  }

  /** `action` is called when another process has left runs in the ledger, or has changed the schedules. */
  onWoken(action: () => void): void {
    this.#onWoken = action;
  }

  // Other processes.

  /**
   * Whether the process of a queue has certainly ended: nobody listens at its socket, and the database is of this host; or the
   * server knows no session of it.
   */
  async isGone(queueId: string): Promise<boolean> {
    const { databaseFile, presence } = this.#options;
    const isOfServer = databaseFile === undefined;
    if (isOfServer && (await presence.isGone(queueId)) !== true) return false;
    const path = socketPath(queueId, databaseFile);
    const found = await connectToPeer(path);
    if (found.kind === 'open') found.peer.end();
    if (found.kind === 'refused') return true;
    if (found.kind === 'open' || found.kind === 'silent') return false;
    // Somebody may have removed it, or look for it elsewhere. A pipe is there as long as its process.
    if (!isOfServer) return process.platform === 'win32' && found.kind === 'absent';
    // It may be of another host, and make a session again that it has lost.
    await sleep(madeAgainMs);
    return (await presence.isGone(queueId)) === true;
  }

  /** The process of the host that works the warehouse; undefined where none can be reached, and for this one. */
  async peer(): Promise<QueuePeer | undefined> {
    if (this.#isWorking) return undefined;
    if (this.#peer !== undefined && !this.#peer.closed.aborted) return this.#peer;
    const found = await this.#connect();
    this.#peer = found;
    return found;
  }

  async #connect(): Promise<QueuePeer | undefined> {
    const { queueId, databaseFile, owner } = this.#options;
    // A list asks of each of its runs.
    if (performance.now() < this.#silentUntilMs) return undefined;
    const ownerId = await owner();
    if (ownerId === undefined || ownerId === queueId) return undefined;
    const found = await connectToPeer(socketPath(ownerId, databaseFile));
    if (found.kind === 'silent') this.#silentUntilMs = performance.now() + silentMs;
    return found.kind === 'open' ? found.peer : undefined;
  }

  /** The identity of the queue that works the warehouse, by whoever works. */
  workingIdentity(): Promise<QueueIdentity> {
    return this.#ask((queue) => queue.identity.read());
  }

  /** Leave to send requests, for a process that works, or that keeps others from it. */
  async admission(): Promise<(limits: Limits) => Admission> {
    if (!this.#isWorking) await this.local.restoreHold();
    return (limits) => this.local.serviceHold.admission(limits);
  }

  /** Asks whoever works. One that ends meanwhile is asked no more: what it was asked is asked again, which changes nothing. */
  async #ask<Answer>(call: (queue: Asked) => Promise<Answer>): Promise<Answer> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const peer = await this.peer();
      if (peer === undefined) return this.#isWorking ? call(this.local) : this.#askKept(call);
      try {
        return await call(peer.queue);
      } catch (error) {
        if (!(error instanceof OutageError) || !peer.closed.aborted) throw error;
      }
    }
    // It speaks another language, such as that of another version.
    this.#silentUntilMs = performance.now() + silentMs;
    return this.#askKept(call);
  }

  /** A process that works on another host finds in the ledger what it was not told. */
  async #wakeOther(): Promise<void> {
    if (!this.#isWorking && this.#peer === undefined) await this.#options.presence.wake().catch(() => undefined);
  }

  /** Asks what the ledger keeps, as a queue that nobody works; what is changed in it is in the ledger then. */
  async #askKept<Answer>(call: (queue: Asked) => Promise<Answer>): Promise<Answer> {
    const kept = await this.#readKept();
    const answer = await call(kept);
    await kept.flush();
    return answer;
  }

  /** A list asks of each of its runs: what was read is good for all of them. */
  async #readKept(): Promise<EmbeddedQueue> {
    const { queueId, now, store } = this.#options;
    const readAtMs = performance.now();
    if (this.#kept !== undefined && readAtMs - this.#kept.readAtMs < keptMs) return this.#kept.queue;
    const queue = new EmbeddedQueue({ queueId, now, store });
    await queue.restore();
    this.#kept = { queue, readAtMs };
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
      if (!this.#isWorking) await this.local.serviceHold.lift();
      return this.#ask((queue) => queue.serviceHold.lift());
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
    if (!this.#isWorking && this.#peer === undefined && this.#submitted.length < mostSubmitted) {
      this.#submitted.push([runId, generation]);
    }
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
    if (this.#isWorking || this.#peer !== undefined || !(await this.#isWorkedElsewhere())) return counts;
    return counts.map(({ queue }) => ({ queue, workers: 1 }));
  }

  async #isWorkedElsewhere(): Promise<boolean> {
    const ownerId = (await this.#options.isBeating()) ? await this.#options.owner() : undefined;
    return ownerId !== undefined && ownerId !== this.#options.queueId && !(await this.isGone(ownerId));
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
    if (this.#isWorking) return this.local.keepTicks(...given);
    await (await this.peer())?.wake();
    await this.#wakeOther();
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
    this.#peer?.end();
    await this.endWork();
  }
}
