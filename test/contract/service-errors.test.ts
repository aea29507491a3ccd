import { setTimeout } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { AbortedError, TransientError, WellsyncError } from '../../src/core/errors.ts';
import type { Admission } from '../../src/service/production-data-service.ts';
import { startScriptedServer, type Reply } from '../support/scripted-server.ts';
import { rejectionOf, serviceAt } from '../support/service-under-test.ts';

const page = { uwi: 'W' };
const html: Reply = { headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Sign in</title>' };

/** What one call ends in when every request is answered alike, and how many there were. */
async function outcomeOf(reply: Reply) {
  await using server = await startScriptedServer([reply]);
  await using client = serviceAt(server.baseUrl);
  const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
  return { error: error as WellsyncError, requests: server.requests.length, pausesMs: client.pausesMs };
}

describe('an answer', () => {
  it.each<readonly [string, Reply, string, string]>([
    ['408', { status: 408 }, 'TransientError', 'http-408'],
    ['425', { status: 425 }, 'TransientError', 'http-425'],
    ['429', { status: 429 }, 'TransientError', 'http-429'],
    ['500', { status: 500 }, 'TransientError', 'http-500'],
    ['503', { status: 503 }, 'TransientError', 'http-503'],
    ['a web page with status 200', html, 'TransientError', 'not-json'],
    ['a web page that says it is JSON', { body: '<html><body>Sign in</body></html>' }, 'TransientError', 'not-json'],
    ['an empty body with status 200', { body: '' }, 'TransientError', 'not-json'],
    ['JSON that stops half-way', { body: '[{"xid":' }, 'TransientError', 'not-json'],
    ['an object where an array is promised', { body: { rows: [] } }, 'TransientError', 'wrong-shape'],
    ['a body cut short', { body: [1, 2, 3], fault: 'truncate' }, 'TransientError', 'truncated'],
    ['a reset', { fault: 'reset' }, 'TransientError', 'connection-lost'],
  ])('of %s is tried again until the attempts are spent', async (_name, reply, name, code) => {
    const { error, requests, pausesMs } = await outcomeOf(reply);
    expect(error).toMatchObject({ name, code });
    expect(error.message).toContain('GET /api/production/daily/W');
    expect(requests).toBe(3);
    expect(pausesMs).toEqual([75, 150]);
  });

  it.each<readonly [string, Reply, string, string]>([
    ['301', { status: 301, headers: { location: '/elsewhere' } }, 'PermanentError', 'http-301'],
    ['400', { status: 400 }, 'PermanentError', 'http-400'],
    ['401', { status: 401 }, 'AccessError', 'unauthorized'],
    ['403', { status: 403 }, 'AccessError', 'forbidden'],
    ['404', { status: 404 }, 'NotFoundError', 'not-found'],
    ['409', { status: 409 }, 'PermanentError', 'http-409'],
    ['413', { status: 413 }, 'PermanentError', 'http-413'],
    ['422', { status: 422 }, 'PermanentError', 'http-422'],
    ['403, its body cut short', { status: 403, fault: 'truncate', body: 'no' }, 'AccessError', 'forbidden'],
    ['a body over the limit', { body: 'x'.repeat(1_000_001) }, 'PermanentError', 'body-too-large'],
    [
      'an endless body',
      { headers: { 'content-length': '9000000000' }, body: 'x'.repeat(3_000_000), fault: 'stall' },
      'PermanentError',
      'body-too-large',
    ],
  ])('of %s is final', async (_name, reply, name, code) => {
    const { error, requests } = await outcomeOf(reply);
    expect(error).toMatchObject({ name, code });
    expect(requests).toBe(1);
  });

  it('of a web page is none for a well and for pipes either', async () => {
    await using server = await startScriptedServer([html]);
    await using client = serviceAt(server.baseUrl);
    expect(await rejectionOf(client.service.fetchWell('W'))).toMatchObject({ code: 'not-json' });
    expect(await rejectionOf(client.service.upsertNetworkPipes('[]'))).toMatchObject({ code: 'not-json' });
  });

  it('that comes right after two that were wrong is the answer', async () => {
    await using server = await startScriptedServer([html, { fault: 'reset' }, { body: [1] }]);
    await using client = serviceAt(server.baseUrl);
    expect((await client.service.fetchDailyProductionPage(page)).records).toEqual([1]);
  });

  it('is waited for no longer than the time-out, neither its head nor its body', async () => {
    await using server = await startScriptedServer([{ fault: 'hang' }, { body: [1, 2, 3], fault: 'stall' }]);
    const retry = { maxAttempts: 1, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 60_000 };
    await using client = serviceAt(server.baseUrl, { timeoutMs: 100, retry });
    for (let call = 0; call < 2; call += 1) {
      const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
      expect(error).toMatchObject({ name: 'TransientError', code: 'timeout' });
    }
  });

  it('is waited for no longer than the deadline of all attempts', async () => {
    await using server = await startScriptedServer([{ fault: 'hang' }]);
    const retry = { maxAttempts: 9, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 50 };
    await using client = serviceAt(server.baseUrl, { retry });
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'TransientError', code: 'timeout', serviceDown: false });
    expect(server.requests).toHaveLength(1);
  });
});

describe('a service that is not there', () => {
  it('is down where nobody listens', async () => {
    const server = await startScriptedServer([]);
    await server[Symbol.asyncDispose]();
    await using client = serviceAt(server.baseUrl);
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'TransientError', code: 'no-connection', serviceDown: true });
  });

  it('ends the run where it speaks no TLS', async () => {
    await using server = await startScriptedServer([{ body: [] }]);
    await using client = serviceAt(server.baseUrl.replace('http:', 'https:'));
    expect(await rejectionOf(client.service.fetchDailyProductionPage(page))).toMatchObject({
      name: 'AccessError',
      code: 'tls',
    });
  });
});

describe('Retry-After', () => {
  it('G9: is the least pause, and holds everybody', async () => {
    await using server = await startScriptedServer([
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 503, headers: { 'retry-after': new Date(5_000).toUTCString() } },
      { body: [] },
    ]);
    const holdsMs: number[] = [];
    const admission = notedAdmission(holdsMs);
    await using client = serviceAt(server.baseUrl, {}, { admission, now: () => 1_000 });
    await client.service.fetchDailyProductionPage(page);
    expect(client.pausesMs).toEqual([7_000, 4_000]);
    expect(holdsMs).toEqual([7_000, 4_000]);
  });

  it('G9: beyond the deadline ends the call at once, for the queue to wait', async () => {
    await using server = await startScriptedServer([{ status: 429, headers: { 'retry-after': '120' } }]);
    const holdsMs: number[] = [];
    await using client = serviceAt(server.baseUrl, {}, { admission: notedAdmission(holdsMs) });
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'RateLimitedError', code: 'http-429', retryAfterMs: 120_000 });
    expect(client.pausesMs).toEqual([]);
    expect(holdsMs).toEqual([120_000]);
  });

  it('that says nothing leaves the pause to wellsync', async () => {
    const { error } = await outcomeOf({ status: 429, headers: { 'retry-after': 'soon' } });
    expect(error.name).toBe('TransientError');
  });
});

describe('admission', () => {
  it('G9: is asked for every attempt and given back after each', async () => {
    await using server = await startScriptedServer([{ status: 503 }, { fault: 'reset' }, { body: [] }]);
    const events: string[] = [];
    const admission: Admission = {
      enter: async () => {
        events.push('enter');
        return () => void events.push('leave');
      },
      holdAll: async () => undefined,
    };
    await using client = serviceAt(server.baseUrl, {}, { admission });
    await client.service.fetchDailyProductionPage(page);
    expect(events).toEqual(['enter', 'leave', 'enter', 'leave', 'enter', 'leave']);
  });
});

describe('an abort', () => {
  it.each<readonly [string, Reply]>([
    ['before the head', { fault: 'hang' }],
    ['within the body', { body: [1, 2, 3], fault: 'stall' }],
  ])('ends a request in flight %s', async (_name, reply) => {
    await using server = await startScriptedServer([reply]);
    await using client = serviceAt(server.baseUrl);
    const controller = new AbortController();
    const rejection = rejectionOf(client.service.fetchDailyProductionPage(page, { signal: controller.signal }));
    await server.arrived(1);
    controller.abort(new Error('shutdown'));
    expect(await rejection).toBeInstanceOf(AbortedError);
    expect(server.requests).toHaveLength(1);
  });

  it('ends a pause between two attempts', async () => {
    await using server = await startScriptedServer([{ status: 503, headers: { 'retry-after': '3600' } }]);
    const controller = new AbortController();
    const retry = { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 7_200_000 };
    const onRetry = (): void => void setImmediate(() => controller.abort());
    const sleep = async (delayMs: number, signal: AbortSignal) => setTimeout(delayMs, undefined, { signal });
    await using client = serviceAt(server.baseUrl, { retry }, { onRetry, sleep });
    const call = client.service.fetchDailyProductionPage(page, { signal: controller.signal });
    expect(await rejectionOf(call)).toBeInstanceOf(AbortedError);
  });

  it('that came before sends nothing', async () => {
    await using server = await startScriptedServer([{ body: [] }]);
    await using client = serviceAt(server.baseUrl);
    const call = client.service.fetchDailyProductionPage(page, { signal: AbortSignal.abort() });
    expect(await rejectionOf(call)).toBeInstanceOf(AbortedError);
    expect(server.requests).toHaveLength(0);
  });
});

describe('G10: no secret of a body reaches an error', () => {
  const token = 'tok/EN-0123456789+abc';
  const bodies: readonly string[] = [
    `{"error":"bad token ${token}"}`,
    JSON.stringify({ token }).replaceAll('/', '\\/'),
    `url=/login?ticket=${encodeURIComponent(token)}`,
    'Authorization: Bearer s3cret-of-another',
    '{"headers":{"authorization":"Bearer s3cret","x-api-key":"s3cret","cookie":"sid=s3cret"}}',
    '{"password":"s3cret","client_secret": "s3cret", "accessToken":"s3cret"}',
    "{'refresh_token': 's3cret'}",
    'https://user:s3cret@pds.example.com/ is down',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzM2NyZXQifQ.c2lnbmF0dXJl is expired',
    'grant_type=password&password=s3cret&x=1',
  ];

  it.each(bodies)('%s', async (body) => {
    for (const status of [200, 400, 401, 403, 404, 500]) {
      await using server = await startScriptedServer([{ status, body }]);
      await using client = serviceAt(server.baseUrl, { token: { kind: 'value', value: token } });
      const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
      expect(error).toBeInstanceOf(WellsyncError);
      const shown = inspect(error, { depth: 9, showHidden: true });
      for (const secret of ['s3cret', token, encodeURIComponent(token), 'tok\\\\/EN', 'eyJhbGci'])
        expect(shown).not.toContain(secret);
    }
  });

  it('and an excerpt is one short line without control characters', async () => {
    const { error } = await outcomeOf({ status: 400, body: `\u001b[2Jline one\r\n\tline two ${'x'.repeat(5_000)}` });
    expect(error.message).toMatch(/^GET \/api\/production\/daily\/W answered 400: \[2Jline one line two x+…$/);
    expect(error.message.length).toBeLessThan(260);
  });
});

it('an error that nobody foresaw is not tried again', async () => {
  await using server = await startScriptedServer([{ body: [] }]);
  const admission: Admission = { enter: () => Promise.reject(new RangeError('a bug')), holdAll: async () => undefined };
  await using client = serviceAt(server.baseUrl, {}, { admission });
  const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
  expect(error).toBeInstanceOf(RangeError);
  expect(error).not.toBeInstanceOf(TransientError);
  expect(client.pausesMs).toEqual([]);
});

function notedAdmission(holdsMs: number[]): Admission {
  return { enter: async () => () => undefined, holdAll: async (delayMs) => void holdsMs.push(delayMs) };
}
