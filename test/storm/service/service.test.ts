/** The service of the storm over HTTP: what it does, and what stands in its log. */
import { describe, expect, test } from 'vitest';
import { equipmentIds, uwis } from './assets.ts';
import { startStormService, type StormService } from './service.ts';
import type { ServiceRequest } from '../evidence.ts';

const daily = (uwi: string, query = ''): string => `/api/production/daily/${encodeURIComponent(uwi)}${query}`;
const seriesOf = (equipment: string): string =>
  `/api/production/netx/equipment/${encodeURIComponent(equipment)}/time-series`;
const wellOf = (id: string): string => `/api/production/well/${encodeURIComponent(id)}`;
const pipePath = '/api/production/network/pipe';
const [uwi = '', equipment = ''] = [uwis[0], equipmentIds[0]];

/** The status and the JSON of an answer, with the newest token unless another is given. */
async function ask(
  service: StormService,
  path: string,
  { token = service.tokens().at(-1), ...init }: RequestInit & { readonly token?: string | undefined } = {},
) {
  const headers = token === undefined || token === '' ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(service.url + path, {
    ...init,
    headers: { ...headers, 'content-type': 'application/json' },
  });
  return { status: response.status, value: (await response.json()) as unknown };
}

const remove = (service: StormService, path: string) => ask(service, path, { method: 'DELETE' });
const push = (service: StormService, pipes: readonly object[], init: RequestInit = {}) =>
  ask(service, pipePath, { method: 'POST', body: JSON.stringify(pipes), ...init });

/** A pipe that the service takes, and whether it has it. */
function aPipe(service: StormService) {
  const pipe = { sourceNetworkId: 'net', sourceId: 'P 1', date: '2026-01-01T00:00:00Z' };
  const hasIt = (): boolean => Object.values(service.log().pipes).some(({ sourceId }) => sourceId === 'P 1');
  return { pipe, hasIt };
}

async function lastRequest(service: StormService): Promise<ServiceRequest | undefined> {
  await service.waitIdle();
  return service.log().requests.at(-1);
}

/** A service whose manner has this answer to a deletion of what is gone. */
async function withGoneAnswer(answer: string): Promise<StormService> {
  for (let seed = 1; ; seed += 1) {
    const service = await startStormService({ seed });
    if (service.manner.goneAnswer === answer) return service;
    await service[Symbol.asyncDispose]();
  }
}

describe('reads', () => {
  test('the same seed is the same service, and another seed another', async () => {
    await using one = await startStormService({ seed: 9 });
    await using same = await startStormService({ seed: 9 });
    await using other = await startStormService({ seed: 10 });
    const of = (service: StormService) => {
      const { manner, timeSeries, microStrings, wellbores, wells } = service.log();
      return {
        manner,
        timeSeries,
        microStrings,
        wellbores,
        wells,
        truth: service.truth.all(),
        tokens: service.tokens(),
      };
    };
    expect(of(same)).toEqual(of(one));
    expect(of(other)).not.toEqual(of(one));
  });

  test('every well is read by its name, page by page, and every request is in the log', async () => {
    await using service = await startStormService({ seed: 3 });
    const { pageBase } = service.manner;
    for (const name of uwis) {
      const read: unknown[] = [];
      for (let page = pageBase; ; page += 1) {
        const { status, value } = await ask(service, daily(name, `?page=${page}&limit=45`));
        expect(status).toBe(200);
        if ((value as readonly unknown[]).length === 0) break;
        read.push(...(value as readonly unknown[]));
      }
      const inOrder = service.manner.order === 'ascending' ? read : read.toReversed();
      expect(inOrder).toEqual(service.truth.recordsOf(name));
      expect((await ask(service, wellOf(name))).value).toEqual(service.log().wells[name]);
    }
    await service.waitIdle();
    const { requests } = service.log();
    expect(new Set(requests.map(({ target }) => target))).toEqual(new Set(uwis));
    expect(requests.every(({ status, token, no }, index) => status === 200 && token === 0 && no === index)).toBe(true);
    expect(requests.every(({ arrivedMs, answeredMs = 0 }) => answeredMs >= arrivedMs)).toBe(true);
    expect(requests[0]?.query).toEqual({ page: String(pageBase), limit: '45' });
  });

  test('unknown wells and equipment are answered 404, a bad query 400', async () => {
    await using service = await startStormService({ seed: 3 });
    const paths = [daily('nobody'), wellOf('nobody'), seriesOf('nobody'), daily(uwi, '?limit=0'), '/other'];
    const answers = await Promise.all(paths.map((path) => ask(service, path)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 400, 404]);
  });

  test('a page is of the truth of its moment', async () => {
    await using service = await startStormService({ seed: 3 });
    const [change] = service.mutate('restated', uwi);
    const { value } = await ask(service, daily(uwi));
    const all = (
      await Promise.all(
        [0, 1, 2, 3, 4, 5].map((page) => ask(service, daily(uwi, `?page=${page + service.manner.pageBase}`))),
      )
    ).flatMap((answer) => answer.value as readonly unknown[]);
    expect(all).toContainEqual(change?.body);
    expect(all).toEqual(expect.arrayContaining(value as unknown[]));
    expect(service.log().mutations.at(-1)).toEqual(change);
  });
});

describe('changes', () => {
  test.each(['zero', 'not-found'])(
    'a deletion returns what it removed, and of what is gone the answer of the manner (%s)',
    async (answer) => {
      await using service = await withGoneAnswer(answer);
      const gone = answer === 'zero' ? { status: 200, value: 0 } : { status: 404 };
      const before = service.log();
      const bores = before.wellbores[uwi] ?? 0;
      expect(bores).toBeGreaterThan(0);
      expect(await remove(service, `${wellOf(uwi)}/wellbore`)).toEqual({ status: 200, value: bores });
      expect(await lastRequest(service)).toMatchObject({
        endpoint: 'delete-wellbore',
        isApplied: true,
        removed: bores,
      });
      expect(await remove(service, `${wellOf(uwi)}/wellbore`)).toMatchObject(gone);
      expect(await lastRequest(service)).toMatchObject({ isApplied: false, removed: 0 });

      const sourceId = String(before.timeSeries[equipment]?.[0]?.['sourceId']);
      const path = `${seriesOf(equipment)}/${encodeURIComponent(sourceId)}`;
      expect(await remove(service, path)).toEqual({ status: 200, value: 1 });
      expect(await lastRequest(service)).toMatchObject({ endpoint: 'delete-time-series', target: equipment, sourceId });
      expect(await remove(service, path)).toMatchObject(gone);

      const [well = '', strings] = Object.entries(before.microStrings).find(([, count]) => count > 1) ?? [];
      expect(await remove(service, `${wellOf(well)}/micro_string`)).toEqual({ status: 200, value: strings });
      expect((await remove(service, `${wellOf('nobody')}/micro_string`)).status).toBe(404);

      const after = service.log();
      expect(after.timeSeries).toEqual({ ...before.timeSeries, [equipment]: before.timeSeries[equipment]?.slice(1) });
      expect(after.wellbores).toEqual({ ...before.wellbores, [uwi]: 0 });
      expect(after.microStrings).toEqual({ ...before.microStrings, [well]: 0 });
    },
  );

  test('a push is stored and in the log; one with too many pipes is neither', async () => {
    await using service = await startStormService({ seed: 3 });
    const { pipe, hasIt } = aPipe(service);
    const many = Array.from({ length: service.manner.mostPipes + 1 }, () => pipe);
    expect((await push(service, many)).status).toBe(413);
    expect(await lastRequest(service)).toMatchObject({
      isApplied: false,
      refused: { items: many.length, sourceIds: [] },
    });
    expect(hasIt()).toBe(false);
    expect((await push(service, [pipe])).status).toBe(200);
    expect(await lastRequest(service)).toMatchObject({ endpoint: 'pipes', target: '', isApplied: true, pipes: [pipe] });
    expect(hasIt()).toBe(true);
  });
});

describe('tokens', () => {
  test('an expired, an unknown and no token are answered 401, and nothing is done', async () => {
    await using service = await startStormService({ seed: 3 });
    const [first = ''] = service.tokens();
    const second = service.newToken(0);
    const { pipe, hasIt } = aPipe(service);
    for (const token of [first, 'storm-token-9-x', '']) {
      expect((await push(service, [pipe], { token } as RequestInit)).status).toBe(401);
    }
    expect(hasIt()).toBe(false);
    expect((await push(service, [pipe], { token: second } as RequestInit)).status).toBe(200);
    await service.waitIdle();
    expect(service.log().requests.map(({ token, status }) => [token, status])).toEqual([
      [0, 401],
      [-1, 401],
      [-1, 401],
      [1, 200],
    ]);
    expect(service.tokens()).toEqual([first, second]);
    expect(service.tokens().every((token, index) => token.startsWith(`storm-token-${index}-`))).toBe(true);
  });

  test('an older token is good until its grace has passed', async () => {
    await using service = await startStormService({ seed: 3 });
    const [first] = service.tokens();
    service.newToken(60_000);
    expect((await ask(service, wellOf(uwi), { token: first })).status).toBe(200);
  });
});

describe('outages and holds', () => {
  test('a hold is one answer with its Retry-After, and from then on in the log', async () => {
    await using service = await startStormService({ seed: 3 });
    service.hold(30);
    const token = service.tokens()[0] ?? '';
    const response = await fetch(service.url + wellOf(uwi), { headers: { authorization: `Bearer ${token}` } });
    await response.text();
    expect([429, 503]).toContain(response.status);
    expect(response.headers.get('retry-after')).toBe('30');
    const request = await lastRequest(service);
    const [hold, ...others] = service.log().holds;
    expect(others).toEqual([]);
    expect((hold?.untilMs ?? 0) - (hold?.fromMs ?? 0)).toBe(30_000);
    expect(hold?.fromMs).toBeGreaterThanOrEqual(request?.arrivedMs ?? Infinity);
    expect((await ask(service, wellOf(uwi))).status).toBe(200);
  });

  test('an outage answers 503 until it ends', async () => {
    await using service = await startStormService({ seed: 3 });
    const { pipe, hasIt } = aPipe(service);
    expect(await service.outage(Date.now() + 600_000, 'unavailable')).toBe('unavailable');
    expect((await push(service, [pipe])).status).toBe(503);
    expect(hasIt()).toBe(false);
    expect(await lastRequest(service)).toMatchObject({ status: 503, fault: 'outage' });
    await service.calm();
    expect((await push(service, [pipe])).status).toBe(200);
  });

  test('an outage refuses connections, and the service is there again at its end', async () => {
    await using service = await startStormService({ seed: 3 });
    const { url } = service;
    await service.outage(Date.now() + 600_000, 'refused');
    await expect(ask(service, wellOf(uwi))).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await service.calm();
    expect((await ask(service, wellOf(uwi))).status).toBe(200);
    expect(service.url).toBe(url);
    await service.outage(Date.now() + 50, 'refused');
    await expect
      .poll(() =>
        ask(service, wellOf(uwi)).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });

  test('the log has how many requests were in flight together', async () => {
    await using service = await startStormService({ seed: 3 });
    service.burst(1, Date.now() + 600_000, ['hang-before']);
    const asked = Array.from({ length: 5 }, () => ask(service, wellOf(uwi)).catch(() => 'reset'));
    await expect.poll(() => service.log().requests.length).toBe(5);
    expect(service.log().requests.every(({ status, answeredMs }) => status === 0 && answeredMs === undefined)).toBe(
      true,
    );
    await service.calm();
    expect(await Promise.all(asked)).toEqual(Array(5).fill('reset'));
    await ask(service, wellOf(uwi));
    await service.waitIdle();
    expect(service.log().mostAtOnce).toBe(5);
  });
});
