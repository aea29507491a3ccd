import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AbortedError } from '../../../src/core/base/errors.ts';
import { leaseItem } from '../../../src/queue/redis/items.ts';
import { memoryQueue } from '../../support/memory-queue.ts';
import { memoryProcess, memoryRedis } from '../../support/memory-redis.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const times = { keepMs: 400, renewEveryMs: 100, pollAgainMs: 20 };
/** Kept for longer than a busy machine may hold up a process between two renewals. */
const longTimes = { ...times, keepMs: 3_000 };
const never = new AbortController().signal;

/** A lease that several may want, in one form of the queue. */
function leaseInRedis() {
  const redis = new Redis(sharedRedisUrl());
  const key = `test-${randomUUID()}`;
  return {
    redis,
    times,
    longTimes,
    pass: (ms: number) => sleep(ms),
    lease: (signal = never, given = times) => leaseItem(redis, key, signal, given),
    takenByDead: async () => void (await redis.set(key, 'somebody dead', 'PX', times.keepMs)),
    takeAway: async () => void (await redis.set(key, 'another')),
    isTakenAway: async () => (await redis.get(key)) === 'another',
    close: () => redis.disconnect(),
  };
}

function leaseInMemory() {
  const state = memoryRedis();
  let nowMs = 0;
  const newProcess = () => memoryProcess(state, { now: () => nowMs });
  const leaseOf = (own: ReturnType<typeof newProcess>, signal = never) =>
    memoryQueue(own).lease({ runId: 'r', generation: 0, chunk: 0 }, signal);
  const own = newProcess();
  const another = newProcess().newLock();
  return {
    times: { ...times, keepMs: 10_000, renewEveryMs: 2_000 },
    longTimes: { ...times, keepMs: 10_000, renewEveryMs: 2_000 },
    async pass(ms: number) {
      await sleep(1);
      nowMs += ms;
      state.poke();
    },
    lease: (signal?: AbortSignal, _times?: typeof times) => leaseOf(own, signal),
    async takenByDead() {
      const dead = newProcess();
      await leaseOf(dead);
      dead.kill();
    },
    takeAway: async () => void state.leases.set('r:0', another),
    isTakenAway: async () => state.leases.get('r:0') === another,
    close: () => undefined,
  };
}

describe.each([
  { name: 'Redis', open: leaseInRedis },
  { name: 'memory', open: leaseInMemory },
])('the lease of an item in $name', ({ open }) => {
  let here: ReturnType<typeof open>;
  beforeEach(() => {
    here = open();
  });
  afterEach(() => here.close());

  test('G5: a lease has one holder, and the next once it is released', async () => {
    const { lease, pass, longTimes: given } = here;
    const order: string[] = [];
    const first = await lease(never, given);
    const second = lease(never, given).then(async (held) => {
      order.push('second');
      await held[Symbol.asyncDispose]();
    });
    await pass(1.2 * given.keepMs);
    expect(first.isOwned()).toBe(true);
    order.push('first');
    await first[Symbol.asyncDispose]();
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  test('G7: the lease of a dead worker passes to the next within its time', async () => {
    await here.takenByDead();
    const next = here.lease();
    await here.pass(here.times.keepMs);
    await using held = await next;
    expect(held.isOwned()).toBe(true);
  });

  test('G5: a lease taken from its holder is lost, and its signal aborts', async () => {
    const held = await here.lease();
    await here.takeAway();
    const aborted = once(held.signal, 'abort');
    await here.pass(here.times.renewEveryMs);
    await aborted;
    expect(held.signal.reason).toBeInstanceOf(AbortedError);
    expect(held.isOwned()).toBe(false);
    await held[Symbol.asyncDispose]();
    expect(await here.isTakenAway()).toBe(true);
  });

  test('that is waited for can be given up', async () => {
    const { lease, longTimes: given } = here;
    await using held = await lease(never, given);
    await expect(lease(AbortSignal.timeout(50), given)).rejects.toBeInstanceOf(AbortedError);
    expect(held.isOwned()).toBe(true);
  });
});

// A blocked event loop, and the connection.
describe('the lease of an item in Redis itself', () => {
  let here: ReturnType<typeof leaseInRedis>;
  beforeEach(() => {
    here = leaseInRedis();
  });
  afterEach(() => here.close());

  test('G5: the lease of a stalled process is lost when it wakes, before any timer runs', async () => {
    const held = await here.lease();
    const untilMs = performance.now() + times.keepMs + 50;
    while (performance.now() < untilMs);
    expect(held.isOwned()).toBe(false);
    expect(held.signal.aborted).toBe(true);
  });

  test('is over when Redis does not answer for as long as it lasts', async () => {
    const held = await here.lease();
    here.redis.disconnect();
    await once(held.signal, 'abort');
    expect(held.isOwned()).toBe(false);
  });
});
