/**
 * The port of the queue on a Redis in memory, with the semantics of src/queue/redis/run-queue.ts. Each request to Redis is a step
 * of its process: what is one script there is one step here, and what are several there can be interleaved here too.
 */
import { AbortedError, OutageError } from '../../src/core/base/errors.ts';
import { type ChunkQueueName, chunkQueues } from '../../src/core/run/job-description.ts';
import { addCounts, type Counts } from '../../src/core/run/run.ts';
import { chunkItemId } from '../../src/queue/redis/items.ts';
import {
  type ChunkItem,
  type ItemLease,
  type ItemStartStore,
  laneOf,
  lanesOf,
  lowestPriority,
  type QueuedChunk,
  type RunProgress,
  type RunProgressStore,
  type RunQueue,
  runsQueueName,
  type StartedWork,
  ticksQueueName,
} from '../../src/queue/port.ts';
import type { RedisRunProgress } from '../../src/queue/redis/run-progress.ts';
import {
  addItem,
  isHeld,
  type Lock,
  type MemoryConnection,
  type MemoryProcess,
  type MemoryRedis,
  putBack,
  type StoredItem,
  type StoredRun,
} from './memory-redis.ts';
import { memoryIdentity, memoryMetrics, memoryRunLog } from './memory-stores.ts';

const dayMs = 86_400_000;
const forgetDownMs = 6 * 3_600_000;
const renewEveryMs = 2_000;
const countedStates = ['waiting', 'active', 'delayed', 'prioritized', 'failed'] as const;

export const memoryLane = (queue: string, lane: 'large' | 'small' = 'large'): string => `${queue}/${lane}`;
const runItemId = (runId: string, generation: number): string => `${runId}-${generation}`;
/** Of the one item of a schedule that is to come. */
export const tickItemId = (name: string, dueMs: number): string => `${name}:${dueMs}`;

/** The queue of a process. It knows no hold of the service. */
export function memoryQueue(own: MemoryProcess): RunQueue {
  const { state, now } = own;
  let isEnded = false;
  const end = async (): Promise<void> => void (isEnded = true);
  /** For the steps of this connection, which may end before its process. */
  const step = async (what: string): Promise<void> => {
    if (!isEnded) await own.step(what);
    if (isEnded) throw new OutageError('redis', 'redis-outage', 'Redis cannot be used: the connection has ended');
  };
  const connection = { state, now, step };
  const progress = memoryProgress(connection);
  const tryLease = (key: string) => takeLease(own, step, key);

  async function chunkStatus(item: ChunkItem): Promise<QueuedChunk> {
    await step(`read the status of ${chunkItemId(item)}`);
    const found = state.items.get(chunkItemId(item));
    if (found === undefined || found.state === 'completed') return { item, status: 'gone' };
    if (found.state === 'active') return { item, status: isHeld(found.lock, now()) ? 'active' : 'stalled' };
    if (found.state === 'failed') return { item, status: 'failed', reason: found.reason ?? 'no reason kept' };
    return { item, status: 'waiting' };
  }

  async function addChunks(run: RunProgress, items: readonly ChunkItem[], first: number): Promise<void> {
    const lane = memoryLane(run.queue, laneOf(run.queue, run.chunks));
    for (const [index, item] of items.entries()) {
      const id = chunkItemId(item);
      await step(`add ${id}`);
      const priority = Math.min(lowestPriority, 1 + first + index);
      addItem(state, { id, lane, work: { kind: 'chunk', item } }, { priority });
    }
  }

  return {
    get isEnded() {
      return isEnded;
    },
    giveUp: end,
    close: end,
    progress,
    starts: memoryStarts(connection),
    identity: memoryIdentity(connection),
    metrics: memoryMetrics(connection),
    runLog: memoryRunLog(connection),
    serviceHold: { read: async () => undefined, readOutage: async () => undefined, lift: async () => undefined },
    async submit(runId, generation) {
      const id = runItemId(runId, generation);
      await step(`submit ${id}`);
      if (state.items.get(id)?.state === 'completed') state.items.delete(id);
      await step(`add ${id}`);
      addItem(state, { id, lane: memoryLane(runsQueueName), work: { kind: 'run', runId } });
    },
    async isSubmitted(runId, generation) {
      await step(`is ${runItemId(runId, generation)} submitted`);
      const item = state.items.get(runItemId(runId, generation));
      return item !== undefined && item.state !== 'failed' && item.state !== 'completed';
    },
    async hasten(runId, generation) {
      const id = runItemId(runId, generation);
      const isTaken = await step(`hasten ${id}`).then(
        () => true,
        () => false,
      );
      const item = isTaken ? state.items.get(id) : undefined;
      if (item?.state === 'delayed') putBack(state, item, 'back');
    },
    async enqueueNext(runId, limit) {
      const run = await progress.read(runId);
      if (run === undefined) return 0;
      const { chunks, cursor } = await progress.nextChunks(runId, limit);
      const items = chunks.map((chunk) => ({ runId, generation: run.generation, chunk }));
      await addChunks(run, items, cursor - chunks.length);
      await progress.recordAdded(runId, cursor);
      return chunks.length;
    },
    async chunkStatuses(runId) {
      const run = await progress.read(runId);
      if (run === undefined) return [];
      const chunks = await progress.chunksInFlight(runId);
      return Promise.all(chunks.map((chunk) => chunkStatus({ runId, generation: run.generation, chunk })));
    },
    async requeue(runId, items) {
      const run = await progress.read(runId);
      if (run === undefined) return;
      for (const item of items) {
        await step(`remove ${chunkItemId(item)}`);
        // One that is worked stays.
        if (!isHeld(state.items.get(chunkItemId(item))?.lock, now())) state.items.delete(chunkItemId(item));
      }
      await addChunks(run, items, 0);
    },
    async lease({ runId, chunk }, signal) {
      for (;;) {
        if (signal.aborted) throw new AbortedError();
        const lease = isHeld(state.leases.get(`${runId}:${chunk}`), now())
          ? undefined
          : await tryLease(`${runId}:${chunk}`);
        if (lease !== undefined) return lease;
        await changedOrAborted(state, signal);
      }
    },
    tryLease,
    async keepTicks(schedules, nextTick, others = []) {
      await step('keep the ticks');
      const lane = memoryLane(ticksQueueName);
      const drop = (name: string, dueMs: number): void => {
        const item = state.items.get(tickItemId(name, dueMs));
        if (item !== undefined && !isHeld(item.lock, now())) state.items.delete(item.id);
        state.ticks.delete(name);
      };
      const names = new Set([...schedules.map(({ name }) => name), ...others]);
      for (const { name, dueMs } of state.ticks.values()) if (!names.has(name)) drop(name, dueMs);
      for (const schedule of schedules) {
        const { name, cron, timeZone } = schedule;
        const known = state.ticks.get(name);
        if (known?.cron === cron && known.timeZone === timeZone) continue;
        const nextMs = nextTick({ cron, timeZone }, now());
        if (nextMs === undefined) continue;
        if (known !== undefined) drop(name, known.dueMs);
        const dueMs = Math.max(nextMs, now());
        state.ticks.set(name, { ...schedule, dueMs });
        addItem(state, { id: tickItemId(name, dueMs), lane, work: { kind: 'tick', name, dueMs } }, { atMs: dueMs });
      }
    },
    async workers() {
      await step('count the workers');
      const listening = [...state.listening.values()].flat();
      return [runsQueueName, ...chunkQueues].map((queue) => ({
        queue,
        workers: listening.filter((name) => name === queue).length,
      }));
    },
    async itemCounts() {
      await step('count the items');
      return [runsQueueName, ...chunkQueues].flatMap((queue) => {
        const lanes = [memoryLane(queue, 'large'), memoryLane(queue, 'small')];
        const found = [...state.items.values()].filter(({ lane }) => lanes.includes(lane)).map(countedState);
        return countedStates.map((name) => ({
          queue,
          state: name,
          items: found.filter((each) => each === name).length,
        }));
      });
    },
    async recordDown(queue, part) {
      await step(`record that ${part} is down`);
      const { sinceMs, endsAtMs } = state.downSince.get(`${part} ${queue}`) ?? { sinceMs: now(), endsAtMs: Infinity };
      const beganAtMs = now() < endsAtMs ? sinceMs : now();
      state.downSince.set(`${part} ${queue}`, { sinceMs: beganAtMs, endsAtMs: now() + forgetDownMs });
      return now() - beganAtMs;
    },
    async recordUp(queue) {
      await step('record that all is up');
      for (const key of state.downSince.keys()) if (key.endsWith(` ${queue}`)) state.downSince.delete(key);
    },
  };
}

/** One that waits in the order of priorities is counted apart. */
function countedState({ state, position: [priority] }: StoredItem): string {
  return state === 'waiting' && priority > 0 ? 'prioritized' : state;
}

export function memoryLanes(queue: ChunkQueueName): readonly string[] {
  return lanesOf(queue).map((lane) => memoryLane(queue, lane));
}

async function changedOrAborted({ listeners }: MemoryRedis, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const wake = (): void => {
      listeners.delete(wake);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    listeners.add(wake);
    signal.addEventListener('abort', wake, { once: true });
  });
}

/** Renewed every two seconds: a loss is found then, and not before, as by the lease in Redis. */
async function takeLease(
  own: MemoryProcess,
  step: (what: string) => Promise<void>,
  key: string,
): Promise<ItemLease | undefined> {
  const { state, now } = own;
  await step(`take the lease of ${key}`);
  if (isHeld(state.leases.get(key), now())) return undefined;
  const lock: Lock = own.newLock();
  state.leases.set(key, lock);
  const lost = new AbortController();
  let renewedAtMs = now();
  const check = (): void => void isOwned();

  function isOwned(): boolean {
    if (lost.signal.aborted) return false;
    const isOurs = state.leases.get(key) === lock;
    if (isHeld(lock, now()) && (isOurs || now() < renewedAtMs + renewEveryMs)) {
      if (isOurs) renewedAtMs = now();
      return true;
    }
    state.listeners.delete(check);
    lost.abort(new AbortedError('another worker may have the item by now'));
    return false;
  }

  state.listeners.add(check);
  return {
    signal: lost.signal,
    isOwned,
    async [Symbol.asyncDispose]() {
      state.listeners.delete(check);
      if (!isOwned()) return;
      await step(`release the lease of ${key}`).catch(() => own.leave(lock));
      if (state.leases.get(key) === lock && lock.endsAtMs === undefined) state.leases.delete(key);
      state.poke();
    },
  };
}

/** With what the contract of {@link RedisRunProgress} has beyond the port. */
export function memoryProgress({
  state,
  now,
  step,
}: MemoryConnection): RunProgressStore & Pick<RedisRunProgress, keyof RedisRunProgress> {
  /** Undefined for a run without progress, or whose progress has expired. */
  function find(runId: string): StoredRun | undefined {
    const run = state.runs.get(runId);
    if (run === undefined || now() < run.endsAtMs) return run;
    state.runs.delete(runId);
    return undefined;
  }
  function findOrAdd(runId: string): StoredRun {
    const run = find(runId) ?? newRun();
    state.runs.set(runId, run);
    return run;
  }
  const findOpened = (runId: string) => {
    const run = find(runId);
    return run?.opened === undefined ? undefined : { run, opened: run.opened };
  };

  return {
    async read(runId) {
      await step(`read ${runId}`);
      const run = find(runId);
      return run && progressOf(run, now());
    },
    async open(runId, { queue, generation, units, settledUnits, counts, chunks }) {
      await step(`open ${runId}`);
      const { stopRequest } = find(runId) ?? {};
      const opened = { queue, generation, units, settledUnits, chunks: [...chunks] };
      const run: StoredRun = { ...newRun(), state: 'running', opened, counts: { ...counts }, movedAtMs: now() };
      state.runs.set(runId, stopRequest === undefined ? run : { ...run, stopRequest });
      state.starts.delete(runId);
    },
    async settle(runId, outcomes) {
      if (outcomes.length === 0) return;
      await step(`settle ${outcomes.map(({ unit }) => unit).join(', ')} of ${runId}`);
      const { run } = findOpened(runId) ?? {};
      if (run === undefined) return;
      for (const { unit, counts } of outcomes) {
        if (run.settled.has(unit)) continue;
        run.settled.add(unit);
        run.underWay.delete(unit);
        run.reading.delete(unit);
        run.counts = addCounts(run.counts, counts);
      }
      run.movedAtMs = now();
    },
    async advance(runId, progress) {
      await step(`advance ${progress.unit} of ${runId}`);
      const { run } = findOpened(runId) ?? {};
      if (run === undefined || run.settled.has(progress.unit)) return;
      if ((run.underWay.get(progress.unit)?.done ?? 0) > progress.done) return;
      run.underWay.set(progress.unit, structuredClone(progress));
      run.movedAtMs = now();
    },
    async recordReadings(runId, readings) {
      await step(`record readings of ${runId}`);
      const { run } = findOpened(runId) ?? {};
      for (const reading of readings) {
        if (run === undefined || run.settled.has(reading.unit)) continue;
        if ((run.reading.get(reading.unit)?.rows ?? 0) <= reading.rows) run.reading.set(reading.unit, { ...reading });
      }
    },
    async endChunk(runId, chunk) {
      await step(`end chunk ${chunk} of ${runId}`);
      const { run, opened } = findOpened(runId) ?? {};
      if (run === undefined || opened?.chunks.includes(chunk) !== true) return false;
      run.ended.add(chunk);
      run.movedAtMs = now();
      return run.ended.size === opened?.chunks.length;
    },
    async requestStop(runId, stopRequest) {
      await step(`request a stop of ${runId}`);
      findOrAdd(runId).stopRequest ??= structuredClone(stopRequest);
    },
    async finish(runId, finished) {
      await step(`finish ${runId}`);
      Object.assign(findOrAdd(runId), { state: finished, movedAtMs: now(), endsAtMs: now() + dayMs });
      const starts = state.starts.get(runId);
      if (starts !== undefined) starts.endsAtMs = now() + dayMs;
    },
    async forget(runId) {
      await step(`forget ${runId}`);
      state.runs.delete(runId);
      state.starts.delete(runId);
    },
    async restart(runId) {
      await step(`restart ${runId}`);
      const { stopRequest } = find(runId) ?? {};
      state.starts.delete(runId);
      if (stopRequest === undefined) state.runs.delete(runId);
      else state.runs.set(runId, { ...newRun(), stopRequest });
    },
    async nextChunks(runId, limit) {
      await step(`read the next chunks of ${runId}`);
      const { opened, chunksAdded = 0 } = find(runId) ?? {};
      const chunks = opened?.chunks.slice(chunksAdded, chunksAdded + limit) ?? [];
      return { chunks, cursor: chunksAdded + chunks.length };
    },
    async recordAdded(runId, cursor) {
      await step(`record the chunks added of ${runId}`);
      const run = cursor > 0 ? findOrAdd(runId) : undefined;
      if (run !== undefined) run.chunksAdded = Math.max(run.chunksAdded, cursor);
    },
    async chunksInFlight(runId) {
      await step(`read the chunks in flight of ${runId}`);
      const { opened, ended, chunksAdded } = find(runId) ?? {};
      return opened?.chunks.slice(0, chunksAdded).filter((chunk) => ended?.has(chunk) === false) ?? [];
    },
  };
}

function newRun(): StoredRun {
  return {
    counts: {},
    chunksAdded: 0,
    endsAtMs: Infinity,
    settled: new Set(),
    ended: new Set(),
    underWay: new Map(),
    reading: new Map(),
  };
}

function progressOf(run: StoredRun, nowMs: number): RunProgress {
  const { opened, settled, movedAtMs = nowMs } = run;
  const underWay = [...run.underWay.values()];
  return {
    state: run.state ?? 'queued',
    generation: opened?.generation ?? 0,
    queue: opened?.queue ?? 'export',
    units: opened?.units ?? 0,
    settledUnits: (opened?.settledUnits ?? 0) + settled.size,
    counts: underWay.reduce((sum: Counts, { counts }) => addCounts(sum, counts), run.counts),
    underWay,
    reading: [...run.reading.values()],
    chunks: opened?.chunks.length ?? 0,
    chunksAdded: run.chunksAdded,
    chunksEnded: run.ended.size,
    stopRequest: run.stopRequest,
    unmovedMs: nowMs - movedAtMs,
  };
}

export function memoryStarts({ state, now, step }: MemoryConnection): ItemStartStore {
  const countsOf = (runId: string): Map<string, number> => {
    const found = state.starts.get(runId);
    return found !== undefined && now() < found.endsAtMs ? found.counts : new Map<string, number>();
  };
  return {
    async begin(runId, work) {
      await step(`begin ${keyOf(work)} of ${runId}`);
      const counts = countsOf(runId);
      const before = counts.get(keyOf(work)) ?? 0;
      state.starts.set(runId, { counts: counts.set(keyOf(work), before + 1), endsAtMs: now() + dayMs });
      return before;
    },
    async end(runId, work) {
      await step(`end ${keyOf(work)} of ${runId}`);
      countsOf(runId).delete(keyOf(work));
    },
    async ofUnits(runId) {
      await step(`read the starts of ${runId}`);
      const units = [...countsOf(runId)].filter(([key]) => key.startsWith('unit '));
      return new Map(units.map(([key, starts]) => [Number(key.slice('unit '.length)), starts]));
    },
  };
}

function keyOf(work: StartedWork): string {
  return 'chunk' in work ? `chunk ${work.chunk}` : `unit ${work.unit}`;
}
