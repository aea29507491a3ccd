/** A queue whose Redis fails over: calls wait, and go on at the new primary, for the users of docs/redis.md. */
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { checkRedis } from '../../../../src/queue/redis/check.ts';
import { connectRedis } from '../../../../src/queue/redis/clients.ts';
import type { RedisNode, RedisSettings } from '../../../../src/queue/redis/settings.ts';
import { createRunQueue } from '../../../../src/queue/redis/run-queue.ts';
import { type ByteProxy, startByteProxy } from '../../../storm/world/proxy.ts';
import { type PrivateRedis, privateRedisLack } from '../../../support/redis.ts';
import { giveRights, redisPrefix as prefix, redisUser as user } from '../../../support/redis-rights.ts';
import { Started } from '../../../support/started.ts';
import { atNode, replicated, startClusterRedis, startSentinelRedis } from '../../../support/redis-topologies.ts';

const lack = privateRedisLack();

/** What a run leaves in Redis before and after `fail`: its item, and the units that were settled. */
async function acrossFailover(redis: RedisSettings, before: PrivateRedis, fail: () => Promise<unknown>) {
  const queue = await createRunQueue({ redis, prefix, service: 's' }, 'lasting');
  const start = { queue: 'export', generation: 0, units: 9, settledUnits: 0, counts: {}, chunks: [0] } as const;
  await queue.progress.open('r', start);
  await queue.progress.settle('r', [{ unit: 0, counts: { rows: 1 } }]);
  await queue.submit('r', 0);
  // Redis confirms a write before a replica has it: one that is promoted too soon would lack these.
  await replicated(before, `{${prefix}}:replicated`);
  const failed = fail();
  // Sent while there is no primary.
  await asWorkersDo(() => queue.progress.settle('r', [{ unit: 1, counts: { rows: 1 } }]));
  await asWorkersDo(() => queue.submit('later', 0));
  await failed;
  const progress = await queue.progress.read('r');
  const left = { settledUnits: progress?.settledUnits, isSubmitted: await queue.isSubmitted('later', 0) };
  await queue.close();
  return left;
}

/** Connections of a sentinel that wait for news of it. */
async function countSubscribers(sentinel: Redis): Promise<number> {
  return [...String(await sentinel.client('LIST', 'TYPE', 'PUBSUB')).matchAll(/^id=/gm)].length;
}

/** A new primary refuses writes until a replica follows it: workers pause, and try again. */
function asWorkersDo<Result>(call: () => Promise<Result>): Promise<Result> {
  return vi.waitFor(call, { timeout: 30_000, interval: 250 });
}

const whole = { settledUnits: 2, isSubmitted: true };

describe.skipIf(lack !== undefined)(`a queue${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  test.each(['dies', 'hangs'] as const)('G7: behind Sentinel goes on at the next primary where one %s', async (how) => {
    await using sentinel = await startSentinelRedis();
    const servers = sentinel.servers.map(({ url }) => url);
    await giveRights(servers, `~${prefix}:*`);
    const watchers = sentinel.sentinels.map(({ host, port }) => `redis://${host}:${port}`);
    await giveRights(watchers, 'sentinel|');
    const redis = { sentinel: { nodes: sentinel.sentinels, name: sentinel.name, ...user }, ...user };
    expect(await checkRedis({ redis, prefix })).toMatchObject({ nodes: 3, remarks: [] });
    const before = await sentinel.primary();
    const fail = async (): Promise<void> => {
      if (how === 'dies') await before.kill();
      else before.hang();
      // As a command does that is called meanwhile.
      const prompt = await connectRedis(redis, 'prompt');
      prompt.disconnect();
      await sentinel.primaryAfter(before);
    };
    const atMs = performance.now();
    expect(await acrossFailover(redis, before, fail)).toEqual(whole);
    console.log(`Sentinel, the primary ${how}: ${((performance.now() - atMs) / 1_000).toFixed(1)} s`);
  });

  test('G7: behind Sentinel goes on where the sentinels switch while they are asked', async () => {
    await using started = new Started();
    const proxies: ByteProxy[] = [];
    const before = async (target: RedisNode): Promise<RedisNode> => {
      const proxy = started.use(await startByteProxy({ target, name: 'sentinel' }));
      proxies.push(proxy);
      return { host: proxy.host, port: proxy.port };
    };
    const sentinel = started.use(await startSentinelRedis({ before }));
    const { name, sentinels: nodes } = sentinel;
    const watchers = nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
    const [leader] = watchers;
    if (leader === undefined) throw new Error('there is no sentinel');
    const redis = await connectRedis({ sentinel: { nodes, name } }, 'lasting');
    started.use({ [Symbol.asyncDispose]: async () => redis.disconnect() });
    const statuses: string[] = [];
    const connection = await redis.client('ID');
    const subscribers = (): Promise<unknown> =>
      Promise.all(watchers.map((watcher) => atNode(watcher, countSubscribers)));
    await expect.poll(subscribers).toEqual([1, 1, 1]);
    await atNode(leader, async (subscriber) => {
      await subscriber.subscribe('+switch-master');
      const switched = once(subscriber, 'message');
      // Whoever asks a sentinel from now on waits for the answer.
      const releases = proxies.map((proxy) => proxy.blackHole({ of: 'next' }));
      await atNode(await sentinel.primary(), (primary) => primary.client('KILL', 'ID', connection));
      await expect.poll(() => redis.status).toBe('connecting');
      for (const status of ['connect', 'ready']) redis.once(status, () => statuses.push(status));
      await sentinel.failOver();
      await switched;
      expect(statuses).toEqual([]);
      for (const release of releases) await release();
    });
    expect(await asWorkersDo(() => redis.set('written', 'after'))).toBe('OK');
  });

  test('behind Sentinel without min-replicas is remarked', async () => {
    await using sentinel = await startSentinelRedis({ replicas: 1, minReplicas: 0 });
    const redis = { sentinel: { nodes: sentinel.sentinels, name: sentinel.name } };
    const { remarks } = await checkRedis({ redis, prefix });
    expect(remarks.map(({ message }) => message).join('')).toContain('takes writes without a replica that follows');
  });

  test('G7: on a cluster goes on at the next owner of its keys', async () => {
    await using cluster = await startClusterRedis();
    await giveRights(
      cluster.servers.map(({ url }) => url),
      `~{${prefix}}:*`,
    );
    const redis = { cluster: { nodes: cluster.nodes }, ...user };
    const key = `{${prefix}}`;
    const before = await cluster.ownerOf(key);
    const fail = async (): Promise<void> => {
      await before.kill();
      await cluster.ownerAfter(before, key);
    };
    const atMs = performance.now();
    expect(await acrossFailover(redis, before, fail)).toEqual(whole);
    console.log(`Cluster, the owner of the keys dies: ${((performance.now() - atMs) / 1_000).toFixed(1)} s`);
  });
});
