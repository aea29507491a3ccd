/** A cleanup that was stopped over HTTP: who may go on with it, how, and what the audit and the pages say of it. */
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { hashOfToken } from '../../src/app/access/sessions.ts';
import { equipment, smallField, well } from '../support/cleanup-cli.ts';
import { tokensOfRoles } from '../support/console.ts';
import { schedulesByRole, writeSelection } from '../support/schedules-by-role.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';

const html = { accept: 'text/html,*/*' };
const targets = [
  { kind: 'wellbores', well },
  { kind: 'micro-strings', well },
  { kind: 'time-series', equipment, sourceId: 'a b' },
];
const anna = { name: 'anna', role: 'delete', sha256: hashOfToken('anna') } as const;

const serve = () =>
  serveInstallation({
    works: false,
    setup: { assets: smallField() },
    config: schedulesByRole,
    http: { tokens: [...tokensOfRoles, anna] },
  });

async function answerOf(response: Response): Promise<readonly [number, unknown]> {
  return [response.status, await response.json()];
}

/** A run of three targets that the role delete began, and stopped before a worker took it. */
async function stoppedRun({ server }: ServedInstallation): Promise<string> {
  const plan = await server.ask('/api/v1/plans', { token: 'operate', json: { targets, includeProducing: true } });
  const { planId } = z.object({ planId: z.string() }).parse(await plan.json());
  const applied = await server.ask(`/api/v1/plans/${planId}/apply`, { token: 'delete', json: { targets: 3 } });
  const { runId } = z.object({ runId: z.string() }).parse(await applied.json());
  await server.ask(`/api/v1/runs/${runId}/cancel`, { method: 'POST', token: 'delete' });
  await ended(server, runId, 'cancelled');
  return runId;
}

async function ended(server: ServedInstallation['server'], runId: string, state: string): Promise<void> {
  await vi.waitFor(
    async () => {
      expect(await (await server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json()).toMatchObject({ state });
    },
    { timeout: 60_000, interval: 50 },
  );
}

test('G6: the role operate goes on with no deletion; the role delete does by the number of open targets, and is named', async () => {
  await using served = await serve();
  const { server, service, home } = served;
  const runId = await stoppedRun(served);
  const retry = (token: string, json?: unknown) =>
    server.ask(`/api/v1/runs/${runId}/retry`, { method: 'POST', token, ...(json === undefined ? {} : { json }) });
  for (const json of [undefined, { targets: 3 }]) {
    expect(await answerOf(await retry('operate', json))).toMatchObject([403, { code: 'forbidden' }]);
  }
  for (const json of [undefined, {}, { targets: 2 }, { targets: 4 }]) {
    expect(await answerOf(await retry('anna', json))).toMatchObject([409, { code: 'not-confirmed' }]);
  }
  expect((await retry('anna', { targets: '3' })).status).toBe(400);
  expect(service.state.deletions()).toEqual([]);
  expect(await answerOf(await server.ask(`/api/v1/runs/${runId}`, { token: 'read' }))).toMatchObject([
    200,
    { state: 'cancelled', retriedBy: null },
  ]);
  // Its run has the plan, and has deleted nothing: the plan says so, and is applied by no other.
  const { plans } = (await (await server.ask('/api/v1/plans', { token: 'read' })).json()) as {
    readonly plans: readonly { readonly planId: string }[];
  };
  const planId = plans[0]?.planId ?? '';
  const refusal = `plan ${planId} belongs to run ${runId}, which was cancelled before it was planned: nothing was deleted`;
  expect(await answerOf(await server.ask(`/api/v1/plans/${planId}`, { token: 'read' }))).toMatchObject([
    200,
    { state: 'claimed', refusal },
  ]);
  const page = await (await server.ask(`/cleanup/${planId}`, { token: 'delete' })).text();
  expect(page).toContain(refusal);
  expect(page).not.toContain(`POST /api/v1/plans/${planId}/apply`);

  expect(await answerOf(await retry('anna', { targets: 3 }))).toMatchObject([202, { runId }]);
  expect((await home.here(['runs', 'retry', runId, '--inline'])).stdout).toContain('3 targets = 3 deleted');
  expect(service.state.deletions()).toHaveLength(3);
  expect(await answerOf(await retry('anna'))).toMatchObject([409, { code: 'nothing-to-retry' }]);
  const audit = JSON.parse((await home.here(['audit', 'deletions', '--json'])).stdout) as unknown;
  const row = { outcome: 'deleted', requested_by: 'delete (token)', retried_by: 'anna (token)' };
  expect(audit).toMatchObject([row, row, row]);
  expect(JSON.stringify(audit)).not.toContain('operate');
  const verified = JSON.parse((await home.here(['audit', 'verify', '--json'])).stdout) as unknown;
  expect(verified).toMatchObject({ intact: true, retries: [{ by: 'anna (token)', rows: 6 }] });
});

test('G6: no page offers what the role of its reader may not do, and the retry of a cleanup asks for its number', async () => {
  await using served = await serve();
  const { server, home } = served;
  await writeSelection(home);
  const runId = await stoppedRun(served);
  await server.app.ledger.runs.create({
    runId: '20240331-061500-aaaaaa',
    job: 'export daily-production',
    params: { nowMs: 0, allowShrink: true },
    service: 'https://service.example',
    actor: 'somebody',
    requestedAtMs: 0,
  });
  await server.ask('/api/v1/runs/20240331-061500-aaaaaa/cancel', { method: 'POST', token: 'operate' });
  await ended(server, '20240331-061500-aaaaaa', 'cancelled');
  const plan = await server.ask('/api/v1/plans', { token: 'operate', json: { targets, includeProducing: true } });
  const { planId } = z.object({ planId: z.string() }).parse(await plan.json());
  const paths = ['/', '/runs', `/runs/${runId}`, `/runs/${runId}/live`, '/runs/20240331-061500-aaaaaa', '/coverage'];
  const others = ['/push', '/cleanup', `/cleanup/${planId}`, '/service', '/schedules'];
  const offered = async (token: string): Promise<ReadonlySet<string>> => {
    const found = new Set<string>();
    for (const path of [...paths, ...others]) {
      const answer = await server.ask(path, { token, headers: html });
      expect([path, answer.status]).toEqual([path, 200]);
      for (const [, asks = ''] of (await answer.text()).matchAll(/data-asks="([^"]+)"/g)) found.add(asks);
    }
    return found;
  };
  const apply = `POST /api/v1/plans/${planId}/apply`;
  const retry = `POST /api/v1/runs/${runId}/retry`;
  const retryShrinking = 'POST /api/v1/runs/20240331-061500-aaaaaa/retry';
  const ofSchedules = (...names: readonly string[]) => names.map((name) => `POST /api/v1/schedules/${name}`);
  expect(await offered('read')).toEqual(new Set());
  const before = [await offered('operate'), await offered('delete')];
  expect([...(before[0] ?? [])]).not.toContain('POST /api/v1/schedules/apply');
  expect([...(before[1] ?? [])]).toContain('POST /api/v1/schedules/apply');

  await server.ask('/api/v1/schedules/apply', { method: 'POST', token: 'delete' });
  await server.ask('/api/v1/schedules/shrinking/pause', { method: 'POST', token: 'operate' });
  const byOperate = await offered('operate');
  const byDelete = await offered('delete');
  const says = async (token: string): Promise<number> => {
    const schedules = await (await server.ask('/schedules', { token, headers: html })).text();
    return schedules.split('The role delete runs and resumes it').length - 1;
  };
  expect([await says('read'), await says('operate'), await says('delete')]).toEqual([0, 2, 0]);
  expect([...byOperate].toSorted()).toEqual(
    [
      'POST /api/v1/plans',
      'POST /api/v1/plans/file',
      'POST /api/v1/pushes',
      'POST /api/v1/runs',
      'POST /api/v1/service/release',
      ...ofSchedules('nightly/pause', 'nightly/trigger', 'retired/pause'),
    ]
      .filter((asks) => byDelete.has(asks))
      .toSorted(),
  );
  const ofDelete = [apply, retry, retryShrinking, ...ofSchedules('retired/trigger', 'shrinking/resume')];
  expect([...byDelete]).toEqual(expect.arrayContaining([...ofDelete, ...ofSchedules('shrinking/trigger')]));
  // What a page offers is not refused for the role: neither more nor less than the routes say.
  for (const asks of byDelete) {
    if (byOperate.has(asks)) continue;
    const [, path = ''] = asks.split(' ');
    const answer = await server.ask(path, { token: 'operate', method: 'POST' });
    await answer.body?.cancel();
    expect([asks, answer.status]).toEqual([asks, 403]);
  }
  const page = await (await server.ask(`/runs/${runId}`, { token: 'delete', headers: html })).text();
  expect(page).toMatch(/number of targets that are left \(3\)<input name="targets" data-type="number"/);
});
