/** Search, what a wrong name of a well leads to, and answers as they are sent. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { smallField } from '../support/cleanup-cli.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { januaryRows } from '../support/testing-server-requests.ts';

const wells = ['15/9-F-12', '15/9-F-14', '24/4-A-120'];
const html = { accept: 'text/html' };
let served: ServedInstallation;
let runId = '';
let planId = '';

beforeAll(async () => {
  served = await serveInstallation({
    setup: { data: givenDaily(wells.flatMap((uwi) => januaryRows(3, uwi))), assets: smallField() },
    config: 'cleanup: { maxShareOfWellsPercent: 100 }\n',
  });
  runId = await done('/api/v1/runs', { json: { export: 'daily-production', uwis: [...wells, 'gone'] } });
  await done('/api/v1/pushes?name=Pipes%20of%20May.csv', {
    body: 'sourceNetworkId,sourceId\nN,P1\n',
    headers: { 'content-type': 'text/csv' },
  });
  const file = await served.server.ask('/api/v1/plans/file?name=targets.csv', {
    method: 'POST',
    token: 'operate',
    body: 'kind,well,equipment,source_id\nwellbores,spared,,\n',
    headers: { 'content-type': 'text/csv' },
  });
  planId = z.object({ planId: z.string() }).parse(await file.json()).planId;
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

async function done(path: string, how: Parameters<typeof served.server.ask>[1]): Promise<string> {
  const answer = await served.server.ask(path, { method: 'POST', token: 'operate', ...how });
  const started = z.object({ runId: z.string() }).parse(await answer.json());
  await vi.waitFor(
    async () => {
      const run = await served.server.ask(`/api/v1/runs/${started.runId}`, { token: 'read' });
      expect(await run.json()).toMatchObject({ state: 'done' });
    },
    { timeout: 60_000, interval: 50 },
  );
  return started.runId;
}

async function found(text: string): Promise<unknown> {
  const query = new URLSearchParams({ text });
  return (await served.server.ask(`/api/v1/search?${query.toString()}`, { token: 'read' })).json();
}

test('finds wells, runs, pushed files and plans by any part of their names, in any case', async () => {
  await vi.waitFor(async () => expect(await found('may.CSV')).toMatchObject({ found: [{ kind: 'file' }] }), 20_000);
  expect(await found('/9-f-1')).toEqual({
    found: wells.slice(0, 2).map((uwi) => ({ kind: 'well', id: uwi, name: uwi, remark: null })),
  });
  expect(await found('GONE')).toMatchObject({ found: [{ kind: 'well', id: 'gone' }] });
  expect(await found(runId.slice(4))).toMatchObject({
    found: [{ kind: 'run', id: runId, remark: expect.stringMatching(/^Daily production: .*; done, \d{4}-/) }],
  });
  expect(await found(planId.slice(0, 6).toUpperCase())).toMatchObject({ found: [{ kind: 'plan', id: planId }] });
  expect(await found('nothing has this')).toEqual({ found: [] });
});

test('a search without JavaScript leads to what has just that name, and else to a page of results', async () => {
  const page = (text: string) =>
    fetch(`${served.server.url}/search?${new URLSearchParams({ text }).toString()}`, {
      headers: { ...html, authorization: 'Bearer read' },
      redirect: 'manual',
    });
  const exact = await page('24/4-a-120');
  expect([exact.status, exact.headers.get('location')]).toEqual([303, '/wells/24%2F4-A-120']);
  const several = await (await page('15/9')).text();
  expect(several).toContain('2 names with');
  expect(several).toContain('href="/wells/15%2F9-F-14"');
  expect(await (await page('15/9-F-13')).text()).toMatch(/Nothing has this.*Nearest names.*15%2F9-F-12/s);
});

test('a well that was never read is 404 with the nearest names, and one that the service did not know has a page', async () => {
  const never = await served.server.ask('/wells/15%2F9-f-15', { token: 'read', headers: html });
  expect(never.status).toBe(404);
  expect(await never.text()).toMatch(/No well 15\/9-f-15 was ever read\..*15%2F9-F-1[24]/s);
  expect((await served.server.ask('/wells/gone', { token: 'read', headers: html })).status).toBe(200);
});

test('a plan is made from a file of targets', async () => {
  const plan = await served.server.ask(`/api/v1/plans/${planId}`, { token: 'read' });
  expect(await plan.json()).toMatchObject({ state: 'planned', targets: [{ kind: 'wellbores', ownerId: 'spared' }] });
});

test('a file of targets with a fault is refused with its line, in sentences', async () => {
  const answer = await served.server.ask('/api/v1/plans/file?name=mine.csv', {
    method: 'POST',
    token: 'operate',
    body: 'kind,well,equipment,source_id\nwellbores,,,\n',
    headers: { 'content-type': 'text/csv' },
  });
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { detail: 'mine.csv has 1 row with a fault', issues: ['line 2: wellbores need a well'] },
  ]);
});

test('answers are compressed for who takes them so, and a first visit is below 60 kB', async () => {
  const bytesOf = async (path: string, encoding: string): Promise<number> => {
    const answer = await fetch(`${served.server.url}${path}`, {
      headers: { ...html, authorization: 'Bearer read', 'accept-encoding': encoding },
    });
    expect([path, answer.headers.get('content-encoding')]).toEqual([path, encoding === 'identity' ? null : encoding]);
    if (encoding !== 'identity') expect(answer.headers.get('vary')).toContain('accept-encoding');
    return (await answer.arrayBuffer()).byteLength;
  };
  for (const encoding of ['br', 'gzip']) {
    for (const path of ['/', '/api/v1/runs', '/static/console.css']) await bytesOf(path, encoding);
  }
  let first = 0;
  for (const path of ['/', '/static/console.css', '/static/console.js']) first += await bytesOf(path, 'identity');
  expect(first).toBeLessThan(60_000);
});

test('events are not compressed: nothing keeps them back', async () => {
  const leaving = new AbortController();
  const stream = await fetch(`${served.server.url}/api/v1/events`, {
    headers: { authorization: 'Bearer read', 'accept-encoding': 'br, gzip' },
    signal: leaving.signal,
  });
  expect(stream.headers.get('content-encoding')).toBeNull();
  leaving.abort();
});
