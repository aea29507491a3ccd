/** Cleanups over HTTP: planned by an operator, applied by whoever may delete and types the number. */
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { equipment, smallField, well } from '../support/cleanup-cli.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';

const planned = z.object({ planId: z.string(), counts: z.object({ targets: z.number() }) });
const config = 'cleanup: { maxShareOfWellsPercent: 100 }\n';
const targets = [
  { kind: 'wellbores', well },
  { kind: 'micro-strings', well },
  { kind: 'time-series', equipment, sourceId: 'a b' },
];

const serve = () => serveInstallation({ setup: { assets: smallField() }, config });

async function answerOf(response: Response): Promise<readonly [number, unknown]> {
  return [response.status, await response.json()];
}

async function planOf({ server }: ServedInstallation, body: object = {}): Promise<string> {
  const json = { targets, includeProducing: true, ...body };
  const response = await server.ask('/api/v1/plans', { token: 'operate', json });
  expect(response.status).toBe(201);
  const { planId } = planned.parse(await response.json());
  expect(response.headers.get('location')).toBe(`/api/v1/plans/${planId}`);
  return planId;
}

test('G6: a plan deletes nothing; it is applied once, by the role delete, with the number of its targets', async () => {
  await using served = await serve();
  const { server, service } = served;
  const planId = await planOf(served);
  expect(service.state.deletions()).toEqual([]);
  const shown = await answerOf(await server.ask(`/api/v1/plans/${planId}`, { token: 'read' }));
  expect(shown).toMatchObject([
    200,
    { planId, createdBy: 'operate (token)', state: 'planned', counts: { targets: 3 }, refusal: null },
  ]);
  const apply = (json: unknown, token: string, key = 'a') =>
    server.ask(`/api/v1/plans/${planId}/apply`, { json, token, headers: { 'idempotency-key': key } });
  expect(await answerOf(await apply({ targets: 3 }, 'operate'))).toMatchObject([403, { code: 'forbidden' }]);
  for (const typed of [2, 4, 0]) {
    expect(await answerOf(await apply({ targets: typed }, 'delete', `${typed}`))).toMatchObject([
      409,
      { code: 'not-confirmed' },
    ]);
  }
  expect((await apply({}, 'delete')).status).toBe(400);
  expect(service.state.deletions()).toEqual([]);

  const applied = await apply({ targets: 3 }, 'delete');
  expect(applied.status).toBe(202);
  const { runId } = z.object({ runId: z.string() }).parse(await applied.json());
  await vi.waitFor(
    async () => {
      const run: unknown = await (await server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json();
      expect(run).toMatchObject({ state: 'done', requestedBy: 'delete (token)' });
    },
    { timeout: 60_000 },
  );
  expect(service.state.deletions()).toHaveLength(3);
  // Sent again: the same run. Asked for again: a plan is applied once.
  expect(await answerOf(await apply({ targets: 3 }, 'delete'))).toMatchObject([202, { runId, isRepeat: true }]);
  expect(await answerOf(await apply({ targets: 3 }, 'delete', 'b'))).toMatchObject([
    400,
    { detail: expect.stringContaining('was applied already') },
  ]);
  await vi.waitFor(async () => {
    const later = await answerOf(await server.ask(`/api/v1/plans/${planId}`, { token: 'read' }));
    expect(later).toMatchObject([200, { state: 'applied', refusal: expect.stringContaining('was applied already') }]);
  });
  const { stdout } = await served.home.here(['audit', 'deletions', '--json']);
  expect(stdout).toContain('delete (token)');
  expect(stdout).not.toContain('operate (token)');
});

test('G6: a plan without a target, with a wrong one or over a cap is refused, and a dry run keeps none', async () => {
  await using served = await serve();
  const plan = (json: unknown) => served.server.ask('/api/v1/plans', { token: 'operate', json });
  expect(await answerOf(await plan({ targets: [] }))).toMatchObject([
    422,
    { detail: 'targets is an empty list: it names nothing, and never all' },
  ]);
  const wrong = [{ kind: 'wellbores', equipment }, { kind: 'time-series', well }, ...targets];
  const [status, problem] = await answerOf(await plan({ targets: wrong }));
  const issues = [1, 2].map((place) => expect.stringMatching(`^target ${place}: `) as unknown);
  expect([status, problem]).toMatchObject([400, { issues }]);
  const tooMany = Array.from({ length: 1_001 }, (_, index) => ({ kind: 'wellbores', well: `w${index}` }));
  expect(await answerOf(await plan({ targets: tooMany }))).toMatchObject([400, { code: 'usage' }]);
  const tried = await answerOf(await plan({ targets, includeProducing: true, dryRun: true }));
  expect(tried).toMatchObject([200, { planId: null, state: 'dry run' }]);
  const list = await answerOf(await served.server.ask('/api/v1/plans', { token: 'read' }));
  expect(list).toMatchObject([200, { plans: [], cursor: null }]);
});

test('plans are listed by cursors, the newest first', async () => {
  await using served = await serve();
  const ids: string[] = [];
  for (const target of targets) ids.push(await planOf(served, { targets: [target] }));
  const listed = z.object({ plans: z.array(z.object({ planId: z.string() })), cursor: z.string().nullable() });
  const page = async (query: string) =>
    listed.parse(await (await served.server.ask(`/api/v1/plans?limit=2${query}`, { token: 'read' })).json());
  const first = await page('');
  const second = await page(`&cursor=${first.cursor}`);
  expect([...first.plans, ...second.plans].map(({ planId }) => planId)).toEqual(ids.toReversed());
  expect([first.plans.length, second.plans.length, second.cursor]).toEqual([2, 1, null]);
  expect((await served.server.ask('/api/v1/plans?cursor=x', { token: 'read' })).status).toBe(400);
  expect((await served.server.ask('/api/v1/plans/0000-0000-0000', { token: 'read' })).status).toBe(404);
});
