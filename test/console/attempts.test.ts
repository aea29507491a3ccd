/** The attempts of a run: each has the time and the rows of its own work, and what waited in the queue is in none. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveInstallation } from '../support/served-install.ts';
import { UWI } from '../support/testing-server-requests.ts';

const shown = z.object({
  durationMs: z.number().nullable(),
  retriedAt: z.string(),
  pace: z.unknown(),
  attempts: z.array(
    z.object({ startedAt: z.string().nullable(), durationMs: z.number().nullable(), rows: z.number().nullable() }),
  ),
});

test('a retry that waits has not begun, and its time and rows are those of its own work', async () => {
  await using served = await serveInstallation({ works: false });
  const { home, server } = served;
  const flags = ['--uwi', UWI, '--uwi', 'no-such-well', '--inline', '--json'];
  const { stdout } = await home.here(['export', 'daily-production', ...flags]);
  const { runId } = z.object({ runId: z.string() }).parse(JSON.parse(stdout));
  const path = `/api/v1/runs/${runId}`;
  expect((await server.ask(`${path}/retry`, { method: 'POST', token: 'operate' })).status).toBe(202);
  const read = async () => shown.parse(await (await server.ask(path, { token: 'read' })).json());
  const page = async () => (await server.ask(`/runs/${runId}`, { token: 'read' })).text();

  const waiting = await read();
  expect(waiting).toMatchObject({ pace: null, attempts: [{ rows: 10 }, { startedAt: null, rows: null }] });
  expect(await page()).not.toContain('since its retry');

  await home.here(['runs', 'retry', runId, '--inline']);
  const { attempts, durationMs, retriedAt } = await read();
  expect(attempts).toMatchObject([{ rows: 10 }, { rows: 0 }]);
  expect(Date.parse(attempts[1]?.startedAt ?? '')).toBeGreaterThan(Date.parse(retriedAt));
  expect(durationMs).toBe(attempts.reduce((sum, each) => sum + (each.durationMs ?? Number.NaN), 0));
  const report: unknown = await (await server.ask(`${path}/report`, { token: 'read' })).json();
  expect(report).toMatchObject({ durationMs });
  expect(await page()).toContain('in 2 attempts');
});
