/** Schedules over HTTP: shown, applied from the configuration, triggered, paused and resumed. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { smallField } from '../support/cleanup-cli.ts';
import { serveInstallation } from '../support/served-install.ts';
import { UWI } from '../support/testing-server-requests.ts';

const nightly = `{ cron: "15 2 * * *", timeZone: Europe/Oslo, job: export daily-production, parameters: { wells: ["${UWI}"] } }`;
const retired = '{ cron: "0 7 1 * *", timeZone: UTC, job: cleanup, parameters: { selection: retired } }';
const selection = `cleanup: { maxShareOfWellsPercent: 100, selections: { retired: { file: retired.csv, maxTargets: 1, maxShareOfWellsPercent: 100 } } }\n`;
const configOf = (revision: number, entries: Readonly<Record<string, string>>): string =>
  `${selection}schedules:\n  revision: ${revision}\n  entries:\n${Object.entries(entries)
    .map(([name, entry]) => `    ${name}: ${entry}\n`)
    .join('')}`;

const triggered = z.object({ runId: z.string(), isRepeat: z.boolean(), isUnderWay: z.boolean() });

async function answerOf(response: Response): Promise<readonly [number, unknown]> {
  return [response.status, await response.json()];
}

test('schedules are applied from the configuration as it is now, by revision, and shown with what comes next', async () => {
  await using served = await serveInstallation({ works: false, config: selection });
  const { home, server } = served;
  const post = (path: string, token = 'delete') => server.ask(`/api/v1/schedules/${path}`, { method: 'POST', token });
  const list = async () => answerOf(await server.ask('/api/v1/schedules', { token: 'read' }));
  expect(await list()).toMatchObject([200, { revision: null, configuredRevision: null, schedules: [] }]);
  expect(await answerOf(await post('apply'))).toMatchObject([400, { detail: expect.stringContaining('says nothing') }]);

  await home.write('wellsync.yaml', configOf(2, { nightly, retired }));
  expect(await list()).toMatchObject([200, { revision: null, configuredRevision: 2 }]);
  expect(await answerOf(await post('apply'))).toEqual([
    200,
    { isRepeat: false, revision: 2, schedules: ['nightly', 'retired'], isQueued: true },
  ]);
  expect(await answerOf(await post('apply'))).toMatchObject([200, { isRepeat: true }]);
  await home.write('wellsync.yaml', configOf(1, { nightly }));
  expect(await answerOf(await post('apply'))).toMatchObject([
    409,
    { code: 'schedules-revision', hint: expect.stringContaining('schedules.revision to 3') },
  ]);
  await home.write('wellsync.yaml', 'schedules: { revision: much }\n');
  expect(await answerOf(await post('apply'))).toMatchObject([
    400,
    { issues: expect.arrayContaining([expect.stringContaining('schedules.revision')]) },
  ]);
  const [status, shown] = await list();
  expect([status, shown]).toMatchObject([
    200,
    {
      revision: 2,
      schedules: [
        { name: 'nightly', job: 'export daily-production', next: expect.stringMatching(/T0[01]:15:00/), runs: [] },
        { name: 'retired', job: 'cleanup', parameters: { selection: 'retired' } },
      ],
    },
  ]);
});

test('G11: a configuration that names another service or warehouse by now is not applied', async () => {
  await using served = await serveInstallation({ works: false, config: configOf(1, { nightly }) });
  const { home, server } = served;
  await home.write('wellsync.yaml', `service: { id: another }\n${configOf(2, { nightly })}`);
  const response = await server.ask('/api/v1/schedules/apply', { method: 'POST', token: 'operate' });
  expect(await answerOf(response)).toMatchObject([400, { detail: expect.stringContaining('another service') }]);
  expect((await server.app.ledger.schedules.read()).revision).toBeUndefined();
});

test('G1: a trigger starts one run of the same work at a time, and one by key; a pause names who made it', async () => {
  await using served = await serveInstallation({ works: false, config: configOf(1, { nightly, retired }) });
  const { server } = served;
  const post = (path: string, { token = 'operate', key = '' } = {}) =>
    server.ask(`/api/v1/schedules/${path}`, {
      method: 'POST',
      token,
      headers: key === '' ? {} : { 'idempotency-key': key },
    });
  expect((await post('apply', { token: 'delete' })).status).toBe(200);
  expect(await answerOf(await post('nightli/trigger'))).toMatchObject([404, { code: 'no-such-schedule' }]);

  const byKey = await Promise.all(
    [1, 2].map(async () => triggered.parse(await (await post('nightly/trigger', { key: 'a' })).json())),
  );
  const runId = byKey[0]?.runId ?? '';
  expect(byKey.map((each) => each.runId)).toEqual([runId, runId]);
  expect(await answerOf(await post('nightly/trigger'))).toMatchObject([202, { runId, isUnderWay: true }]);
  const run: unknown = await (await server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json();
  expect(run).toMatchObject({ job: 'export daily-production', requestedBy: 'operate (token)' });
  await server.ask(`/api/v1/runs/${runId}/cancel`, { method: 'POST', token: 'operate' });
  // The run has ended: the same request is known still, and another one starts another.
  expect(await answerOf(await post('nightly/trigger', { key: 'a' }))).toMatchObject([202, { runId, isRepeat: true }]);
  const [, next] = await answerOf(await post('nightly/trigger'));
  expect(next).toMatchObject({ runId: expect.not.stringMatching(runId), isUnderWay: false });
  const byHand = 'operate (token)';
  expect(await answerOf(await server.ask('/api/v1/schedules', { token: 'read' }))).toMatchObject([
    200,
    { schedules: [{ name: 'nightly', runs: [{ byHand }, { runId, state: 'cancelled', byHand }] }, { runs: [] }] },
  ]);
  const page = await (await server.ask('/schedules', { token: 'read' })).text();
  expect(page.match(/by hand/g)).toHaveLength(2);

  expect(await answerOf(await post('nightly/pause'))).toMatchObject([200, { paused: { by: 'operate (token)' } }]);
  expect(await answerOf(await post('nightly/pause', { token: 'delete' }))).toMatchObject([
    200,
    { paused: { by: 'operate (token)' } },
  ]);
  expect(await answerOf(await post('nightly/resume'))).toMatchObject([200, { paused: null }]);
});

test('G6: a schedule that deletes is triggered and resumed by the role delete alone', async () => {
  await using served = await serveInstallation({
    works: false,
    setup: { assets: smallField() },
    config: configOf(1, { retired }),
  });
  const { home, server } = served;
  await home.write('retired.csv', 'kind,well,equipment,source_id\n');
  const post = (path: string, token: string) => server.ask(`/api/v1/schedules/${path}`, { method: 'POST', token });
  expect(await answerOf(await post('apply', 'operate'))).toMatchObject([403, { code: 'forbidden' }]);
  expect((await server.app.ledger.schedules.read()).schedules).toEqual([]);
  expect((await post('apply', 'delete')).status).toBe(200);
  // The same ones again let nothing begin that might not before.
  expect((await post('apply', 'operate')).status).toBe(200);
  expect((await post('retired/pause', 'operate')).status).toBe(200);
  for (const change of ['trigger', 'resume']) {
    expect(await answerOf(await post(`retired/${change}`, 'operate'))).toMatchObject([403, { code: 'forbidden' }]);
  }
  expect((await server.app.ledger.runs.list({ limit: 1 })).runs).toEqual([]);
  expect(await answerOf(await post('retired/resume', 'delete'))).toMatchObject([200, { paused: null }]);
});
