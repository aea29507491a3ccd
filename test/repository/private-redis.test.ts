/**
 * Checks the properties of a private Redis that fault tests rely on, and that the scripts accept only a usable Redis.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { checkRedis } from '../../src/queue/redis/check.ts';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';

const key = 'well';

async function write(url: string, value: string): Promise<void> {
  await using client = clientOf(url);
  await client.redis.set(key, value);
}

async function read(url: string): Promise<string | null> {
  await using client = clientOf(url);
  return await client.redis.get(key);
}

function clientOf(url: string) {
  const redis = new Redis(url);
  return { redis, [Symbol.asyncDispose]: async () => void (await redis.quit()) };
}

const lack = privateRedisLack();

describe('a private Redis', () => {
  test.beforeEach((context) => context.skip(lack !== undefined, lack));

  test('never evicts, as wellsync demands', async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    expect((await checkRedis({ redis: { url: redis.url }, prefix: 'p' })).evictionPolicy).toBe('noeviction');
  });

  test('has a port that no outgoing connection is given, so that it can come back on it', async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    expect(Number(new URL(redis.url).port)).toBeLessThan(32_768);
  });

  test('keeps its data over a restart, on the same port', async () => {
    await using redis = await startPrivateRedis({ appendonly: true });
    await write(redis.url, '15/9-F-12');
    await redis.restart();
    expect(await read(redis.url)).toBe('15/9-F-12');
  });

  test('forgets everything over a restart without an append-only file', async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    await write(redis.url, '15/9-F-12');
    await redis.restart();
    expect(await read(redis.url)).toBeNull();
  });

  test('is gone after a kill, and comes back by a restart', async () => {
    await using redis = await startPrivateRedis({ appendonly: true });
    await redis.kill();
    await expect(checkRedis({ redis: { url: redis.url }, prefix: 'p' })).rejects.toThrow('nothing answers there');
    await redis.restart();
    expect((await checkRedis({ redis: { url: redis.url }, prefix: 'p' })).product).toMatch(/^(Redis|Valkey) \d+\./);
  });
});

describe('the scripts', () => {
  test.beforeEach((context) => context.skip(lack !== undefined, lack));

  test('take the Redis that WELLSYNC_REDIS_URL names, unless it may evict', async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    expect(await redisTaken(redis.url)).toMatch(/^Using the (Redis|Valkey) \d/);
    await using client = clientOf(redis.url);
    await client.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(redisTaken(redis.url)).rejects.toThrow('eviction policy allkeys-lru');
  });
});

const setup = pathToFileURL(path.resolve('scripts/setup/redis.mjs')).href;

/** The output of a script about the Redis that it takes. */
async function redisTaken(url: string): Promise<string> {
  const source = `import { provideRedis } from '${setup}'; await provideRedis();`;
  const env = { ...process.env, WELLSYNC_REDIS_URL: url };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { env });
  return stdout;
}
