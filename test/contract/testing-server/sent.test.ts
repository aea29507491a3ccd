import { describe, expect, it } from 'vitest';
import type { ReceivedPipe } from '../../../src/testing-server/api/received.ts';
import {
  startTestingServer,
  type TestingServer,
  type TestingServerSetup,
} from '../../../src/testing-server/testing-server.ts';
import { json, postPipes, statusOf } from '../../support/testing-server-requests.ts';

const pipe = (sourceId: string, length = '1'): string =>
  `{"sourceNetworkId":"N","sourceId":"${sourceId}","length":[${length}]}`;
const storedIds = (server: TestingServer): string[] => server.state.pipes().map((stored) => stored.sourceId);

describe('a bulk request of pipes', () => {
  it('a bulk request is stored by network and source id, each item as written; the last one wins', async () => {
    await using server = await startTestingServer();
    await postPipes(server, `[ ${pipe('a')}, ${pipe('b', '38.211669000000001')},${pipe('a', '2')}]`);
    const response = await postPipes(server, `[{"sourceId":"a","sourceNetworkId":"other"},${pipe('a', '3')}]`);
    expect(response.status).toBe(200);
    expect(await json<ReceivedPipe[]>(`${server.url}/testing/pipes`)).toEqual([
      { sourceNetworkId: 'N', sourceId: 'a', writes: 3, raw: pipe('a', '3') },
      { sourceNetworkId: 'N', sourceId: 'b', writes: 1, raw: pipe('b', '38.211669000000001') },
      { sourceNetworkId: 'other', sourceId: 'a', writes: 1, raw: '{"sourceId":"a","sourceNetworkId":"other"}' },
    ]);
  });

  it.each([
    ['not JSON', '[{]'],
    ['not an array', pipe('a')],
    ['an array with something else', `[${pipe('a')},null]`],
    ['an array with a pipe without an id', `[${pipe('a')},{"sourceNetworkId":"N"}]`],
  ])('a bulk request that is %s is a bad request and stores nothing', async (_, body) => {
    await using server = await startTestingServer();
    expect((await postPipes(server, body)).status).toBe(400);
    expect(server.state.pipes()).toEqual([]);
  });

  it('a bulk request that is not application/json is refused', async () => {
    await using server = await startTestingServer();
    expect(
      await statusOf(`${server.url}/api/production/network/pipe`, { method: 'POST', body: `[${pipe('a')}]` }),
    ).toBe(415);
  });

  it('a bulk request above maxBodyBytes is answered 413, to the byte', async () => {
    const body = `[${pipe('a')}]`;
    await using server = await startTestingServer({ maxBodyBytes: body.length });
    expect((await postPipes(server, body)).status).toBe(200);
    expect((await postPipes(server, `${body} `)).status).toBe(413);
    expect((await postPipes(server, `[${Array.from({ length: 20_000 }, () => pipe('b')).join(',')}]`)).status).toBe(
      413,
    );
    expect(storedIds(server)).toEqual(['a']);
  });
});

describe('a pipe that the service refuses', () => {
  const chunk = `[${pipe('a')},${pipe('bad')},${pipe('c')}]`;

  it.each<[string, TestingServerSetup, number, string[]]>([
    ['by rejectSourceIds', { rejectSourceIds: ['bad'] }, 422, []],
    ['by a predicate', { rejectPipe: (item) => item.sourceId === 'bad' }, 422, []],
    ['with rejectStatus 400', { rejectSourceIds: ['bad'], rejectStatus: 400 }, 400, []],
    ['with bulkRejection partial', { rejectSourceIds: ['bad'], bulkRejection: 'partial' }, 422, ['a', 'c']],
  ])('a pipe refused %s refuses its chunk with a message', async (_, setup, status, stored) => {
    await using server = await startTestingServer(setup);
    const response = await postPipes(server, chunk);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: 'item 1 is refused: pipe bad' });
    expect(storedIds(server)).toEqual(stored);
    expect((await postPipes(server, `[${pipe('a')}]`)).status).toBe(200);
  });
});

describe('a deletion', () => {
  const assets = {
    equipment: { 'E/1': [{ sourceId: 's 1' }, { sourceId: 's2' }] },
    wells: { 'W/1': { microStrings: 4, wellbores: 2 } },
  };
  const start = (setup: TestingServerSetup = {}) => startTestingServer({ assets, ...setup });
  const remove = (server: TestingServer, path: string) =>
    fetch(`${server.url}/api/production/${path}`, { method: 'DELETE' });

  it.each([
    [
      'netx/equipment/E%2F1/time-series/s%201',
      '1',
      { kind: 'time-series', ownerId: 'E/1', sourceId: 's 1', removed: 1 },
    ],
    ['well/W%2F1/micro_string', '4', { kind: 'micro-string', ownerId: 'W/1', removed: 4 }],
    ['well/W%2F1/wellbore', '2', { kind: 'wellbore', ownerId: 'W/1', removed: 2 }],
  ])('a deletion of %s answers the number removed, once, and is recorded', async (path, answer, kept) => {
    await using server = await start();
    expect(await (await remove(server, path)).text()).toBe(answer);
    expect((await remove(server, path)).status).toBe(404);
    expect(await json(`${server.url}/testing/deletions`)).toEqual([{ ...kept, requests: 2 }]);
  });

  it('a deletion removes the record from the time series of its equipment', async () => {
    await using server = await start();
    await remove(server, 'netx/equipment/E%2F1/time-series/s2');
    const left = await json(`${server.url}/api/production/netx/equipment/E%2F1/time-series`);
    expect(left).toEqual([{ sourceId: 's 1' }]);
  });

  it('a deletion of an unknown target answers 404, or 0 with unknownDelete zero', async () => {
    await using server = await start();
    expect((await remove(server, 'well/none/wellbore')).status).toBe(404);
    server.state.setOptions({ unknownDelete: 'zero' });
    for (const path of ['well/none/wellbore', 'well/none/micro_string', 'netx/equipment/none/time-series/x']) {
      expect(await (await remove(server, path)).text()).toBe('0');
    }
  });

  it('a deletion with an empty identifier is that of no target', async () => {
    await using server = await start({ unknownDelete: 'zero' });
    expect((await remove(server, 'well//wellbore')).status).toBe(404);
    expect(server.state.deletions()).toEqual([]);
  });

  it('a forbidden deletion is answered 403 and has no effect', async () => {
    await using server = await start({ forbiddenDeletions: ['W/1'] });
    expect((await remove(server, 'well/W%2F1/wellbore')).status).toBe(403);
    expect(server.state.deletions()).toEqual([]);
  });

  it('an idle deletion is answered 200 and removes nothing', async () => {
    await using server = await start({ idleDeletions: ['E/1'] });
    const records = 'netx/equipment/E%2F1/time-series';
    expect((await remove(server, `${records}/s2`)).status).toBe(200);
    expect(await json(`${server.url}/api/production/${records}`)).toHaveLength(2);
    expect(server.state.deletions()).toEqual([]);
  });
});
