/** The warehouse is away while a server serves: it says what is wrong, keeps answering, and does nothing twice. */
import { expect, test, vi } from 'vitest';
import { serveInstallation } from '../support/served-install.ts';
import { UWI } from '../support/testing-server-requests.ts';
import { startHolder } from '../support/warehouse-processes.ts';

test('G1: a DuckDB file that another program holds is 503 with its name, and what is sent again is done once', async () => {
  await using served = await serveInstallation({ works: false, config: 'warehouse: { lockWaitMs: 50 }\n' });
  const { server, home } = served;
  const answerOf = async (path: string, how: Parameters<typeof server.ask>[1] = {}) => {
    const response = await server.ask(path, { token: 'operate', ...how });
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.text() };
  };
  const start = () =>
    answerOf('/api/v1/runs', {
      json: { export: 'daily-production', uwis: [UWI] },
      headers: { 'idempotency-key': 'night' },
    });
  const reads = ['/api/v1/runs', '/api/v1/runs/x', '/api/v1/plans', '/api/v1/schedules', '/api/v1/coverage'];
  {
    await using holder = await startHolder(server.app.warehouse.location);
    for (const path of reads) {
      const { body, ...answer } = await answerOf(path);
      expect([path, answer]).toEqual([path, { status: 503, retryAfter: '5' }]);
      expect(JSON.parse(body)).toMatchObject({ status: 503, detail: expect.stringContaining(`${holder.pid}`) });
      expect(body).not.toContain('--');
    }
    expect((await start()).status).toBe(503);
    expect((await answerOf('/healthz')).status).toBe(200);
    expect((await answerOf('/api/v1/openapi.json')).status).toBe(200);
  }
  await vi.waitFor(async () => expect((await answerOf('/api/v1/runs')).status).toBe(200), { timeout: 60_000 });
  const [first, again] = [await start(), await start()];
  expect([first.status, again.status]).toEqual([202, 202]);
  expect((await server.app.ledger.runs.list({ limit: 5 })).runs).toHaveLength(1);
  expect((await home.here(['runs', 'list', '--json'])).code).toBe(0);
});
