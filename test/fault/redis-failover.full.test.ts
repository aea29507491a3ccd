/** Failovers in the middle of an export, a push and a cleanup: by Sentinel and of a cluster, with the users of docs/redis.md. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { privateRedisLack } from '../support/redis.ts';
import { startClusterRedis, startSentinelRedis } from '../support/redis-topologies.ts';
import { giveRights, redisPrefix, redisUser } from '../support/redis-rights.ts';
import { type RunsUnderWay, startRunsUnderWay } from '../support/runs-under-way.ts';

const lack = privateRedisLack();

let folder: string;
let passwordFile: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'wellsync-failover-'));
  passwordFile = path.join(folder, 'password');
  await writeFile(passwordFile, redisUser.password);
});
afterAll(() => rm(folder, { recursive: true }));

const shown = (nodes: readonly { readonly host: string; readonly port: number }[]): string =>
  nodes.map(({ host, port }) => `"${host}:${port}"`).join(', ');

/** Tells how long each run stood. */
async function during(runs: RunsUnderWay, what: string, fail: () => Promise<void>): Promise<void> {
  const beganMs = performance.now();
  await fail();
  console.log(`${what}: ${runs.standstills(beganMs)}`);
}

describe.skipIf(lack !== undefined)(`a failover${lack === undefined ? '' : ` (skipped: ${lack})`}`, () => {
  test('G1, G2, G5, G6, G7: by Sentinel, planned, of a primary that dies and of one that hangs, loses nothing of an export, a push and a cleanup', async () => {
    // After all, the last primary has a replica left, which min-replicas asks for.
    await using sentinel = await startSentinelRedis({ replicas: 3 });
    await giveRights(
      sentinel.servers.map(({ url }) => url),
      `~${redisPrefix}:*`,
    );
    await giveRights(
      sentinel.sentinels.map(({ host, port }) => `redis://${host}:${port}`),
      'sentinel|',
    );
    const user = `username: ${redisUser.username}, passwordFile: ${passwordFile}`;
    const settings = [
      `sentinel: { name: ${sentinel.name}, nodes: [${shown(sentinel.sentinels)}], ${user} }`,
      `username: ${redisUser.username}`,
      `passwordFile: ${passwordFile}`,
    ];
    await using runs = await startRunsUnderWay(settings.join('\n'));

    const { primary, primaryAfter } = sentinel;
    await runs.reach(0.05);
    expect(runs.underWay()).toHaveLength(3);
    const first = await primary();
    await during(runs, 'Sentinel, a planned failover', async () => {
      await sentinel.failOver();
      await primaryAfter(first);
      await runs.reach(0.15);
    });
    const second = await primary();
    await during(runs, 'Sentinel, the primary killed', async () => {
      await second.kill();
      await primaryAfter(second);
      await runs.reach(0.25);
    });
    const third = await primary();
    await during(runs, 'Sentinel, the primary hangs', async () => {
      third.hang();
      await primaryAfter(third);
      await runs.reach(0.4);
    });
    third.goOn();
    expect(await runs.outcome()).toEqual(runs.right);
  });

  test('G1, G2, G5, G6, G7: of a cluster whose owner of the keys dies loses nothing of an export, a push and a cleanup', async () => {
    await using cluster = await startClusterRedis();
    await giveRights(
      cluster.servers.map(({ url }) => url),
      `~{${redisPrefix}}:*`,
    );
    const settings = [
      `cluster: { nodes: [${shown(cluster.nodes)}] }`,
      `username: ${redisUser.username}`,
      `passwordFile: ${passwordFile}`,
    ];
    await using runs = await startRunsUnderWay(settings.join('\n'));

    await runs.reach(0.05);
    expect(runs.underWay()).toHaveLength(3);
    const owner = await cluster.ownerOf(`{${redisPrefix}}`);
    await during(runs, 'Cluster, the owner of the keys killed', async () => {
      await owner.kill();
      await cluster.ownerAfter(owner, `{${redisPrefix}}`);
      await runs.reach(0.3);
    });
    expect(await runs.outcome()).toEqual(runs.right);
  });
});
