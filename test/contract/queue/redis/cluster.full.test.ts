/** Every call of the queue and of the limiter on a cluster, whose scripts and transactions reach the keys of one slot. */
import { describe, expect, test } from 'vitest';
import { checkRedis } from '../../../../src/queue/redis/check.ts';
import { createRedisLimiter } from '../../../../src/queue/redis/limiter/redis-admission.ts';
import { createRunQueue } from '../../../../src/queue/redis/run-queue.ts';
import { readQueueIdentity } from '../../../../src/queue/redis/queue-names.ts';
import { privateRedisLack } from '../../../support/redis.ts';
import { startClusterRedis } from '../../../support/redis-topologies.ts';

const lack = privateRedisLack();
const never = new AbortController().signal;
const runId = 'r';
const item = { runId, generation: 0, chunk: 0 };

describe.skipIf(lack !== undefined)(`on a cluster${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  test('every call works, and a client that is not told of the cluster is refused', async () => {
    await using cluster = await startClusterRedis({ hasReplicas: false });
    const address = { redis: { cluster: { nodes: cluster.nodes.slice(0, 1) } }, prefix: 'wells', service: 's' };
    expect(await checkRedis(address)).toMatchObject({ nodes: 3, evictionPolicy: 'noeviction', remarks: [] });
    for (const { url } of cluster.servers) {
      await expect(checkRedis({ redis: { url }, prefix: 'wells' })).rejects.toThrow('is a node of a cluster');
    }

    const queue = await createRunQueue(address, 'lasting');
    expect(await queue.identity.keep('id', 'w', 60_000)).toEqual({ queueId: 'id', warehouseId: 'w' });
    await queue.identity.release('w');
    expect(await readQueueIdentity(address)).toEqual({ queueId: 'id', warehouseId: undefined });

    const start = {
      queue: 'export',
      generation: 0,
      units: 3,
      settledUnits: 0,
      counts: { rows: 0 },
      chunks: [0, 1],
    } as const;
    await queue.progress.open(runId, start);
    await queue.progress.advance(runId, { unit: 1, done: 5, counts: { rows: 5 }, attempt: 1 });
    await queue.progress.recordReadings(runId, [{ unit: 2, rows: 7, isRead: false }]);
    await queue.progress.settle(runId, [{ unit: 0, counts: { rows: 2 } }]);
    expect(await queue.progress.read(runId)).toMatchObject({ settledUnits: 1, counts: { rows: 7 } });
    expect(await queue.enqueueNext(runId, 2)).toBe(2);
    expect((await queue.chunkStatuses(runId)).map(({ status }) => status)).toEqual(['waiting', 'waiting']);
    await queue.requeue('export', [item]);
    expect(await queue.progress.endChunk(runId, 0)).toBe(false);
    expect(await queue.progress.endChunk(runId, 1)).toBe(true);
    await queue.progress.requestStop(runId, { kind: 'cancel', requestedBy: 'tester' });
    await queue.progress.finish(runId, 'cancelled');
    await queue.progress.forget(runId);
    expect(await queue.progress.read(runId)).toBeUndefined();

    expect(await queue.starts.begin(runId, { unit: 1 })).toBe(0);
    expect([...(await queue.starts.ofUnits(runId)).keys()]).toEqual([1]);
    await queue.starts.end(runId, { unit: 1 });
    await queue.submit(runId, 0);
    await queue.hasten(runId, 0);
    expect(await queue.isSubmitted(runId, 0)).toBe(true);
    {
      await using lease = await queue.lease(item, never);
      expect(lease.isOwned()).toBe(true);
    }
    expect((await queue.tryLease('work'))?.isOwned()).toBe(true);
    expect(await queue.tryLease('work')).toBeUndefined();
    expect(await queue.recordDown('export', 'warehouse')).toBeGreaterThanOrEqual(0);
    await queue.recordUp('export');
    expect((await queue.workers()).map(({ workers }) => workers)).toEqual([0, 0, 0, 0]);

    const limiter = await createRedisLimiter({
      ...address,
      concurrency: 2,
      requestsPerSecond: 100,
      leaseMs: 600,
      maxHoldMs: 60_000,
    });
    const leave = await limiter.enter(never);
    // A renewal of the lease.
    await new Promise((resolve) => setTimeout(resolve, 700));
    leave();
    await limiter.pauseAll(30_000);
    expect(await queue.serviceHold.read()).toMatchObject({ isTooLong: false });
    expect(await queue.serviceHold.lift()).toBeDefined();
    (await limiter.enter(never))();
    await limiter.close();
    await queue.close();
  });
});
