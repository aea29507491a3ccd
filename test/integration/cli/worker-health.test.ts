/** The health port of a worker: alive while it answers, ready while it can work. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { cliHome, type RunningCommand } from '../../support/cli.ts';
import { privateRedisLack, startPrivateRedis } from '../../support/redis.ts';
import { startWithTenDays } from '../../support/testing-server-requests.ts';

const lack = privateRedisLack();
const patiently = { timeout: 60_000, interval: 50 };

/** Address of the health port, as the worker tells it in its log. */
async function healthOf(worker: RunningCommand): Promise<string> {
  await worker.hears('/readyz');
  const [, url] = /(http:\/\/[\d.:]+)\/readyz/.exec(worker.said()) ?? [];
  return url ?? '';
}

async function answerOf(url: string, method = 'GET') {
  const response = await fetch(url, { method });
  return { status: response.status, body: await response.text() };
}

const [ok, notReady] = [
  { status: 200, body: 'ok\n' },
  { status: 503, body: 'not ready\n' },
];

describe('the health port of a worker', () => {
  test.skipIf(lack !== undefined)(
    `is ready while Redis can be used, and alive in any case${lack === undefined ? '' : ` (skipped: ${lack})`}`,
    async () => {
      await using server = await startWithTenDays();
      await using redis = await startPrivateRedis({ appendonly: false });
      await using home = await cliHome(server.url, { redisUrl: redis.url });
      const worker = home.start(['worker', '--port', '0']);
      const url = await healthOf(worker);
      const look = async () => Promise.all([answerOf(`${url}/healthz`), answerOf(`${url}/readyz`)]);
      expect(await look()).toEqual([ok, ok]);
      await redis.kill();
      await vi.waitFor(async () => expect(await look()).toEqual([ok, notReady]), patiently);
      await redis.restart();
      await vi.waitFor(async () => expect(await look()).toEqual([ok, ok]), patiently);
    },
  );

  test('G10: says its status and nothing else, and ends with the worker', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const worker = home.start(['worker', '--port', '0']);
    const url = await healthOf(worker);
    expect(await answerOf(`${url}/readyz?verbose=1`)).toEqual(ok);
    expect(await answerOf(`${url}/readyz`, 'HEAD')).toEqual({ status: 200, body: '' });
    expect(await answerOf(`${url}/readyz`, 'POST')).toEqual({ status: 405, body: 'method not allowed\n' });
    expect(await answerOf(`${url}/../etc/passwd`)).toEqual({ status: 404, body: 'not found\n' });
    // Silent connections, more than the port keeps, keep no probe out.
    const silent = Array.from({ length: 100 }, () => connect(Number(new URL(url).port), '127.0.0.1'));
    await Promise.all(
      silent.map((socket) =>
        once(
          socket.on('error', () => {}),
          'connect',
        ),
      ),
    );
    expect(await answerOf(`${url}/healthz`)).toEqual(ok);
    for (const socket of silent) socket.destroy();
    const other = await home.run(['worker', '--port', new URL(url).port]);
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('something uses that port already') });
    worker.signal('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0 });
    await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
  });
});
