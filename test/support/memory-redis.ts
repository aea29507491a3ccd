/**
 * What Redis holds for all processes of one service, in memory and without a clock: for model tests, in which a scheduler
 * decides the order of everything. A {@link MemoryProcess} works on it by a queue (memory-queue.ts) and by workers
 * (memory-workers.ts).
 */
import type { RunState, Counts } from '../../src/core/run/run.ts';
import type { ChunkQueueName } from '../../src/core/run/job-description.ts';
import type { ChunkItem, StopRequest, TickSchedule, UnitProgress, UnitReading } from '../../src/queue/port.ts';

/** A lock and a lease last so long after the last renewal: that of BullMQ's locks, and of src/queue/redis/items.ts. */
const keepMs = 10_000;
const mostStallsOfRun = 400;
/** As `keepEnded` of src/queue/redis/run-queue.ts. */
const keepEnded = { ageMs: 3_600_000, count: 200 };

export interface StoredRun {
  state?: RunState;
  stopRequest?: StopRequest;
  movedAtMs?: number;
  /** What {@link RunProgressStore.open} wrote; a progress without it takes no reports of work. */
  opened?: {
    readonly queue: ChunkQueueName;
    readonly generation: number;
    readonly units: number;
    readonly settledUnits: number;
    readonly chunks: readonly number[];
  };
  counts: Counts;
  chunksAdded: number;
  endsAtMs: number;
  readonly settled: Set<number>;
  readonly ended: Set<number>;
  readonly underWay: Map<number, UnitProgress>;
  readonly reading: Map<number, UnitReading>;
}

/** Renewed while its process runs; `endsAtMs` once it is not renewed any more. */
export interface Lock {
  readonly owner: MemoryProcess;
  endsAtMs?: number;
}

export type StoredWork =
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'chunk'; readonly item: ChunkItem }
  | { readonly kind: 'tick'; readonly name: string; readonly dueMs: number };

export interface StoredItem {
  readonly id: string;
  readonly lane: string;
  readonly work: StoredWork;
  /** Lower ones are first; 0 is before all others. */
  readonly priority: number;
  state: 'waiting' | 'delayed' | 'active' | 'completed' | 'failed';
  /** Position of an item that waits: its priority, and its order among equals. */
  position: readonly [priority: number, order: number];
  /** When a delayed item is due, and when one has ended. */
  atMs: number;
  attemptsMade: number;
  stalls: number;
  lock?: Lock | undefined;
  reason?: string;
}

export type MemoryRedis = ReturnType<typeof memoryRedis>;

export function memoryRedis() {
  const data = {
    runs: new Map<string, StoredRun>(),
    starts: new Map<string, { readonly counts: Map<string, number>; endsAtMs: number }>(),
    items: new Map<string, StoredItem>(),
    /** Until when a hold keeps a lane from being taken from. */
    heldUntilMs: new Map<string, number>(),
    leases: new Map<string, Lock>(),
    identity: new Map<'queue' | 'warehouse', { readonly id: string; readonly endsAtMs: number }>(),
    downSince: new Map<string, { readonly sinceMs: number; readonly endsAtMs: number }>(),
    sums: new Map<string, number>(),
    gauges: new Map<string, number>(),
    sources: new Map<string, Map<string, number>>(),
    runLog: new Map<string, readonly string[]>(),
    ticks: new Map<string, TickSchedule & { readonly dueMs: number }>(),
  };
  /** Workers by process, with the queues that they take from: connections, which outlive the data. */
  const listening = new Map<MemoryProcess, readonly string[]>();
  const listeners = new Set<() => void>();
  let moves = 0;

  const state = {
    ...data,
    listening,
    /** Called at each {@link poke}. */
    listeners,
    /** A number that no other call gets: an order, an id. */
    next: (): number => (moves += 1),
    /** To be called when the clock moved: wakes whatever waits. What is added or ended wakes it by itself. */
    poke(): void {
      for (const listener of listeners) listener();
    },
    /** Resolves at the next {@link poke}. */
    changed: (): Promise<void> =>
      new Promise((resolve) => {
        const once = (): void => {
          listeners.delete(once);
          resolve();
        };
        listeners.add(once);
      }),
    /** Redis lost everything. */
    lose(): void {
      for (const part of Object.values(data)) part.clear();
      state.poke();
    },
    /** Redis lost the items alone. */
    loseItems(): void {
      data.items.clear();
      state.poke();
    },
  };
  return state;
}

/** What a store needs of a process. */
export interface MemoryConnection {
  readonly state: MemoryRedis;
  readonly now: () => number;
  /** Waits for its turn. Never resolves once the process is dead. */
  step(what: string): Promise<void>;
}

export interface MemoryProcess extends MemoryConnection {
  readonly isDead: boolean;
  /** Dead at once: no further step of it happens, and its locks and leases run out. */
  kill(): void;
  /** It stands still, as with a blocked event loop: nothing is renewed, and no step happens until {@link goOn}. */
  suspend(): void;
  goOn(): void;
  newLock(): Lock;
  /** When a lock of the process ends, `Infinity` while it is renewed. */
  endOf(lock: Lock): number;
  /** A lock is not renewed any more. */
  leave(lock: Lock): void;
}

/**
 * `pace` is awaited before each step of the process; where it rejects, as with an OutageError, the step fails with it.
 * `now`: milliseconds, the clock of all.
 */
export function memoryProcess(
  state: MemoryRedis,
  { now, pace = async () => {} }: { readonly now: () => number; readonly pace?: (what: string) => Promise<void> },
): MemoryProcess {
  const locks = new Set<Lock>();
  let silentSinceMs: number | undefined;
  let isDead = false;
  const endOf = ({ endsAtMs = Infinity }: Lock): number =>
    Math.min(endsAtMs, silentSinceMs === undefined ? Infinity : silentSinceMs + keepMs);

  const standsStill = (): boolean => silentSinceMs !== undefined && !isDead;

  const own: MemoryProcess = {
    state,
    now,
    endOf,
    get isDead() {
      return isDead;
    },
    async step(what) {
      try {
        if (!isDead) await pace(what);
      } finally {
        while (standsStill()) await state.changed();
        if (isDead) await never();
      }
    },
    newLock() {
      const lock: Lock = { owner: own };
      locks.add(lock);
      return lock;
    },
    leave(lock) {
      lock.endsAtMs = Math.min(endOf(lock), now() + keepMs);
    },
    kill() {
      if (isDead) return;
      silentSinceMs ??= now();
      isDead = true;
      state.listening.delete(own);
      state.poke();
    },
    suspend() {
      silentSinceMs ??= now();
    },
    goOn() {
      if (isDead) return;
      for (const lock of locks) if (endOf(lock) <= now()) lock.endsAtMs = endOf(lock);
      silentSinceMs = undefined;
      state.poke();
    },
  };
  return own;
}

function never(): Promise<never> {
  return new Promise(() => {});
}

export function isHeld(lock: Lock | undefined, nowMs: number): lock is Lock {
  return lock !== undefined && nowMs < lock.owner.endOf(lock);
}

/** Nothing happens where an item has the id already, ended or not. */
export function addItem(
  { items, next, poke }: MemoryRedis,
  item: Pick<StoredItem, 'id' | 'lane' | 'work'>,
  { priority = 0, atMs }: { readonly priority?: number; readonly atMs?: number } = {},
): void {
  if (items.has(item.id)) return;
  const due = atMs === undefined ? ({ state: 'waiting', atMs: 0 } as const) : ({ state: 'delayed', atMs } as const);
  items.set(item.id, { ...item, ...due, priority, position: [priority, next()], attemptsMade: 0, stalls: 0 });
  poke();
}

/** `front`: before its equals, as one that is handed back is. */
export function putBack(state: MemoryRedis, item: StoredItem, where: 'front' | 'back'): void {
  const order = where === 'back' ? state.next() : -state.next();
  // Items of one priority that were put back are in the order of their ids.
  Object.assign(item, { state: 'waiting', lock: undefined, position: [item.priority, order] });
  if (where === 'front' && item.priority > 0) item.position = [item.priority, 0];
  state.poke();
}

export function delayItem(state: MemoryRedis, item: StoredItem, atMs: number): void {
  Object.assign(item, { state: 'delayed', lock: undefined, atMs });
  state.poke();
}

/** Ends an item; it is kept for a while, so that its id is not added again. */
export function endItem(state: MemoryRedis, item: StoredItem, as: 'completed' | 'failed', nowMs: number): void {
  Object.assign(item, { state: as, lock: undefined, atMs: nowMs, attemptsMade: item.attemptsMade + 1 });
  const kept = [...state.items.values()].filter((each) => each.lane === item.lane && each.state === as);
  const newestFirst = kept.toSorted((left, right) => right.atMs - left.atMs);
  for (const [index, { id, atMs }] of newestFirst.entries()) {
    if (index >= keepEnded.count || nowMs - atMs > keepEnded.ageMs) state.items.delete(id);
  }
  state.poke();
}

/** When an item of these lanes can be taken, milliseconds; undefined if none will be. */
export function nextDueMs(state: MemoryRedis, lanes: readonly string[], nowMs: number): number | undefined {
  const dueMs = [...state.items.values()]
    .filter(({ lane }) => lanes.includes(lane))
    .map((item) => Math.max(dueAtMs(item, nowMs), state.heldUntilMs.get(item.lane) ?? 0));
  const firstMs = Math.min(Infinity, ...dueMs);
  return firstMs === Infinity ? undefined : firstMs;
}

function dueAtMs({ state, atMs, lock }: StoredItem, nowMs: number): number {
  if (state === 'completed' || state === 'failed') return Infinity;
  if (state === 'active') return lock === undefined ? nowMs : Math.max(nowMs, lock.owner.endOf(lock));
  return state === 'waiting' ? nowMs : Math.max(nowMs, atMs);
}

/** Takes the next item of a lane: first those whose worker died, which uses no attempt. */
export function takeItem(
  state: MemoryRedis,
  lane: string,
  own: MemoryProcess,
  onStalled: (item: StoredItem) => void,
): StoredItem | undefined {
  const nowMs = own.now();
  const inLane = [...state.items.values()].filter((item) => item.lane === lane);
  for (const item of inLane.toSorted((left, right) => left.atMs - right.atMs)) {
    if (item.state === 'delayed' && item.atMs <= nowMs) putBack(state, item, 'back');
    if (item.state !== 'active' || isHeld(item.lock, nowMs)) continue;
    item.stalls += 1;
    if (item.work.kind === 'run' && item.stalls > mostStallsOfRun) state.items.delete(item.id);
    else Object.assign(item, { state: 'waiting', lock: undefined, position: [0, -state.next()] });
    onStalled(item);
  }
  if (nowMs < (state.heldUntilMs.get(lane) ?? 0)) return undefined;
  const [first] = inLane
    .filter((item) => item.state === 'waiting' && state.items.has(item.id))
    .toSorted((left, right) => comparePositions(left, right));
  if (first !== undefined) Object.assign(first, { state: 'active', lock: own.newLock() });
  return first;
}

function comparePositions({ position: left, id }: StoredItem, { position: right, id: other }: StoredItem): number {
  return left[0] - right[0] || left[1] - right[1] || (id < other ? -1 : 1);
}
