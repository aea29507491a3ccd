/** Silent wells are read again from the overview, all of them, however many there are. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Observation } from '../../src/core/alerts/alert.ts';
import { serveInstallation } from '../support/served-install.ts';

test('the wells of all alerts of one cause are read again, also those that a page leaves out', async () => {
  await using served = await serveInstallation({ works: false });
  const { server } = served;
  const uwis = Array.from({ length: 1_234 }, (_, index) => `well ${index}`);
  const found = uwis.map((target) => ({
    target,
    severity: 'warning' as const,
    cause: 'silent',
    summary: 'is silent',
    detail: {},
    size: 1,
  }));
  const about = { kind: 'well-silent', job: null, targetKind: 'well', observed: uwis, found } as const;
  const other: Observation = {
    ...about,
    observed: ['apart'],
    found: [{ ...found[0], target: 'apart', cause: 'plugged' } as (typeof found)[number]],
  };
  await server.app.ledger.alerts.observe([about, other], { by: 'test', atMs: Date.now() });
  const page = await (await server.ask('/', { token: 'operate' })).text();
  expect(page).toContain('Read all of them again now');
  const likeAlert = /&quot;likeAlert&quot;:&quot;(\w+)&quot;/g;
  const ids = [...page.matchAll(likeAlert)].map(([, id]) => id);
  expect(ids).toHaveLength(2);
  const dryRuns = ids.map(async (id) => {
    const json = { export: 'daily-production', likeAlert: id, dryRun: true };
    const answer = await server.ask('/api/v1/runs', { token: 'operate', json });
    return z.object({ targets: z.number() }).parse(await answer.json()).targets;
  });
  expect((await Promise.all(dryRuns)).toSorted((one, another) => one - another)).toEqual([1, 1_234]);
  const refused = await server.ask('/api/v1/runs', {
    token: 'operate',
    json: { export: 'daily-production', likeAlert: 'none' },
  });
  expect([refused.status, await refused.json()]).toMatchObject([400, { detail: 'there is no alert none' }]);
});
