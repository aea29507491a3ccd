/** As warehouse-away.test.ts, for a PostgreSQL server that is stopped. */
import { expect, test, vi } from 'vitest';
import { createDatabase } from '../support/postgres/database.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { cliHome } from '../support/cli.ts';
import { startConsoleOf } from '../support/console.ts';
import { startWithTenDays, UWI } from '../support/testing-server-requests.ts';

test('G1: a PostgreSQL server that is stopped is 503, and answers come again with it, nothing done twice', async () => {
  const postgres = await startPostgres('newest');
  try {
    const { url } = await createDatabase(postgres.adminUrl);
    await using service = await startWithTenDays();
    await using home = await cliHome(service.url, { warehouseUrl: url });
    await using server = await startConsoleOf(home);
    const start = () =>
      server.ask('/api/v1/runs', {
        json: { export: 'daily-production', uwis: [UWI] },
        headers: { 'idempotency-key': 'night' },
      });
    expect((await start()).status).toBe(202);
    for (const end of ['stop', 'kill'] as const) {
      await postgres[end]();
      for (const ask of [() => server.ask('/api/v1/runs'), () => server.ask('/api/v1/schedules'), start]) {
        const response = await ask();
        expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
        const problem: unknown = await response.json();
        expect(problem).toMatchObject({ status: 503, detail: expect.stringMatching(/PostgreSQL|warehouse/) });
        expect(JSON.stringify(problem)).not.toContain('--');
      }
      await vi.waitFor(async () => expect((await server.ask('/readyz')).status).toBe(503), { timeout: 60_000 });
      expect((await server.ask('/healthz')).status).toBe(200);
      await postgres.start();
      await vi.waitFor(async () => expect((await server.ask('/api/v1/runs')).status).toBe(200), { timeout: 60_000 });
      await vi.waitFor(async () => expect((await server.ask('/readyz')).status).toBe(200), { timeout: 60_000 });
      expect((await start()).status).toBe(202);
    }
    expect((await server.app.ledger.runs.list({ limit: 5 })).runs).toHaveLength(1);
  } finally {
    await postgres.dispose();
  }
});
