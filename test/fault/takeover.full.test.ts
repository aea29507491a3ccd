/** Two queues and one warehouse (G11), when workers stand still, lose Redis, or cannot write. */
import { existsSync } from 'node:fs';
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, it, vi } from 'vitest';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';
import {
  stopBetweenCommits,
  push,
  pipesPast,
  openScene,
  expectWhole,
  beat,
  patienceMs,
  pipes,
  refusalOf,
} from '../support/short-beat-scene.ts';

describe('two queues on one warehouse, in trouble', () => {
  it('G11: a worker that stood still for longer commits nothing when it comes back, and stops', async ({ skip }) => {
    skip(!existsSync('/proc/self/fd'), 'there is no /proc to see the open files of a process by');
    await using scene = await openScene({}, 2_000);
    const one = scene.worker('one');
    await one.working;
    const runId = await push(scene, 'one', pipes);
    await pipesPast(scene, 2_000);
    await stopBetweenCommits(one, scene.home.warehouseFile);
    const two = await vi.waitFor(
      async () => {
        const next = scene.worker('two');
        await next.working;
        return () => next;
      },
      { timeout: patienceMs, interval: 500 },
    );
    await expect.poll(() => two().said()).toContain('took the warehouse over');
    one.signal('SIGCONT');
    expect(await one.ended, one.said()).toBe(5);
    expect(one.said().match(/was taken over by another queue/g)).toHaveLength(2);
    await expectWhole(scene, 'two', runId);
    expect(await scene.query('SELECT count(*) AS settled FROM run_unit')).toEqual([{ settled: 1 }]);
  });

  it('G7, G11: living workers write the id of their queue again when Redis lost it; without them a worker waits', async ({
    skip,
  }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: false });
    await using scene = await openScene({ WELLSYNC_REDIS_URL: redis.url });
    const one = scene.worker('one');
    await one.working;
    const client = new Redis(redis.url);
    const idKeys = () => client.keys(`${scene.prefix('one')}:queue-id:*`);
    const [key = ''] = await idKeys();
    const id = await client.get(key);
    await client.flushall();
    await vi.waitFor(async () => expect(await client.get(key)).toBe(id), { timeout: patienceMs });
    const runId = await push(scene, 'one', pipes);
    await pipesPast(scene, 2_000);
    one.signal('SIGKILL');
    await one.ended;
    await client.flushall();
    const early = scene.worker('one');
    expect(await refusalOf(early), early.said()).toBe(5);
    expect(await idKeys()).toEqual([]);
    await vi.waitFor(() => scene.worker('one').working, { timeout: patienceMs, interval: 500 });
    expect(await client.get(key)).not.toBe(id);
    client.disconnect();
    await expectWhole(scene, 'one', runId);
  });

  it('G11: a worker whose service was moved leaves no beat, so that one of the new name starts at once', async () => {
    await using scene = await openScene();
    const one = scene.worker('one');
    await one.working;
    await push(scene, 'one', 10);
    const moved = scene.server.url.replace('127.0.0.1', 'localhost');
    const change = await scene.home.run(['service', 'moved', scene.server.url, moved, '--yes']);
    expect(change.code, change.stderr).toBe(0);
    expect(await one.ended, one.said()).toBe(5);
    expect(existsSync(`${scene.home.warehouseFile}.beat`)).toBe(false);
    await scene.worker('one', { WELLSYNC_SERVICE_URL: moved }).working;
  });

  it('logs once, without a stack, that its beat cannot be written, and goes on', async () => {
    await using scene = await openScene();
    const one = scene.worker('one');
    await one.working;
    const file = `${scene.home.warehouseFile}.beat`;
    await vi.waitFor(
      async () => {
        await rm(file, { force: true });
        await mkdir(file);
      },
      { timeout: patienceMs },
    );
    await vi.waitFor(() => expect(one.said()).toContain('a folder is in its place'), { timeout: patienceMs });
    await delay(5 * beat.beatEveryMs);
    await rmdir(file);
    await vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: patienceMs });
    one.signal('SIGTERM');
    expect(await one.ended, one.said()).toBe(0);
    expect(one.said().match(/the beat could not be written/g)).toHaveLength(1);
    expect(one.said()).not.toContain('stack');
    expect(existsSync(file)).toBe(false);
  });
});
