/** The release of held rows over HTTP: who may, for which number of rows, and once. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveInstallation } from '../support/served-install.ts';
import { dailyUrl, UWI } from '../support/testing-server-requests.ts';

const started = z.object({ runId: z.string(), isRepeat: z.boolean() });

async function answerOf(response: Response): Promise<readonly [number, unknown]> {
  return [response.status, await response.json()];
}

test('G4: is for the rows that were shown, by the role delete; one under way, or of nothing, is 409', async () => {
  await using served = await serveInstallation({ works: false });
  const { server, service, home } = served;
  const exported = async (): Promise<string> => {
    const args = ['export', 'daily-production', '--uwi', UWI, '--from', '2024-01-01', '--to', '2024-02-01'];
    const { stdout } = await home.here([...args, '--inline', '--json']);
    return z.object({ runId: z.string() }).parse(JSON.parse(stdout)).runId;
  };
  const of = await exported();
  const rows = z
    .array(z.object({ xid: z.string() }))
    .parse(await (await fetch(dailyUrl(service, { limit: 100 }))).json());
  const gone = rows.slice(0, 5).map(({ xid }) => JSON.stringify({ uwi: UWI, remove: xid }));
  service.state.changeDaily(gone.join('\n'));
  const night = await exported();
  const release = (token: string, json: unknown, key?: string, runId = night) =>
    server.ask(`/api/v1/runs/${runId}/release`, {
      token,
      json,
      ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
    });

  expect(await answerOf(await server.ask(`/api/v1/runs/${night}/release`, { token: 'read' }))).toMatchObject([
    200,
    { rows: 5, targets: 1, holds: 1, parts: [{ target: UWI, month: '2024-01', rows: 5, runId: night }] },
  ]);
  expect((await release('operate', { rows: 5 })).status).toBe(403);
  expect(await answerOf(await release('delete', { rows: 4 }))).toMatchObject([409, { code: 'not-confirmed' }]);

  const first = await release('delete', { rows: 5 }, 'once');
  expect(first.status).toBe(202);
  const { runId } = started.parse(await first.json());
  expect(await answerOf(await release('delete', { rows: 5 }, 'once'))).toMatchObject([202, { runId, isRepeat: true }]);
  expect((await release('delete', { rows: 4 }, 'once')).status).toBe(422);
  expect(await answerOf(await release('delete', { rows: 5 }))).toMatchObject([
    409,
    { code: 'release-under-way', detail: `run ${runId} releases these rows already` },
  ]);
  expect(await answerOf(await release('delete', { rows: 5 }, undefined, runId))).toMatchObject([
    409,
    { code: 'run-not-ended' },
  ]);

  const worked = await home.here(['runs', 'retry', runId, '--inline']);
  expect(worked.stdout).toMatch(/removed +5\b/);
  for (const ended of [night, of]) {
    expect(await answerOf(await release('delete', { rows: 5 }, undefined, ended))).toMatchObject([
      409,
      { code: 'nothing-held' },
    ]);
  }
});
