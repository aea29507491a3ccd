/**
 * Workers of a process on a Redis in memory, with the semantics of src/queue/redis/workers.ts. Nothing happens by itself when time
 * passes: after its clock moved, a test calls `poke` of the state.
 */
import type { Logger } from 'pino';
import { faultOf, holdDelayMs, outagePartOf, type OutageRecord, TransientError } from '../../src/core/base/errors.ts';
import { type ChunkDecision, decideUnit } from '../../src/core/run/retry-decision.ts';
import {
  coordinatorConcurrency,
  type QueueHandlers,
  type RunningWorkers,
  runsQueueName,
  ticksQueueName,
  type WorkerSettings,
} from '../../src/queue/port.ts';
import { memoryLane, memoryLanes, tickItemId } from './memory-queue.ts';
import {
  addItem,
  delayItem,
  endItem,
  isHeld,
  type Lock,
  type MemoryProcess,
  nextDueMs,
  putBack,
  type StoredItem,
  takeItem,
} from './memory-redis.ts';

const handBackMs = 5_000;
const heardMs = 500;
const troubledMs = 5_000;
const mostAttempts = 1_000;

export interface MemoryWorkers extends RunningWorkers {
  /** When the next item can be taken, milliseconds; at once where it is not later than now. Undefined if none will be. */
  nextDueMs(): number | undefined;
  /** Whether an item is worked, or its end was not yet reported. */
  isActive(): boolean;
  /** Ends the process, as by SIGKILL. */
  kill(): void;
}

type Outcome = ChunkDecision | { readonly kind: 'failed'; readonly error: unknown };

interface ItemUnderWay {
  readonly item: StoredItem;
  readonly lock: Lock;
  readonly stopping: AbortController;
}

/** Starts to take items at once. A process has workers once. */
export function startMemoryWorkers({
  own,
  settings,
  handlers,
  log,
  outages,
}: {
  readonly own: MemoryProcess;
  readonly settings: WorkerSettings;
  readonly handlers: QueueHandlers;
  readonly log: Logger;
  readonly outages: OutageRecord;
}): MemoryWorkers {
  const { state, now } = own;
  const underWay = new Set<ItemUnderWay>();
  let isStopping = false;
  let isRedisDown = false;
  const concurrency = new Map<string, number>([[memoryLane(runsQueueName), coordinatorConcurrency]]);
  if (handlers.ticks !== undefined) concurrency.set(memoryLane(ticksQueueName), 1);
  for (const queue of settings.queues) {
    for (const lane of memoryLanes(queue)) concurrency.set(lane, settings.chunkConcurrency(queue));
  }

  /** A step that an outage of Redis may refuse: false then. */
  async function stepped(what: string): Promise<boolean> {
    try {
      await own.step(what);
      if (isRedisDown) outages.up('redis');
      isRedisDown = false;
      return true;
    } catch (error) {
      if (outagePartOf(error) !== 'redis') throw error;
      isRedisDown = true;
      outages.down('redis', faultOf(error).message);
      return false;
    }
  }

  async function takeFrom(lane: string, most: number): Promise<void> {
    for (;;) {
      if (isStopping || own.isDead) return;
      const busy = [...underWay].filter(({ item }) => item.lane === lane).length;
      const isDue = busy < most && (nextDueMs(state, [lane], now()) ?? Infinity) <= now();
      if (!isDue || !(await stepped(`take from ${lane}`))) await state.changed();
      else if (!isStopping) takeOne(lane);
    }
  }

  function takeOne(lane: string): void {
    const item = takeItem(state, lane, own, ({ id }) => {
      log.warn({ item: id }, 'an item lost its worker and starts again');
    });
    if (item?.lock === undefined) return;
    const entry = { item, lock: item.lock, stopping: new AbortController() };
    underWay.add(entry);
    void workOne(entry);
  }

  async function workOne(entry: ItemUnderWay): Promise<void> {
    const outcome = await outcomeOf(entry);
    if (!own.isDead && underWay.has(entry)) await report(entry, outcome);
    underWay.delete(entry);
    state.poke();
  }

  async function outcomeOf({ item: { work, attemptsMade }, stopping: { signal } }: ItemUnderWay): Promise<Outcome> {
    try {
      if (work.kind === 'chunk') return await handlers.work(work.item, attemptsMade + 1, signal);
      if (work.kind === 'tick') return await takeTick(work.name, work.dueMs);
      const step = await handlers.coordinate(work.runId, signal);
      return step.kind === 'finished' ? { kind: 'settled' } : { kind: 'wait', delayMs: step.delayMs };
    } catch (error) {
      if (decideUnit(error) === 'hand-back' || (signal.aborted && outagePartOf(error) === 'redis')) {
        return { kind: 'hand-back' };
      }
      return work.kind === 'chunk' ? outcomeOfTrouble(error) : { kind: 'failed', error };
    }
  }

  /** The next tick is added before this one is taken, as BullMQ's schedulers do. */
  async function takeTick(name: string, dueMs: number): Promise<Outcome> {
    const known = state.ticks.get(name);
    const nextMs = known && handlers.ticks?.next(known, Math.max(now(), dueMs));
    if (known?.dueMs === dueMs && nextMs !== undefined) {
      state.ticks.set(name, { ...known, dueMs: nextMs });
      const work = { kind: 'tick', name, dueMs: nextMs } as const;
      addItem(state, { id: tickItemId(name, nextMs), lane: memoryLane(ticksQueueName), work }, { atMs: nextMs });
    }
    await handlers.ticks?.take(name, dueMs);
    return { kind: 'settled' };
  }

  function outcomeOfTrouble(error: unknown): Outcome {
    const part = outagePartOf(error);
    if (part !== undefined) {
      return { kind: 'hold', delayMs: holdDelayMs(outages.down(part, faultOf(error).message)) };
    }
    if (!(error instanceof TransientError)) return { kind: 'failed', error };
    log.warn({ because: error.message }, 'the queue waits');
    return { kind: 'hold', delayMs: troubledMs };
  }

  /** As soon as Redis takes it; a stop does not wait for Redis. */
  async function report(entry: ItemUnderWay, outcome: Outcome): Promise<void> {
    const { item, lock, stopping } = entry;
    const isHold = outcome.kind === 'hold';
    for (const what of isHold ? [`hold ${item.lane}`, `put ${item.id} back`] : [`report ${item.id}: ${outcome.kind}`]) {
      while (!(await stepped(what))) {
        if (stopping.signal.aborted) return own.leave(lock);
        await state.changed();
      }
      // It was given up meanwhile.
      if (!underWay.has(entry)) return;
      if (isHold && what.startsWith('hold')) {
        state.heldUntilMs.set(item.lane, now() + Math.max(1, Math.round(outcome.delayMs)));
      }
    }
    const isOurs = state.items.get(item.id) === item && item.lock === lock && isHeld(lock, now());
    if (isOurs) apply(item, outcome);
    else log.debug({ item: item.id }, 'an item lost its lock: it may be worked twice, which changes nothing');
  }

  function apply(item: StoredItem, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'settled':
        if (item.work.kind === 'tick') state.items.delete(item.id);
        return endItem(state, item, 'completed', now());
      case 'retry':
        if (item.attemptsMade + 1 >= mostAttempts) return fail(item, new Error(`tried again in ${outcome.delayMs} ms`));
        item.attemptsMade += 1;
        if (outcome.delayMs === 0) return putBack(state, item, 'back');
        return delayItem(state, item, now() + outcome.delayMs);
      case 'wait':
        return delayItem(state, item, now() + Math.max(0, outcome.delayMs));
      case 'hold':
      case 'hand-back':
        return putBack(state, item, 'front');
      case 'failed':
        return fail(item, outcome.error);
    }
  }

  /** A run's item is removed, so that a revived run gets another one. */
  function fail(item: StoredItem, error: unknown): void {
    log.error({ item: item.id, err: error }, 'an item was given up');
    item.reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (item.work.kind !== 'chunk') state.items.delete(item.id);
    endItem(state, item, 'failed', now());
  }

  /** Whether all work has ended within a time, by the clock of the test. */
  async function isOver(withinMs: number): Promise<boolean> {
    const untilMs = now() + withinMs;
    while (underWay.size > 0 && now() < untilMs) await state.changed();
    return underWay.size === 0;
  }

  async function stop(graceMs = settings.graceMs): Promise<void> {
    isStopping = true;
    state.poke();
    if (!(await isOver(graceMs))) {
      for (const { stopping } of underWay) stopping.abort('the worker stops');
      if (!(await isOver(isRedisDown ? heardMs : handBackMs))) {
        log.warn('the work in flight could not be handed back: it starts again when its lock has run out');
        for (const { lock } of underWay) own.leave(lock);
        underWay.clear();
      }
    }
    state.listening.delete(own);
  }

  state.listening.set(own, [runsQueueName, ...settings.queues]);
  for (const [lane, most] of concurrency) void takeFrom(lane, most);
  return {
    stop,
    kill: own.kill,
    isActive: () => underWay.size > 0,
    nextDueMs: () => nextDueMs(state, [...concurrency.keys()], now()),
  };
}
