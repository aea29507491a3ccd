/** The pages as a browser asks for them: what they show to whom, and what comes from outside stays text. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { januaryRows, UWI } from '../support/testing-server-requests.ts';

const hostile = `"><script>alert(1)</script>' \u202Egnihton`;
const long = 'x'.repeat(300);
const wide = '井戸 بئر';
const wells = [UWI, hostile, long, wide];
const html = { accept: 'text/html,*/*' };

let served: ServedInstallation;
let exportId = '';
let pushId = '';
let planId = '';

beforeAll(async () => {
  served = await serveInstallation({
    setup: {
      data: givenDaily(wells.flatMap((uwi) => januaryRows(10, uwi))),
      assets: { equipment: { 'EQ 1': [] }, wells: { [hostile]: { wellbores: 1 } } },
    },
    config: 'cleanup: { maxShareOfWellsPercent: 100 }\n',
  });
  exportId = await startedBy('/api/v1/runs', { json: { export: 'daily-production', uwis: [...wells, 'none'] } });
  const body = 'sourceNetworkId,sourceId,enabled\nN,P1,true\nN,P2,<b>maybe</b>\n';
  pushId = await startedBy('/api/v1/pushes?name=%3Cb%3Epipes%3C%2Fb%3E.csv', {
    body,
    headers: { 'content-type': 'text/csv' },
  });
  const plan = await served.server.ask('/api/v1/plans', {
    token: 'operate',
    json: { targets: [{ kind: 'wellbores', well: hostile }], includeProducing: true },
  });
  planId = z.object({ planId: z.string() }).parse(await plan.json()).planId;
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

async function startedBy(path: string, how: Parameters<typeof served.server.ask>[1]): Promise<string> {
  const answer = await served.server.ask(path, { token: 'operate', ...how });
  const { runId } = z.object({ runId: z.string() }).parse(await answer.json());
  await vi.waitFor(
    async () => {
      const run: unknown = await (await served.server.ask(`/api/v1/runs/${runId}`, { token: 'read' })).json();
      expect(run).toMatchObject({ state: 'done' });
    },
    { timeout: 60_000, interval: 50 },
  );
  return runId;
}

async function pageOf(path: string, token = 'read'): Promise<string> {
  const answer = await served.server.ask(path, { token, headers: html });
  expect([path, answer.status]).toEqual([path, 200]);
  expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'");
  expect(answer.headers.get('x-frame-options')).toBe('DENY');
  return answer.text();
}

function everyPage(): readonly string[] {
  return [
    '/',
    '/runs',
    '/runs?state=done&job=push+network-pipes',
    `/runs?well=${encodeURIComponent(hostile)}&by=%3Cb%3E`,
    '/start',
    `/runs/${exportId}`,
    `/runs/${pushId}`,
    '/coverage',
    '/coverage/stale',
    '/coverage/unknown',
    ...wells.map((uwi) => `/wells/${encodeURIComponent(uwi)}`),
    '/wells/none',
    '/push',
    '/cleanup',
    `/cleanup/${planId}`,
    '/schedules',
    '/service',
  ];
}

describe('every page', () => {
  test('keeps what comes from outside text, and is whole HTML', async () => {
    for (const path of everyPage()) {
      const page = await pageOf(path, 'delete');
      expect(page, path).toMatch(/^<!doctype html>.*<\/html>\s*$/is);
      expect(page, path).not.toContain('<script>alert');
      expect(page, path).not.toContain('<b>');
      expect(page, path).not.toMatch(/<script(?![^>]* src=)/);
      expect(page, path).not.toMatch(/ style=| on[a-z]+=/);
    }
  });

  test('offers a reader nothing to change, and an operator no deletion', async () => {
    for (const path of everyPage()) {
      expect(await pageOf(path), path).not.toContain('data-asks');
      expect(await pageOf(path, 'operate'), path).not.toContain('/apply');
    }
    expect(await pageOf(`/cleanup/${planId}`, 'delete')).toContain(`POST /api/v1/plans/${planId}/apply`);
  });

  test('makes each page with a key of its own, which its live part keeps', async () => {
    const keyOf = (page: string): string | undefined => /data-key="([^"]+)"/.exec(page)?.[1];
    const [first, second] = [await pageOf('/push', 'operate'), await pageOf('/push', 'operate')];
    expect(keyOf(first)).toMatch(/^[\da-f-]{36}$/);
    expect(keyOf(first)).not.toBe(keyOf(second));
  });
});

describe('a page', () => {
  test('says what there is no run, plan or page of, and what to do where one is', async () => {
    for (const path of ['/runs/20200101-000000-000000', '/cleanup/none', '/nowhere']) {
      const answer = await served.server.ask(path, { token: 'read', headers: html });
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.text()).toMatch(/there is no|no run/i);
    }
  });

  test('leads a stranger to the page where one signs in, and back', async () => {
    const answer = await served.server.ask('/runs?state=done', { headers: html });
    expect(new URL(answer.url).pathname).toBe('/sign-in');
    expect(await answer.text()).toContain('value="/runs?state=done"');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const post = (body: string) =>
      fetch(`${served.server.url}/sign-in`, { method: 'POST', headers: form, body, redirect: 'manual' });
    expect((await post('token=wrong&to=/runs')).status).toBe(401);
    const signedIn = await post('token=read&to=/runs');
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/runs']);
    expect(signedIn.headers.get('set-cookie')).toMatch(
      /^wellsync_session=[\w-]{43}; Path=\/; Max-Age=50400; HttpOnly; SameSite=Lax$/,
    );
    for (const elsewhere of ['//evil.example', 'https://evil.example', String.raw`/\evil.example`]) {
      const led = await post(`token=read&to=${encodeURIComponent(elsewhere)}`);
      expect(led.headers.get('location')).toBe('/');
    }
  });

  test('bounds the attempts to sign in', async () => {
    await using another = await serveInstallation({ works: false });
    const post = () =>
      fetch(`${another.server.url}/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'token=guess',
      });
    const statuses = new Set<number>();
    for (let attempt = 0; attempt < 40; attempt += 1) statuses.add((await post()).status);
    expect([...statuses]).toEqual([401, 429]);
  });

  test('has a live part that is sent again only when it has changed', async () => {
    const live = (etag = '') =>
      served.server.ask(`/runs/${exportId}/live`, { token: 'read', headers: { 'if-none-match': etag } });
    const first = await live();
    expect([first.status, first.headers.get('x-ended')]).toEqual([200, 'true']);
    expect((await live(first.headers.get('etag') ?? '')).status).toBe(304);
  });
});

test('a run shows the last lines of the log about it', async () => {
  const { runLog } = await served.server.app.queue('prompt');
  const line = (msg: string, fields: object = {}): string =>
    JSON.stringify({ level: 'warn', time: '2026-03-01T02:15:00.000Z', pid: 1, runId: exportId, msg, ...fields });
  await runLog.append(exportId, [
    ...Array.from({ length: 205 }, (_, index) => line(`line ${index}.`)),
    line('<b>last</b>', { well: hostile }),
  ]);
  expect(await runLog.read(exportId)).toHaveLength(200);
  const page = await pageOf(`/runs/${exportId}`);
  expect(page).toContain('200 lines, the latest first');
  expect(page).toContain('&lt;b>last&lt;/b>');
  expect(page).not.toContain('line 5.');
});

test('the overview names a failed run, and a plan its targets', async () => {
  await using another = await serveInstallation({ works: true });
  const start = await another.server.ask('/api/v1/runs', {
    token: 'operate',
    json: { export: 'daily-production', uwis: ['..'] },
  });
  const { runId } = z.object({ runId: z.string() }).parse(await start.json());
  const read = async (path: string): Promise<string> =>
    (await another.server.ask(path, { token: 'read', headers: html })).text();
  await vi.waitFor(async () => expect(await read('/')).toContain('1 failed'), { timeout: 60_000, interval: 100 });
  expect(await read('/')).toContain(`/runs/${runId}`);
  const plan = await pageOf(`/cleanup/${planId}`);
  expect(plan).toContain('wellbores of well');
  expect(plan).toContain('are deleted as well');
});

test('a change by cookie is taken from the pages of this server alone', async () => {
  const { url } = served.server;
  const cookie = await served.server.signIn('operate');
  const release = async (headers: Readonly<Record<string, string>>): Promise<number> => {
    const answer = await fetch(`${url}/api/v1/service/release`, {
      method: 'POST',
      headers: { cookie, ...headers },
    });
    await answer.body?.cancel();
    return answer.status;
  };
  expect(await release({ origin: url, 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await release({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await release({ origin: 'null' })).toBe(403);
});

test('what pages load comes from this server, and is asked for again only when it has changed', async () => {
  for (const name of [
    'console.css',
    'console.js',
    'coverage.js',
    'start.js',
    'well.js',
    'icon.svg',
    'uPlot.esm.js',
    'uPlot.min.css',
  ]) {
    const file = await served.server.ask(`/static/${name}`);
    expect([name, file.status]).toEqual([name, 200]);
    expect(await file.text()).not.toMatch(/@import|url\(["']?https?:/);
    const again = await served.server.ask(`/static/${name}`, {
      headers: { 'if-none-match': file.headers.get('etag') ?? '' },
    });
    expect([name, again.status]).toEqual([name, 304]);
  }
});

test('the raw queues are shown to an operator, from this server alone, and changed by nobody', async () => {
  const page = await served.server.ask('/queues', { token: 'operate', headers: html });
  expect(page.status).toBe(200);
  expect(await page.text()).not.toMatch(/(?:href|src)="https?:/);
  const queues = await served.server.ask('/queues/api/queues', { token: 'operate' });
  const { queues: listed } = z
    .object({ queues: z.array(z.object({ name: z.string(), readOnlyMode: z.boolean() })) })
    .parse(await queues.json());
  expect(listed.map(({ readOnlyMode }) => readOnlyMode)).toEqual([true, true, true, true]);
  const [{ name } = { name: '' }] = listed;
  for (const path of [`/queues/api/queues/${name}/pause`, `/queues/api/queues/${name}/empty`]) {
    const refused = await served.server.ask(path, { method: 'PUT', token: 'delete' });
    expect([path, refused.status]).toEqual([path, 405]);
  }
});

test('a run offers the list of unknown wells where they are on it: of daily production, not of equipment', async () => {
  const equipment = ['EQ 1', 'late'];
  const seriesId = await startedBy('/api/v1/runs', { json: { export: 'time-series', equipment } });
  expect(await pageOf(`/runs/${exportId}`)).toContain('Show unknown wells');
  const page = await pageOf(`/runs/${seriesId}`);
  expect(page).toContain('does not know late (404)');
  expect(page).not.toContain('Show unknown wells');
});

test('a file is checked over HTTP: nothing is sent and nothing kept', async () => {
  const body = 'sourceNetworkId,sourceId,enabled\nN,P7,true\nN,P8,perhaps\n';
  const answer = await served.server.ask('/api/v1/pushes?name=a.csv&dryRun=true', {
    token: 'operate',
    body,
    headers: { 'content-type': 'text/csv' },
  });
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    { file: 'a.csv', dryRun: true, counts: { rows: 2, sendable: 1, rejectedByUs: 1 }, balance: { balanced: true } },
  ]);
  const runs = await served.server.ask('/api/v1/runs?job=push+network-pipes', { token: 'read' });
  expect(z.object({ runs: z.array(z.unknown()) }).parse(await runs.json()).runs).toHaveLength(1);
});

test('the service is shown, and what holds it back is lifted by an operator', async () => {
  const shown = await served.server.ask('/api/v1/service', { token: 'read' });
  expect(await shown.json()).toMatchObject({ service: served.service.url, hold: null, outage: null });
  const released = await served.server.ask('/api/v1/service/release', { method: 'POST', token: 'operate' });
  expect([released.status, await released.json()]).toEqual([200, { hold: null, outage: null }]);
});
