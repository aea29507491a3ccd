/**
 * The queue in the memory of the process that works the warehouse. The ledger has the runs, and what must outlive the process
 * (kept-state.ts); items are made again from it (src/runs/revival.ts).
 */
import { AbortedError, type OutagePart } from '../../core/base/errors.ts';
import { type ChunkQueueName, chunkQueues } from '../../core/run/job-description.ts';
import type { QueueStateEntry, QueueStateStore } from '../../core/run/warehouse-queue.ts';
import {
  type ChunkItem,
  type ItemLease,
  laneOf,
  lanesOf,
  lowestPriority,
  type MetricStore,
  type NextTick,
  type QueuedChunk,
  type QueueIdentityStore,
  type RunProgress,
  type RunQueue,
  runsQueueName,
  type TickSchedule,
  ticksQueueName,
} from '../port.ts';
import { type Item, LaneItems } from './lane.ts';
import { ServiceLimits } from './fair-shares.ts';
import type { KeptHold } from './hold-and-circuit.ts';
import { createRunLog, EmbeddedProgress, EmbeddedStarts } from './progress.ts';
import { KeptState } from './kept-state.ts';

/** How long an outage is remembered after it was met last, if nobody records its end. */
const forgetDownMs = 6 * 3_600_000;

const countedStates = ['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const;

interface Down {
  readonly sinceMs: number;
  readonly seenAtMs: number;
}

const laneKey = (queue: string, lane = 'large'): string => `${queue}/${lane}`;
const runItemId = (runId: string, generation: number): string => `${runId}-${generation}`;
const chunkItemId = ({ runId, generation, chunk }: ChunkItem): string => `${runId}-${generation}-${chunk}`;

/** The lanes of a queue, by their keys. */
export function lanesOfQueue(queue: ChunkQueueName): readonly string[] {
  return lanesOf(queue).map((lane) => laneKey(queue, lane));
}

export const runsLane = laneKey(runsQueueName);
export const ticksLane = laneKey(ticksQueueName);

export class EmbeddedQueue implements RunQueue {
  readonly isEnded = false;
  readonly progress: EmbeddedProgress;
  readonly starts: EmbeddedStarts;
  readonly identity: QueueIdentityStore;
  readonly metrics: MetricStore = createMemoryMetrics();
  readonly runLog;
  readonly #now: () => number;
  readonly #kept: KeptState;
  readonly #lanes = new Map<string, LaneItems>();
  readonly #leases = new Map<string, Promise<void>>();
  readonly #downSince = new Map<string, Down>();
  readonly #ticks = new Map<string, TickSchedule & { readonly dueMs: number }>();
  /** The limits towards the service: those of this process, once it works. */
  readonly serviceHold: ServiceLimits;
  #sureUntilMs = Infinity;
  #listening: readonly string[] = [];
  #onChange: () => void = () => {};

  /** `queueId`: the identity of the process. */
  constructor({
    queueId,
    now,
    store,
  }: {
    readonly queueId: string;
    readonly now: () => number;
    readonly store: QueueStateStore;
  }) {
    this.#now = now;
    this.#kept = new KeptState(store);
    this.starts = new EmbeddedStarts(this.#kept);
    this.progress = new EmbeddedProgress(now, this.#kept, this.starts);
    this.runLog = createRunLog(this.#kept);
    const keepHold = (hold: KeptHold | undefined): void => this.#kept.record('hold', '', hold);
    this.serviceHold = new ServiceLimits(
      now,
      keepHold,
      () => this.#kept.flush(),
      () => this.isSure,
    );
    let worked: string | undefined;
    this.identity = {
      read: async () => ({ queueId, warehouseId: worked }),
      keep: async (_, warehouseId) => {
        worked = warehouseId;
        return { queueId, warehouseId };
      },
      release: async () => void (worked = undefined),
    };
  }

  beaten(sureUntilMs: number): void {
    this.#sureUntilMs = sureUntilMs;
  }

  /**
   * Whether no other process can have taken the warehouse: after a pause longer than a beat is good for, such as that of a
   * suspended host, nothing is sent before the next beat (G9, G11).
   */
  get isSure(): boolean {
    return this.#now() < this.#sureUntilMs;
  }

  /** Takes up what an earlier process left, before this one works. */
  async restore(): Promise<void> {
    const { hold } = this.serviceHold.state;
    // What this process noted before counts too.
    await this.#kept.flush();
    const entries = await this.#kept.read(['hold', 'start', 'stop', 'down']);
    this.starts.restore(entries);
    this.progress.restore(entries);
    for (const { kind, key, value } of entries) if (kind === 'down') this.#downSince.set(key, value as Down);
    this.#restoreHold(entries, hold);
  }

  /** Takes up what others wrote into the ledger for a working process: requests to stop, and that a hold is lifted. */
  async readWords(): Promise<void> {
    const { state } = this.serviceHold;
    const before = state.hold;
    await this.#kept.flush();
    const entries = await this.#kept.read(['stop', 'hold']);
    this.progress.restore(entries);
    const isLifted = entries.every(({ kind }) => kind !== 'hold');
    // One that was met meanwhile may not be written yet.
    if (isLifted && before !== undefined && state.hold === before) state.lift();
  }

  /** Takes up the hold alone, for a process that sends requests without working. */
  async restoreHold(): Promise<void> {
    const { hold } = this.serviceHold.state;
    await this.#kept.flush();
    this.#restoreHold(await this.#kept.read(['hold']), hold);
  }

  #restoreHold(entries: readonly QueueStateEntry[], before: object | undefined): void {
    const { state } = this.serviceHold;
    // One that was met meanwhile may not be written yet.
    if (state.hold === before) state.restore(holdAmong(entries));
  }

  /** For the workers of the process. Called when an item may be taken. */
  listen(queues: readonly string[], onChange: () => void): void {
    this.#listening = queues;
    this.#onChange = onChange;
  }

  /** Tells the workers that an item may be taken. */
  changed(): void {
    this.#onChange();
  }

  lane(key: string): LaneItems {
    const lane = this.#lanes.get(key) ?? new LaneItems();
    this.#lanes.set(key, lane);
    return lane;
  }

  async submit(runId: string, generation: number): Promise<void> {
    this.lane(runsLane).add(runItemId(runId, generation), { kind: 'run', runId });
    this.changed();
  }

  async isSubmitted(runId: string, generation: number): Promise<boolean> {
    const item = this.lane(runsLane).get(runItemId(runId, generation));
    return item !== undefined && item.state !== 'failed';
  }

  async hasten(runId: string, generation: number): Promise<void> {
    const item = this.lane(runsLane).get(runItemId(runId, generation));
    if (item?.state !== 'delayed') return;
    this.lane(runsLane).putBack(item, 'back');
    this.changed();
  }

  async enqueueNext(runId: string, limit: number): Promise<number> {
    const run = this.progress.readNow(runId);
    if (run === undefined) return 0;
    const { first, chunks } = this.progress.takeNext(runId, limit);
    const items = chunks.map((chunk) => ({ runId, generation: run.generation, chunk }));
    this.#add(run, items, first);
    return chunks.length;
  }

  async chunkStatuses(runId: string): Promise<readonly QueuedChunk[]> {
    const run = this.progress.readNow(runId);
    if (run === undefined) return [];
    const lane = this.#laneOf(run);
    return this.progress.inFlight(runId).map((chunk): QueuedChunk => {
      const item = { runId, generation: run.generation, chunk };
      const found = lane.get(chunkItemId(item));
      if (found === undefined) return { item, status: 'gone' };
      if (found.state === 'failed') return { item, status: 'failed', reason: found.reason ?? 'no reason kept' };
      return { item, status: found.state === 'active' ? 'active' : 'waiting' };
    });
  }

  async requeue(runId: string, items: readonly ChunkItem[]): Promise<void> {
    const run = this.progress.readNow(runId);
    if (run === undefined) return;
    const lane = this.#laneOf(run);
    // One that is worked stays.
    for (const item of items) if (lane.get(chunkItemId(item))?.state !== 'active') lane.remove(chunkItemId(item));
    this.#add(run, items, 0);
  }

  #laneOf({ queue, chunks }: RunProgress): LaneItems {
    return this.lane(laneKey(queue, laneOf(queue, chunks)));
  }

  /**
   * `first`: position of the first item in its run. Runs of one lane take turns, item by item
   * (docs/decisions/0022-runs-share-the-requests.md).
   */
  #add(run: RunProgress, items: readonly ChunkItem[], first: number): void {
    const lane = this.#laneOf(run);
    for (const [index, item] of items.entries()) {
      const priority = Math.min(lowestPriority, 1 + first + index);
      lane.add(chunkItemId(item), { kind: 'chunk', item }, { priority });
    }
    this.changed();
  }

  async lease({ runId, chunk }: ChunkItem, signal: AbortSignal): Promise<ItemLease> {
    const key = `${runId}:${chunk}`;
    for (;;) {
      if (signal.aborted) throw new AbortedError();
      const lease = await this.tryLease(key);
      if (lease !== undefined) return lease;
      await settledOrAborted(this.#leases.get(key), signal);
    }
  }

  /** No other process works the warehouse, so that a lease is lost with it alone. */
  async tryLease(work: string): Promise<ItemLease | undefined> {
    if (this.#leases.has(work)) return undefined;
    let end = (): void => {};
    this.#leases.set(work, new Promise((resolve) => (end = resolve)));
    let isOwned = true;
    return {
      signal: new AbortController().signal,
      isOwned: () => isOwned && this.isSure,
      [Symbol.asyncDispose]: async () => {
        if (!isOwned) return;
        isOwned = false;
        this.#leases.delete(work);
        end();
      },
    };
  }

  async keepTicks(
    schedules: readonly TickSchedule[],
    nextTick: NextTick,
    others: readonly string[] = [],
  ): Promise<void> {
    const names = new Set([...schedules.map(({ name }) => name), ...others]);
    for (const name of this.#ticks.keys()) if (!names.has(name)) this.#dropTick(name);
    for (const schedule of schedules) {
      const { name, cron, timeZone } = schedule;
      const known = this.#ticks.get(name);
      // Written again, a tick that is due would be lost.
      if (known?.cron === cron && known.timeZone === timeZone) continue;
      this.#dropTick(name);
      this.#addTick(schedule, nextTick({ cron, timeZone }, this.#now()));
    }
  }

  /** For the worker of ticks: the next one of a schedule is there before this one is taken. */
  tickTaken(name: string, dueMs: number, nextTick: NextTick): void {
    const known = this.#ticks.get(name);
    if (known?.dueMs === dueMs) this.#addTick(known, nextTick(known, Math.max(this.#now(), dueMs)));
  }

  #addTick(schedule: TickSchedule, dueMs: number | undefined): void {
    const { name } = schedule;
    if (dueMs === undefined) return;
    this.#ticks.set(name, { ...schedule, dueMs });
    this.lane(ticksLane).add(tickItemId(name, dueMs), { kind: 'tick', name, dueMs }, { dueAtMs: dueMs });
    this.changed();
  }

  #dropTick(name: string): void {
    const known = this.#ticks.get(name);
    if (known === undefined) return;
    this.#ticks.delete(name);
    const id = tickItemId(name, known.dueMs);
    if (this.lane(ticksLane).get(id)?.state !== 'active') this.lane(ticksLane).remove(id);
  }

  async workers() {
    return [runsQueueName, ...chunkQueues].map((queue) => ({
      queue,
      workers: this.#listening.includes(queue) ? 1 : 0,
    }));
  }

  async itemCounts() {
    return [runsQueueName, ...chunkQueues].flatMap((queue) => {
      const lanes = [laneKey(queue), laneKey(queue, 'small')].map((key) => this.lane(key));
      const found = lanes.flatMap((lane) => [...lane.all].map(countedState));
      return countedStates.map((state) => ({ queue, state, items: found.filter((each) => each === state).length }));
    });
  }

  async recordDown(queue: ChunkQueueName, part: OutagePart): Promise<number> {
    const [nowMs, key] = [this.#now(), `${queue} ${part}`];
    const known = this.#downSince.get(key);
    const isGoingOn = known !== undefined && nowMs - known.seenAtMs < forgetDownMs;
    const down = { sinceMs: isGoingOn ? Math.min(known.sinceMs, nowMs) : nowMs, seenAtMs: nowMs };
    this.#downSince.set(key, down);
    // Met every few seconds: since when it lasts is what has to be kept.
    if (!isGoingOn) this.#kept.record('down', key, down);
    return nowMs - down.sinceMs;
  }

  async recordUp(queue: ChunkQueueName): Promise<void> {
    for (const key of this.#downSince.keys()) {
      if (!key.startsWith(`${queue} `)) continue;
      this.#downSince.delete(key);
      this.#kept.recordNow('down', key);
    }
  }

  /** Nothing of it can be away. */
  async giveUp(): Promise<void> {
    await this.close();
  }

  /** Writes what was noted. */
  flush(): Promise<void> {
    return this.#kept.flush();
  }

  /** A warehouse that is away keeps nothing up. */
  async close(): Promise<void> {
    await this.flush().catch(() => undefined);
  }
}

function holdAmong(entries: readonly QueueStateEntry[]): KeptHold | undefined {
  return entries.find(({ kind }) => kind === 'hold')?.value as KeptHold | undefined;
}

function tickItemId(name: string, dueMs: number): string {
  return `${name}:${dueMs}`;
}

/** One that waits in the order of priorities is counted apart, as in Redis. */
function countedState({ state, priority }: Item): string {
  return state === 'waiting' && priority > 0 ? 'prioritized' : state;
}

async function settledOrAborted(other: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  let wake = (): void => {};
  const aborted = new Promise<void>((resolve) => (wake = resolve));
  signal.addEventListener('abort', wake, { once: true });
  await Promise.race([other, aborted]);
  signal.removeEventListener('abort', wake);
}

/** The metrics of the process: each increment once, since nothing is reported twice. */
function createMemoryMetrics(): MetricStore {
  const sums = new Map<string, number>();
  const gauges = new Map<string, number>();
  const known = new Map<string, Map<string, number>>();
  return {
    async raise(source, totals) {
      const before = known.get(source) ?? new Map<string, number>();
      known.set(source, before);
      for (const [series, total] of totals) {
        const last = before.get(series);
        if (last !== undefined && total <= last) continue;
        sums.set(series, (sums.get(series) ?? 0) + Math.max(0, total - (last ?? 0)));
        before.set(series, total);
      }
    },
    async set(values) {
      for (const [series, value] of values) gauges.set(series, value);
    },
    read: async () => ({ sums: new Map(sums), gauges: new Map(gauges) }),
  };
}
