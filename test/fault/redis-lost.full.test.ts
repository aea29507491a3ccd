/** At the real times: the beat of the lost queue is 45 s old before another one takes over. */
import { describe, expect, it } from 'vitest';
import type { CliHome } from '../support/cli.ts';
import { expectComplete, killHard, settledPast, wellCount, withQueuedExport } from '../support/disturbed-export.ts';
import { privateRedisLack } from '../support/redis.ts';

describe('a Redis that lost its data', () => {
  it('G7, G11: a run is revived from the warehouse after Redis lost its data, once the last beat is 45 s old', async ({
    skip,
  }) => {
    const lack = privateRedisLack();
    skip(lack !== undefined, lack);
    await withQueuedExport({ seed: 13, appendonly: false }, async ({ redis, home, runId }) => {
      const worker = home.start(['worker']);
      await settledPast(redis.url, home, runId, Math.floor(wellCount / 4));
      await killHard(worker);
      await redis.kill();
      await redis.restart();
      // Workers of the lost queue may still be alive, as far as can be known.
      const early = await home.start(['worker']).ended;
      expect(early.code, early.stderr).toBe(5);
      expect(early.stderr).toMatch(/may start in \d+ s/);
      await startedAtLast(home);
      await expectComplete(home, runId);
    });
  });
});

/** A worker that is restarted whenever it ends, as by a supervisor; resolves when it works. */
async function startedAtLast(home: CliHome): Promise<void> {
  for (;;) {
    const worker = home.start(['worker']);
    const isWorking = await worker.hears('Working').then(
      () => true,
      () => false,
    );
    if (isWorking) return;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
}
