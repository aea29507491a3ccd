/** The queue in memory: that it answers as the one in Redis does, and what a model test has of its processes. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { OutageError } from '../../../src/core/base/errors.ts';
import type { QueueHandlers, RunQueue, StartedWork } from '../../../src/queue/port.ts';
import { createRunQueue } from '../../../src/queue/redis/run-queue.ts';
import { OutageJournal } from '../../../src/runs/outage-journal.ts';
import { deferred } from '../../support/deferred.ts';
import { memoryQueue } from '../../support/memory-queue.ts';
import { memoryProcess, memoryRedis } from '../../support/memory-redis.ts';
import { startMemoryWorkers } from '../../support/memory-workers.ts';
import { expectForAllAsync } from '../../support/property-runs.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

type Act = (queue: RunQueue) => Promise<unknown>;

const small = fc.nat(5);
const runId = fc.constantFrom('r', 's');
const counts = fc.constantFrom({}, { read: 2 }, { read: 1, held: 3 });
const started = fc.oneof(
  fc.record({ chunk: fc.nat(1) }),
  fc.record({ unit: fc.nat(1) }),
) satisfies fc.Arbitrary<StartedWork>;
const chunks = fc.uniqueArray(small, { maxLength: 6 });

/** Called with a run, and a value. */
const ofRun = <Value>(
  values: fc.Arbitrary<Value>,
  act: (queue: RunQueue, run: string, value: Value) => Promise<unknown>,
) =>
  fc.tuple(runId, values).map(
    ([run, value]): Act =>
      (queue) =>
        act(queue, run, value),
  );

const acts = fc.oneof(
  { weight: 3, arbitrary: ofRun(chunks, (queue, run, all) => queue.progress.open(run, openedWith(all))) },
  ofRun(fc.array(fc.record({ unit: small, counts }), { maxLength: 3 }), ({ progress }, run, outcomes) =>
    progress.settle(run, outcomes),
  ),
  ofRun(fc.record({ unit: small, done: small, counts, attempt: small }), ({ progress }, run, unit) =>
    progress.advance(run, unit),
  ),
  ofRun(fc.array(fc.record({ unit: small, rows: small, isRead: fc.boolean() }), { maxLength: 2 }), (queue, run, all) =>
    queue.progress.recordReadings(run, all),
  ),
  { weight: 3, arbitrary: ofRun(small, ({ progress }, run, chunk) => progress.endChunk(run, chunk)) },
  ofRun(fc.constantFrom('one', 'two'), ({ progress }, run, requestedBy) =>
    progress.requestStop(run, { kind: 'cancel', requestedBy }),
  ),
  ofRun(fc.constantFrom('done', 'failed'), ({ progress }, run, state) => progress.finish(run, state)),
  ofRun(fc.constant(0), ({ progress }, run) => progress.restart(run)),
  ofRun(fc.constant(undefined), ({ progress }, run) => progress.forget(run)),
  { weight: 2, arbitrary: ofRun(started, ({ starts }, run, work) => starts.begin(run, work)) },
  ofRun(started, ({ starts }, run, work) => starts.end(run, work)),
  { weight: 3, arbitrary: ofRun(fc.integer({ min: 1, max: 4 }), (queue, run, limit) => queue.enqueueNext(run, limit)) },
  ofRun(chunks, (queue, run, all) =>
    queue.requeue(
      run,
      all.map((chunk) => ({ runId: run, generation: 0, chunk })),
    ),
  ),
  ofRun(fc.nat(1), (queue, run, generation) => queue.submit(run, generation)),
  ofRun(fc.nat(1), (queue, run, generation) => queue.hasten(run, generation)),
  ofRun(fc.constantFrom('a', 'b'), ({ identity }, run, warehouse) => identity.keep(run, warehouse, 3_600_000)),
  ofRun(fc.constantFrom('a', 'b'), ({ identity }, _, warehouse) => identity.release(warehouse)),
  ofRun(small, ({ metrics }, run, total) => metrics.raise(run, new Map([['series', total]]))),
  ofRun(fc.array(fc.constantFrom('line 1', 'line 2')), ({ runLog }, run, lines) => runLog.append(run, lines)),
);

function openedWith(all: readonly number[]) {
  return { queue: 'export', generation: 0, units: 6, settledUnits: 1, counts: { read: 1 }, chunks: all } as const;
}

/** All that can be asked, but for what depends on time. */
async function answersOf(queue: RunQueue): Promise<unknown> {
  const ofRuns = ['r', 's'].map(async (run) => {
    const progress = await queue.progress.read(run);
    const byUnit = <Entry extends { readonly unit: number }>(entries: readonly Entry[] = []) =>
      entries.toSorted((left, right) => left.unit - right.unit);
    return {
      progress: { ...progress, unmovedMs: 0, underWay: byUnit(progress?.underWay), reading: byUnit(progress?.reading) },
      isThere: progress !== undefined,
      starts: new Map(await queue.starts.ofUnits(run)),
      chunks: await queue.chunkStatuses(run),
      isSubmitted: [await queue.isSubmitted(run, 0), await queue.isSubmitted(run, 1)],
      log: await queue.runLog.read(run),
    };
  });
  const { sums } = await queue.metrics.read();
  return {
    runs: await Promise.all(ofRuns),
    items: await queue.itemCounts(),
    identity: await queue.identity.read(),
    sums,
  };
}

describe('the queue in memory', () => {
  it('answers as the one in Redis does, whatever was asked of both before', async () => {
    const property = fc.asyncProperty(fc.array(acts, { maxLength: 25 }), async (asked) => {
      const address = { redis: { url: sharedRedisUrl() }, prefix: `test-${randomUUID()}`, service: 'http://pds' };
      const real = await createRunQueue(address, 'lasting');
      const model = memoryQueue(memoryProcess(memoryRedis(), { now: () => 1_000 }));
      try {
        for (const act of asked) expect(await act(model)).toEqual(await act(real));
        expect(await answersOf(model)).toEqual(await answersOf(real));
      } finally {
        await real.close();
      }
    });
    await expectForAllAsync(property, 40);
  });
});

const log = pino({ level: 'silent' });
const retry = { maxAttempts: 3, baseDelayMs: 10, maxDelayMs: 20, maxHoldMs: 1_000 };

/** A state with a clock, and processes on it. */
function modelHere() {
  const state = memoryRedis();
  const clock = { nowMs: 0 };
  const newProcess = (pace?: (what: string) => Promise<void>) =>
    memoryProcess(state, { now: () => clock.nowMs, ...(pace && { pace }) });
  const own = newProcess();
  return {
    state,
    newProcess,
    queue: memoryQueue(own),
    work: (handlers: Partial<QueueHandlers>, worker = newProcess()) =>
      startMemoryWorkers({
        own: worker,
        settings: { queues: ['export'], chunkConcurrency: () => 1, retry, graceMs: 1_000 },
        handlers: {
          coordinate: async () => ({ kind: 'finished' }),
          work: async () => ({ kind: 'settled' }),
          ...handlers,
        },
        log,
        outages: new OutageJournal(log, () => clock.nowMs),
      }),
    async pass(ms: number) {
      await sleep(1);
      clock.nowMs += ms;
      state.poke();
      await sleep(1);
    },
    async addChunks(...all: readonly number[]) {
      await memoryQueue(own).progress.open('r', openedWith(all));
      await memoryQueue(own).enqueueNext('r', 9);
    },
  };
}

const hangs = () => deferred<never>().promise;

describe('workers in memory', () => {
  it('the item of a killed one is given to another once its lock has run out, as the same attempt', async () => {
    const { work, addChunks, queue, pass } = modelHere();
    await addChunks(0);
    const dying = work({ work: hangs });
    await pass(60_000);
    expect(await queue.chunkStatuses('r')).toMatchObject([{ status: 'active' }]);
    expect(dying.nextDueMs()).toBeUndefined();
    dying.kill();
    const attempts: number[] = [];
    const other = work({ work: async (_, attempt) => (attempts.push(attempt), { kind: 'settled' }) });
    await pass(9_999);
    expect([attempts, other.nextDueMs(), other.isActive()]).toEqual([[], 70_000, false]);
    await pass(1);
    expect(attempts).toEqual([1]);
  });

  it('a killed process takes no further step, whatever its handlers do', async () => {
    const { work, addChunks, queue, newProcess, pass } = modelHere();
    await addChunks(0);
    const { promise: goesOn, resolve: goOn } = deferred();
    const own = newProcess();
    const theirs = memoryQueue(own);
    const handler: QueueHandlers['work'] = async () => {
      await goesOn;
      await theirs.progress.settle('r', [{ unit: 0, counts: { read: 9 } }]);
      return { kind: 'settled' };
    };
    const killed = work({ work: handler }, own);
    await pass(0);
    killed.kill();
    goOn();
    await pass(10_000);
    expect(await queue.progress.read('r')).toMatchObject({ settledUnits: 1, counts: { read: 1 } });
    expect(await queue.chunkStatuses('r')).toMatchObject([{ status: 'stalled' }]);
    expect(await queue.workers()).toContainEqual({ queue: 'export', workers: 0 });
  });

  it('one that stood still for too long has lost its item and its lease, and what it reports changes nothing', async () => {
    const { work, addChunks, queue, newProcess, pass } = modelHere();
    await addChunks(0);
    const own = newProcess();
    const first = deferred<{ kind: 'retry'; delayMs: number }>();
    work({ work: () => first.promise }, own);
    await pass(0);
    const lease = await memoryQueue(own).tryLease('an inbox');
    own.suspend();
    await pass(10_000);
    const attempts: number[] = [];
    work({ work: async (_, attempt) => (attempts.push(attempt), hangs()) });
    expect(await queue.tryLease('an inbox')).toBeDefined();
    own.goOn();
    first.resolve({ kind: 'retry', delayMs: 0 });
    await pass(0);
    expect([attempts, lease?.isOwned(), lease?.signal.aborted]).toEqual([[1], false, true]);
    expect(await queue.chunkStatuses('r')).toMatchObject([{ status: 'active' }]);
  });

  it('a Redis that lost everything knows no run, and a lease is lost with its next renewal', async () => {
    const { state, addChunks, queue, pass } = modelHere();
    await addChunks(0, 1);
    const lease = await queue.tryLease('an inbox');
    state.lose();
    expect(await queue.progress.read('r')).toBeUndefined();
    expect(lease?.isOwned()).toBe(true);
    await pass(2_000);
    expect(lease?.isOwned()).toBe(false);
  });

  it('a step is taken when it is let, and one that an outage refuses is tried again', async () => {
    const { work, addChunks, queue, newProcess, pass } = modelHere();
    await addChunks(0);
    const steps: string[] = [];
    let isAway = true;
    const own = newProcess(async (what) => {
      steps.push(what);
      if (isAway && what.startsWith('report')) throw new OutageError('redis', 'redis-outage', 'away');
    });
    const workers = work({}, own);
    await sleep(1);
    expect(steps).toEqual(['take from export/small', 'report r-0-0: settled']);
    expect(workers.isActive()).toBe(true);
    isAway = false;
    await pass(0);
    expect(workers.isActive()).toBe(false);
    expect(await queue.chunkStatuses('r')).toMatchObject([{ status: 'gone' }]);
  });

  it('a stop gives up what is not handed back, which starts again when its lock has run out', async () => {
    const { work, addChunks, queue, pass } = modelHere();
    await addChunks(0);
    const workers = work({ work: hangs });
    await pass(0);
    const stopped = workers.stop();
    for (const ms of [1_000, 5_000]) await pass(ms);
    await stopped;
    expect(await queue.chunkStatuses('r')).toMatchObject([{ status: 'active' }]);
    await pass(10_000);
    expect(await queue.chunkStatuses('r')).toMatchObject([{ status: 'stalled' }]);
  });

  it('each tick is taken once it is due, and the next one after it', async () => {
    const { work, queue, pass } = modelHere();
    const next = (_: unknown, afterMs: number): number => Math.floor(afterMs / 1_000) * 1_000 + 1_000;
    const ticks = [{ name: 'nightly', cron: '* * * * *', timeZone: 'UTC' }];
    const taken: Array<readonly [string, number]> = [];
    const workers = work({ ticks: { next, take: async (name, dueMs) => void taken.push([name, dueMs]) } });
    await queue.keepTicks(ticks, next);
    await queue.keepTicks(ticks, () => 1);
    expect(workers.nextDueMs()).toBe(1_000);
    for (const ms of [999, 1, 3_500]) await pass(ms);
    expect([taken, workers.nextDueMs()]).toEqual([
      [
        ['nightly', 1_000],
        ['nightly', 2_000],
      ],
      5_000,
    ]);
    await queue.keepTicks([], next);
    expect(workers.nextDueMs()).toBeUndefined();
  });
});
