import { describe, it } from 'vitest';
import {
  expectComplete,
  killHard,
  settledPast,
  settledUnits,
  wellCount,
  withQueuedExport,
} from '../support/disturbed-export.ts';
import { privateRedisLack } from '../support/redis.ts';

const kills = 5;

describe('a worker that is killed', () => {
  it('G1, G2, G7: an export whose worker is killed again and again ends by itself with every row right', async ({
    skip,
  }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await withQueuedExport({ seed: 11, appendonly: true }, async ({ redis, home, runId }) => {
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
  });

  it('G7: a restart of Redis in the middle of an export loses nothing', async ({ skip }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await withQueuedExport({ seed: 12, appendonly: true }, async ({ redis, home, runId }) => {
      home.start(['worker']);
      await settledPast(redis.url, home, runId, Math.floor(wellCount / 4));
      await redis.kill();
      await redis.restart();
      await expectComplete(home, runId);
    });
  });
});
