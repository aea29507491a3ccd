import { describe, expect, it } from 'vitest';
import { type RequestCounts, RequestLog } from '../../../src/testing-server/api/received.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import {
  dailyUrl,
  januaryRows,
  json,
  postPipes,
  ratesOn,
  type ServedRow,
  startWithTenDays,
  UWI,
} from '../../support/testing-server-requests.ts';

const post = (server: TestingServer, path: string, body = ''): Promise<Response> =>
  fetch(`${server.url}/testing/${path}`, { method: 'POST', body });

describe('POST /testing/daily', () => {
  it('POST /testing/daily inserts, replaces by xid and removes rows, line by line', async () => {
    await using server = await startWithTenDays({ maxLimit: 100 });
    const rows = await json<ServedRow[]>(dailyUrl(server, { limit: 100 }));
    const lines = [
      { ...rows[0], uwi: UWI, oilRate: 100 },
      { uwi: UWI, remove: rows[1]?.xid },
      { uwi: UWI, remove: 'nothing' },
      { ...januaryRows(11)[10], uwi: UWI },
      { ...januaryRows(1)[0], uwi: 'new well' },
    ];
    const response = await post(server, 'daily', lines.map((line) => JSON.stringify(line)).join('\n'));
    expect(await response.json()).toEqual({ upserted: 3, removed: 1, unknown: 1 });
    expect(await ratesOn(server, { limit: 100 })).toEqual([100, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(server.state.describe()).toMatchObject({ wells: [UWI, 'new well'], counts: { dailyRows: 11 } });
  });

  it('POST /testing/daily changes nothing when a line is wrong, and names the line', async () => {
    await using server = await startWithTenDays();
    const response = await post(server, 'daily', `${JSON.stringify({ ...januaryRows(20)[19] })}\n{"uwi":7}`);
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'line 2: it is not a JSON object with a text "uwi"' },
    ]);
    expect(server.state.describe().counts.dailyRows).toBe(10);
  });
});

describe('/testing/options', () => {
  it.each(['PATCH', 'POST'])('%s /testing/options sets the given options and keeps the others', async (method) => {
    await using server = await startWithTenDays({ faults: { reset: 0.1 } });
    const body = JSON.stringify({ pageBase: 0, requiredToken: 'secret', faults: { unavailable: 0.2 } });
    const options = await json(`${server.url}/testing/options`, { method, body });
    expect(options).toMatchObject({
      pageBase: 0,
      requiredToken: '(set)',
      defaultLimit: 3,
      faults: { reset: 0.1, unavailable: 0.2 },
    });
    expect(server.state.options.requiredToken).toBe('secret');
  });

  it.each([
    ['{"pageBase":2}', 'pageBase'],
    ['{"pagebase":1}', 'pagebase'],
    ['{"faults":{"rest":1}}', 'rest'],
    ['{"port":1}', 'cannot change while the server runs'],
    ['[]', 'expected object'],
    ['{', 'not JSON'],
  ])('/testing/options refuses %s and changes nothing', async (body, reason) => {
    await using server = await startWithTenDays();
    const before = server.state.options;
    const response = await post(server, 'options', body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(reason);
    expect(server.state.options).toEqual(before);
  });
});

describe('GET /testing/requests', () => {
  it('GET /testing/requests counts by endpoint and status, and lists the last requests', async () => {
    await using server = await startWithTenDays();
    await ratesOn(server, { page: 2 });
    await ratesOn(server, { page: 0 });
    await fetch(`${server.url}/api/none`);
    const counts = await json<RequestCounts>(`${server.url}/testing/requests`);
    expect(counts).toMatchObject({
      total: 3,
      byEndpoint: { 'daily-production': { 200: 1, 400: 1 }, unknown: { 404: 1 } },
      mostAtOneTime: 1,
    });
    expect(counts.recent[0]).toEqual({
      method: 'GET',
      url: '/api/production/daily/15%2F9-F-1%20C?page=2',
      outcome: 200,
    });
  });

  it('GET /testing/requests shows the most concurrent requests', async () => {
    const arrived: (() => void)[] = [];
    await using server = await startWithTenDays({
      // No request is answered before all five have arrived.
      onRequest: () =>
        new Promise((resolve) => {
          arrived.push(() => resolve(undefined));
          if (arrived.length === 5) for (const release of arrived) release();
        }),
    });
    await Promise.all(Array.from({ length: 5 }, () => ratesOn(server)));
    expect(server.state.requests()).toMatchObject({
      mostAtOneTime: 5,
      total: 5,
      byEndpoint: { 'daily-production': { 200: 5 } },
    });
  });

  it('the request log counts the most arrivals within any second', () => {
    let nowMs = 0;
    const log = new RequestLog(() => nowMs);
    for (nowMs of [0, 900, 950, 1000, 1800, 3000]) log.arrive()();
    expect(log.counts()).toMatchObject({ peakPerSecond: 4, mostAtOneTime: 1, total: 6 });
  });
});

it('POST /testing/reset restores the initial state', async () => {
  const assets = { wells: { W: { wellbores: 2 } } };
  await using server = await startTestingServer({ assets, latencyMs: 1 });
  const before = server.state.describe();
  const wellbores = `${server.url}/api/production/well/W/wellbore`;
  await fetch(wellbores, { method: 'DELETE' });
  await postPipes(server, '[{"sourceNetworkId":"N","sourceId":"a"}]');
  await post(server, 'daily', JSON.stringify({ ...januaryRows(1)[0], uwi: 'new' }));
  await post(server, 'options', '{"latencyMs":0}');
  expect(server.state.describe().counts).toMatchObject({
    pipes: 1,
    deletions: 1,
    requests: 2,
    wells: before.counts.wells + 1,
  });

  expect(await (await post(server, 'reset')).json()).toEqual(before);
  expect(await (await fetch(wellbores, { method: 'DELETE' })).text()).toBe('2');
});
