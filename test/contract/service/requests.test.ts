import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { timeSeries } from '../../../src/core/definitions/record-list.ts';
import { AccessError, PermanentError, UsageError } from '../../../src/core/base/errors.ts';
import { createProductionDataService } from '../../../src/service/create-service.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { rejectionOf, serviceAt } from '../../support/service-under-test.ts';

const xid = 'AABBCCDD-0000-4000-8000-000000000001';

describe('the seven calls', () => {
  it('the seven calls are sent as in docs/interface.md section 4, with path parameters percent-encoded', async () => {
    await using server = await startScriptedServer(({ method, url }) => ({
      body: method === 'DELETE' ? 1 : url.endsWith('time-series') ? [] : [],
    }));
    await using client = serviceAt(`${server.baseUrl}/pds/`);
    const { service } = client;
    await service.fetchDailyProductionPage({ uwi: '15/9-F-1 C', startMs: 0, endMs: 86_400_000, page: 0, limit: 50 });
    await service.fetchDailyProductionPage({ uwi: 'W' });
    await service.fetchRecords(timeSeries, 'pump #1');
    await service.deleteTimeSeries('pump #1', 'a?b');
    await service.deleteMicroStrings('wéll');
    await service.deleteWellbores('w%20');
    await service.fetchWell('w/1');
    await service.upsertNetworkPipes('[{"length":[38.211669000000001]}]');

    expect(server.requests.map(({ method, url, headers }) => `${method} ${url} ${headers.accept}`)).toEqual([
      'GET /pds/api/production/daily/15%2F9-F-1%20C?startDate=1970-01-01T00%3A00%3A00.000Z&endDate=1970-01-02T00%3A00%3A00.000Z&page=0&limit=50 application/json',
      'GET /pds/api/production/daily/W application/json',
      'GET /pds/api/production/netx/equipment/pump%20%231/time-series application/json',
      'DELETE /pds/api/production/netx/equipment/pump%20%231/time-series/a%3Fb application/json',
      'DELETE /pds/api/production/well/w%C3%A9ll/micro_string application/json',
      'DELETE /pds/api/production/well/w%2520/wellbore application/json',
      'GET /pds/api/production/well/w%2F1 */*',
      'POST /pds/api/production/network/pipe application/json',
    ]);
    const post = server.requests.at(-1);
    expect(post?.headers['content-type']).toBe('application/json');
    expect(post?.body).toBe('[{"length":[38.211669000000001]}]');
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(Array(8).fill(undefined));
  });

  it('calls share connections, never more than the configured number', async () => {
    await using server = await startScriptedServer([{ body: [] }]);
    await using client = serviceAt(server.baseUrl, { concurrency: 2 });
    const uwis = Array.from({ length: 20 }, (_, index) => `W${index}`);
    await Promise.all(uwis.map(async (uwi) => client.service.fetchDailyProductionPage({ uwi })));
    expect(server.requests).toHaveLength(20);
    expect(server.connectionCount()).toBe(2);
  });

  it('an identifier that would change the path is refused before a request is sent', async () => {
    await using server = await startScriptedServer([{ body: 1 }]);
    await using client = serviceAt(server.baseUrl);
    for (const identifier of ['', '.', '..', '\ud800']) {
      const error = await rejectionOf(client.service.deleteWellbores(identifier));
      expect(error).toBeInstanceOf(PermanentError);
    }
    expect(server.requests).toHaveLength(0);
  });

  it('time series records are checked by their schema', async () => {
    const record = { xid, equipmentXid: xid, sourceId: 's', measurement: 'WHATEVER' };
    await using server = await startScriptedServer([{ body: [record] }, { body: [{ ...record, sourceId: 5 }] }]);
    await using client = serviceAt(server.baseUrl);
    expect(await client.service.fetchRecords(timeSeries, 'e')).toEqual([
      { ...record, xid: xid.toLowerCase(), equipmentXid: xid.toLowerCase(), unit: null },
    ]);
    expect(await rejectionOf(client.service.fetchRecords(timeSeries, 'e'))).toMatchObject({
      name: 'PermanentError',
      message: expect.stringContaining('0.sourceId') as string,
    });
  });

  it('a deletion returns its integer unchanged, and null for another 2xx without a body', async () => {
    const undeclared: string[] = [];
    await using server = await startScriptedServer([{ body: 0 }, { status: 202, body: 7 }, { status: 204, body: '' }]);
    const onUndeclaredStatus = (request: string, status: number): void => void undeclared.push(`${request} ${status}`);
    await using client = serviceAt(server.baseUrl, {}, { onUndeclaredStatus });
    const { service } = client;
    expect(await service.deleteMicroStrings('w')).toBe(0);
    expect(await service.deleteMicroStrings('w')).toBe(7);
    expect(await service.deleteMicroStrings('w')).toBeNull();
    const path = 'DELETE /api/production/well/w/micro_string';
    expect(undeclared).toEqual([`${path} 202`, `${path} 204`]);
  });

  it('a well is returned as text with its content type', async () => {
    await using server = await startScriptedServer([{ headers: { 'content-type': 'text/plain' }, body: 'well "F-1"' }]);
    await using client = serviceAt(server.baseUrl);
    expect(await client.service.fetchWell('w')).toEqual({ contentType: 'text/plain', body: 'well "F-1"' });
  });
});

describe('the token', () => {
  const answer = (good: string) => (request: { readonly headers: { readonly authorization?: string | undefined } }) =>
    request.headers.authorization === `Bearer ${good}` ? { body: [] } : { status: 401, body: { error: 'expired' } };

  it('the token is sent as a bearer token', async () => {
    await using server = await startScriptedServer(answer('abc'));
    await using client = serviceAt(server.baseUrl, { token: { kind: 'value', value: 'abc' } });
    expect(await client.service.fetchDailyProductionPage({ uwi: 'W' })).toMatchObject({ records: [] });
  });

  it('the token file is read again when the service refuses the token', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wellsync-token-'));
    const path = join(folder, 'token');
    try {
      await writeFile(path, 'first\n');
      let good = 'first';
      await using server = await startScriptedServer((request) => answer(good)(request));
      await using client = serviceAt(server.baseUrl, { token: { kind: 'file', path } });
      await client.service.fetchDailyProductionPage({ uwi: 'W' });
      good = 'second';
      await writeFile(path, 'second\n');
      const uwis = ['A', 'B', 'C'];
      await Promise.all(uwis.map(async (uwi) => client.service.fetchDailyProductionPage({ uwi })));
      expect(server.requests).toHaveLength(1 + 2 * uwis.length);
      good = 'third';
      expect(await rejectionOf(client.service.fetchDailyProductionPage({ uwi: 'W' }))).toBeInstanceOf(AccessError);
      expect(server.requests).toHaveLength(1 + 2 * uwis.length + 1);
      expect(client.pausesMs).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('a token refused again after one renewal is an AccessError', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wellsync-token-'));
    const path = join(folder, 'token');
    try {
      await writeFile(path, 'first');
      await using server = await startScriptedServer(async (_request, index) => {
        await writeFile(path, `another-${index}`);
        return { status: 401, body: '' };
      });
      await using client = serviceAt(server.baseUrl, { token: { kind: 'file', path } });
      expect(await rejectionOf(client.service.deleteWellbores('W'))).toMatchObject({
        name: 'AccessError',
        code: 'unauthorized',
      });
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer another-0']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('an unreadable or unusable token is an AccessError with the reason', async () => {
    await using client = serviceAt('http://127.0.0.1:9', { token: { kind: 'file', path: '/no/such/token' } });
    expect(await rejectionOf(client.service.fetchWell('W'))).toMatchObject({
      name: 'AccessError',
      message: 'the token file /no/such/token cannot be read: there is no such file',
    });
    const twoTokens = () => serviceAt('http://127.0.0.1:9', { token: { kind: 'value', value: 's3cret s3cret' } });
    expect(twoTokens).toThrow(AccessError);
    expect(twoTokens).not.toThrow(/s3cret/);
  });
});

describe('the base address', () => {
  it('the base address is shown without its final slash', () => {
    expect(serviceAt('https://pds.example.com/v1//').service.baseUrl).toBe('https://pds.example.com/v1');
  });

  it.each([
    'pds.example.com',
    'ftp://pds.example.com',
    'https://a:s3cret@pds.example.com',
    'https://pds.example.com/?key=s3cret',
  ])('G10: the base address %s is refused without being shown', (baseUrl) => {
    const create = () => createProductionDataService({ ...settingsOf(baseUrl) });
    expect(create).toThrow(UsageError);
    expect(create).not.toThrow(/s3cret/);
  });
});

function settingsOf(baseUrl: string) {
  const retry = { maxAttempts: 1, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 1 };
  return { baseUrl, token: { kind: 'none' }, timeoutMs: 1, concurrency: 1, maxBodyBytes: 1, retry } as const;
}
