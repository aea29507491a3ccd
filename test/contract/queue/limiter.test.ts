import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { AbortedError, UnreachableError } from '../../../src/core/base/errors.ts';
import type { SharedLimiter } from '../../../src/queue/limiter.ts';
import { createRedisLimiter } from '../../../src/queue/redis/limiter/redis-admission.ts';
import { limitsKey } from '../../../src/queue/redis/queue-names.ts';
import { sleep } from '../../../src/timers/sleep.ts';
import { limiterScene, never } from '../../support/limiters.ts';
import { privateRedisLack, startPrivateRedis } from '../../support/redis.ts';

describe('leave to send a request', () => {
  it('G9: the limit of concurrent requests holds across all workers together', async () => {
    await using scene = await limiterScene();
    const workers = await scene.limiters(3, { concurrency: 4 });
    let now = 0;
    let most = 0;
    const request = async (worker: SharedLimiter): Promise<void> => {
      const leave = await worker.enter(never);
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      leave();
    };
    await Promise.all(workers.flatMap((worker) => Array.from({ length: 30 }, () => request(worker))));
    expect(most).toBeLessThanOrEqual(4);
    expect(most).toBeGreaterThan(1);
  });

  it('G9: the limit of requests per second holds across all workers together', async () => {
    await using scene = await limiterScene();
    const workers = await scene.limiters(2, { concurrency: 50, requestsPerSecond: 20 });
    const beganAtMs = await scene.nowMs();
    await Promise.all(
      workers.flatMap((worker) => Array.from({ length: 20 }, async () => (await worker.enter(never))())),
    );
    // The last of 40 requests is due 39 intervals of 50 ms after the first.
    expect((await scene.nowMs()) - beganAtMs).toBeGreaterThanOrEqual(1_940);
  });

  it('without a rate no request is paced', async () => {
    await using scene = await limiterScene();
    const [worker] = (await scene.limiters(1, { concurrency: 100 })) as [SharedLimiter];
    const leaves = await Promise.all(Array.from({ length: 100 }, () => worker.enter(never)));
    expect(await scene.redis.keys(`${scene.prefix}:*:next-at`)).toEqual([]);
    for (const leave of leaves) leave();
  });

  it('G7: the limiter frees the place of a dead worker after its lease', async () => {
    await using scene = await limiterScene();
    const [dead, alive] = (await scene.limiters(2, { concurrency: 1, leaseMs: 300 })) as [SharedLimiter, SharedLimiter];
    const leasedAtMs = await scene.nowMs();
    await dead.enter(never);
    await dead.close();
    (await alive.enter(never))();
    expect((await scene.nowMs()) - leasedAtMs).toBeGreaterThanOrEqual(300);
  });

  it('G7: the limiter frees a place again whose return a failover has lost, and no other', async () => {
    await using scene = await limiterScene();
    const [mine, other] = (await scene.limiters(2, { concurrency: 2, leaseMs: 1_500 })) as [
      SharedLimiter,
      SharedLimiter,
    ];
    const leaveOther = await other.enter(never);
    const leave = await mine.enter(never);
    const key = `${limitsKey(scene.address)}:leases`;
    const before = await scene.redis.zrange(key, '0', '-1');
    leave();
    await expect.poll(() => scene.redis.zcard(key)).toBe(1);
    // The next primary has the lease still.
    const kept = new Set(await scene.redis.zrange(key, '0', '-1'));
    const lost = before.filter((token) => !kept.has(token));
    expect(lost).toHaveLength(1);
    await scene.redis.zadd(key, (await scene.nowMs()) + 3_600_000, lost[0] ?? '');
    (await mine.enter(never))();
    await expect.poll(() => scene.redis.zrange(key, '0', '-1')).toEqual([...kept]);
    leaveOther();
  });

  it('G9: a request longer than a lease keeps its place in the limiter', async () => {
    await using scene = await limiterScene();
    const [slow, other] = (await scene.limiters(2, { concurrency: 1, leaseMs: 2_000 })) as [
      SharedLimiter,
      SharedLimiter,
    ];
    const order: string[] = [];
    const leave = await slow.enter(never);
    const next = other.enter(never).then((leaveToo) => {
      order.push('the next is let in');
      leaveToo();
    });
    await sleep(2_500);
    order.push('the slow one leaves');
    leave();
    await next;
    expect(order).toEqual(['the slow one leaves', 'the next is let in']);
  });

  it('a process gets its turn while another one would take every place again at once', async () => {
    await using scene = await limiterScene();
    const [busy, other] = (await scene.limiters(2, { concurrency: 2 })) as [SharedLimiter, SharedLimiter];
    const stopped = new AbortController();
    const callers = Array.from({ length: 4 }, async () => {
      while (!stopped.signal.aborted) {
        const leave = await busy.enter(never);
        await sleep(5);
        leave();
      }
    });
    for (let turn = 0; turn < 5; turn += 1) (await other.enter(never))();
    expect(stopped.signal.aborted).toBe(false);
    stopped.abort();
    await Promise.all(callers);
  });

  it('waiting ends with an abort, and the place of one who went is given to the next', async () => {
    await using scene = await limiterScene();
    const [worker] = (await scene.limiters(1, { concurrency: 1 })) as [SharedLimiter];
    const leave = await worker.enter(never);
    const gone = new AbortController();
    const waiting = worker.enter(gone.signal);
    const next = worker.enter(never);
    gone.abort();
    await expect(waiting).rejects.toBeInstanceOf(AbortedError);
    leave();
    (await next)();
  });

  it('waiting for a place of another process, or for a time of sending, ends with an abort', async () => {
    await using scene = await limiterScene();
    const [one, other] = (await scene.limiters(2, { concurrency: 1, requestsPerSecond: 0.01 })) as [
      SharedLimiter,
      SharedLimiter,
    ];
    const leave = await one.enter(never);
    const gone = new AbortController();
    const waiting = other.enter(gone.signal);
    setTimeout(() => gone.abort(), 30);
    await expect(waiting).rejects.toBeInstanceOf(AbortedError);
    leave();
    const later = new AbortController();
    const paced = other.enter(later.signal);
    setTimeout(() => later.abort(), 30);
    await expect(paced).rejects.toBeInstanceOf(AbortedError);
  });

  it('four processes that wait for a place send Redis fewer than 50 commands a second', async ({ skip }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: false });
    await using scene = await limiterScene(redis.url);
    const [busy, ...others] = (await scene.limiters(5, { concurrency: 8 })) as [SharedLimiter, ...SharedLimiter[]];
    const leaves = await Promise.all(Array.from({ length: 8 }, () => busy.enter(never)));
    const gone = new AbortController();
    setMaxListeners(0, gone.signal);
    const waiting = others.flatMap((other) => Array.from({ length: 8 }, () => other.enter(gone.signal)));
    // Who has just begun to wait looks more often.
    await sleep(3_000);
    await scene.redis.config('RESETSTAT');
    const beganAtMs = await scene.nowMs();
    // Two turns of the renewal of leases, and no more: in less than one the figure depends on where its turn falls.
    await sleep(6_500);
    const stats = await scene.redis.info('commandstats');
    const seconds = ((await scene.nowMs()) - beganAtMs) / 1_000;
    const calls = [...stats.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)].map(([, name, count]) => [name, Number(count)]);
    // What this test itself sent is in it: TIME, INFO and CONFIG.
    expect(calls).not.toEqual([]);
    const sum = calls.reduce((total, [, count]) => total + Number(count), 0);
    expect(sum / seconds, JSON.stringify(calls)).toBeLessThan(50);
    gone.abort();
    await Promise.allSettled(waiting);
    for (const leave of leaves) leave();
  });

  it('callers of one moment ask Redis together, with what they give back', async ({ skip }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: false });
    await using scene = await limiterScene(redis.url);
    // No lease is renewed while the questions are counted.
    const [worker] = (await scene.limiters(1, { concurrency: 16, leaseMs: 600_000 })) as [SharedLimiter];
    const enterAll = (): Promise<ReadonlyArray<() => void>> =>
      Promise.all(Array.from({ length: 8 }, () => worker.enter(never)));
    // The text of the script travels with the first question. A new connection also looks for leases that nobody has: by
    // the second answer it has found that all are had, which one that is given back meanwhile would not be.
    const kept = await enterAll();
    const second = await enterAll();
    await scene.redis.config('RESETSTAT');
    for (const leave of second) leave();
    const leaves = await enterAll();
    const stats = await scene.redis.info('commandstats');
    expect(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]).toBe('1');
    for (const leave of [...kept, ...leaves]) leave();
  });

  it('G9: one who gives up before the question is sent takes no lease', async () => {
    await using scene = await limiterScene();
    const [worker] = (await scene.limiters(1, { concurrency: 2 })) as [SharedLimiter];
    const gone = new AbortController();
    const givenUp = worker.enter(gone.signal);
    const stays = worker.enter(never);
    // Both ask in this very turn of the event loop.
    await Promise.resolve();
    gone.abort();
    await expect(givenUp).rejects.toBeInstanceOf(AbortedError);
    const leave = await stays;
    const [leases = ''] = await scene.redis.keys(`${scene.prefix}:*:leases`);
    expect(await scene.redis.zcard(leases)).toBe(1);
    leave();
  });

  it('a run that was given up while it waited has no share', async () => {
    await using scene = await limiterScene();
    const [one, other] = (await scene.limiters(2, { concurrency: 1 })) as [SharedLimiter, SharedLimiter];
    const leave = await one.enter(never, 'first');
    const gone = new AbortController();
    const waiting = other.enter(gone.signal, 'given up');
    const flows = (): Promise<readonly string[]> => scene.redis.keys(`${scene.prefix}:*:flows-waiting`);
    await expect.poll(flows).toHaveLength(1);
    gone.abort();
    await expect(waiting).rejects.toBeInstanceOf(AbortedError);
    await expect.poll(flows).toEqual([]);
    leave();
  });

  it('a Redis that is not there is said at once', async () => {
    const settings = {
      redis: { url: 'redis://127.0.0.1:1' },
      prefix: 'test',
      service: 'http://pds',
      concurrency: 1,
      maxHoldMs: 1_000,
    };
    await expect(createRedisLimiter(settings)).rejects.toBeInstanceOf(UnreachableError);
  });
});
