import { describe, it } from 'vitest';
import { generatedDaily } from '../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import {
  expectComplete,
  from,
  homeOn,
  killHard,
  latencyMs,
  settledPast,
  settledUnits,
  startRun,
  to,
  wellCount,
} from '../support/disturbed-export.ts';
import { privateRedisLack, startPrivateRedis } from '../support/redis.ts';

const kills = 5;

describe('a worker that is killed', () => {
  it('G1, G2, G7: an export whose worker is killed again and again ends by itself with every row right', async ({
    skip,
  }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: true });
    await using server = await startTestingServer({
      latencyMs,
      data: generatedDaily({ seed: 11, wells: wellCount, fromDay: from, toDay: to }),
    });
    await using home = await homeOn(server, redis.url);
    const runId = await startRun(home);

    let worker = home.start(['worker']);
    for (let kill = 1; kill <= kills; kill += 1) {
      await settledPast(redis.url, home, runId, Math.floor((wellCount * kill) / (kills + 2)));
      const before = await settledUnits(redis.url, home, runId);
      await killHard(worker);
      worker = home.start(['worker']);
      await settledPast(redis.url, home, runId, before);
    }
    await expectComplete(home, runId);
  });

  it('G7: a restart of Redis in the middle of an export loses nothing', async ({ skip }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await using redis = await startPrivateRedis({ appendonly: true });
    await using server = await startTestingServer({
      latencyMs,
      data: generatedDaily({ seed: 12, wells: wellCount, fromDay: from, toDay: to }),
    });
    await using home = await homeOn(server, redis.url);
    const runId = await startRun(home);
    home.start(['worker']);
    await settledPast(redis.url, home, runId, Math.floor(wellCount / 4));
    await redis.kill();
    await redis.restart();
    await expectComplete(home, runId);
  });
});
