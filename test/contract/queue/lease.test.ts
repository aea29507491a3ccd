import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AbortedError } from '../../../src/core/base/errors.ts';
import { leaseItem } from '../../../src/queue/lease.ts';
import { sharedRedisUrl } from '../../support/redis.ts';

const times = { keepMs: 400, renewEveryMs: 100, pollAgainMs: 20 };
/** Kept for longer than a busy machine may hold up a process between two renewals. */
const longTimes = { ...times, keepMs: 3_000 };
const never = new AbortController().signal;

describe('the lease of an item', () => {
  let redis: Redis;
  let key: string;
  beforeEach(() => {
    redis = new Redis(sharedRedisUrl());
    key = `test-${randomUUID()}`;
  });
  afterEach(() => redis.disconnect());

  const lease = (signal = never, given = times) => leaseItem(redis, key, signal, given);

  test('G5: a lease has one holder, and the next once it is released', async () => {
    const order: string[] = [];
    const first = await lease(never, longTimes);
    const second = lease(never, longTimes).then(async (held) => {
      order.push('second');
      await held[Symbol.asyncDispose]();
    });
    await new Promise((resolve) => setTimeout(resolve, 1.2 * longTimes.keepMs));
    expect(first.isOwned()).toBe(true);
    order.push('first');
    await first[Symbol.asyncDispose]();
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  test('G7: the lease of a dead worker passes to the next within its time', async () => {
    await redis.set(key, 'somebody dead', 'PX', times.keepMs);
    await using held = await lease();
    expect(held.isOwned()).toBe(true);
  });

  test('G5: a lease taken from its holder is lost, and its signal aborts', async () => {
    const held = await lease();
    await redis.set(key, 'another');
    await once(held.signal, 'abort');
    expect(held.signal.reason).toBeInstanceOf(AbortedError);
    expect(held.isOwned()).toBe(false);
    await held[Symbol.asyncDispose]();
    expect(await redis.get(key)).toBe('another');
  });

  test('G5: the lease of a stalled process is lost when it wakes, before any timer runs', async () => {
    const held = await lease();
    const untilMs = performance.now() + times.keepMs + 50;
    while (performance.now() < untilMs);
    expect(held.isOwned()).toBe(false);
    expect(held.signal.aborted).toBe(true);
  });

  test('is over when Redis does not answer for as long as it lasts', async () => {
    const held = await lease();
    redis.disconnect();
    await once(held.signal, 'abort');
    expect(held.isOwned()).toBe(false);
  });

  test('that is waited for can be given up', async () => {
    await using held = await lease(never, longTimes);
    await expect(lease(AbortSignal.timeout(50), longTimes)).rejects.toBeInstanceOf(AbortedError);
    expect(held.isOwned()).toBe(true);
  });
});
