/** A PostgreSQL server that restarts, is killed, and loses connections while a worker commits an export. */
import { describe, expect, it } from 'vitest';
import { expectComplete, settledPast, wellCount, withQueuedExport } from '../support/disturbed-export.ts';
import { startCuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { createDatabase, postgresLack } from '../support/postgres/database.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';

const lack = await postgresLack('newest');
const restarts = 10;
const cuts = 50;

describe.skipIf(lack !== undefined)(`a PostgreSQL warehouse${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('G1, G2, G7: an export whose server is stopped and killed again and again ends by itself with every row right', async () => {
    // What a killed server has committed is there when it is started again.
    const postgres = await startPostgres('newest', { fsync: 'on', full_page_writes: 'on' });
    try {
      const { url } = await createDatabase(postgres.adminUrl);
      await withQueuedExport({ seed: 21, appendonly: false, warehouseUrl: url }, async ({ redis, home, runId }) => {
        home.start(['worker']);
        for (let restart = 1; restart <= restarts; restart += 1) {
          await settledPast(redis.url, home, runId, Math.floor((wellCount * restart) / (restarts + 2)));
          await (restart % 2 === 0 ? postgres.kill() : postgres.stop());
          await postgres.start();
        }
        await expectComplete(home, runId);
      });
    } finally {
      await postgres.dispose();
    }
  });

  it.each(['before the commit', 'after the commit'] as const)(
    'G1, G2, G7: an export whose connections are cut %s ends with every row right',
    async (cut) => {
      const postgres = await startPostgres('newest');
      try {
        await using proxy = await startCuttingProxy(Number(new URL(postgres.adminUrl).port));
        const { url } = await createDatabase(postgres.adminUrl);
        const warehouseUrl = url.replace(/:\d+\//, `:${proxy.port}/`);
        await withQueuedExport({ seed: 22, appendonly: false, warehouseUrl }, async ({ home, runId }) => {
          proxy.cutNext(cut, cuts);
          home.start(['worker']);
          await expectComplete(home, runId);
        });
        expect(proxy.cuts).toBe(cuts);
      } finally {
        await postgres.dispose();
      }
    },
  );
});
