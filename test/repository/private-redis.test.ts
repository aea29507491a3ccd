/** Shows that the Redis of a fault test does what such a test relies on. */
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { askRedis } from '../../scripts/setup/redis-talk.mjs';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';

/** Sends one command in Redis's inline form and returns the whole reply, up to the end of the connection. */
async function tell(url: string, command: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
  socket.write(`${command}\r\nQUIT\r\n`);
  await once(socket, 'close');
  return heard;
}

const lack = privateRedisLack();

describe('a private Redis', () => {
  test.beforeEach((context) => context.skip(lack !== undefined, lack));

  test('never evicts, as wellsync demands', async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    expect((await askRedis(redis.url)).evictionPolicy).toBe('noeviction');
  });

  test('keeps its data over a restart, on the same port', async () => {
    await using redis = await startPrivateRedis({ appendonly: true });
    await tell(redis.url, 'SET well 15/9-F-12');
    await redis.restart();
    expect(await tell(redis.url, 'GET well')).toContain('15/9-F-12');
  });

  test('forgets everything over a restart without an append-only file', async () => {
    await using redis = await startPrivateRedis({ appendonly: false });
    await tell(redis.url, 'SET well 15/9-F-12');
    await redis.restart();
    expect(await tell(redis.url, 'GET well')).toMatch(/^\$-1/);
  });

  test('is gone after a kill, and comes back by a restart', async () => {
    await using redis = await startPrivateRedis({ appendonly: true });
    await redis.kill();
    await expect(askRedis(redis.url)).rejects.toThrow('ECONNREFUSED');
    await redis.restart();
    expect((await askRedis(redis.url)).version).toMatch(/^\d+\./);
  });
});
