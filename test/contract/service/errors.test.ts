import { setTimeout } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { AbortedError, TransientError, WellsyncError } from '../../../src/core/base/errors.ts';
import type { RequestLimiter } from '../../../src/service/production-data-service.ts';
import { startScriptedServer, type Reply } from '../../support/scripted-server.ts';
import { rejectionOf, serviceAt } from '../../support/service-under-test.ts';

const page = { uwi: 'W' };
const html: Reply = { headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Sign in</title>' };

/** The error of one call whose every request gets the same answer, and the number of requests. */
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
  ])('an answer of %s is retried until the attempts are spent', async (_name, reply, name, code) => {
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
  ])('an answer of %s is final', async (_name, reply, name, code) => {
    const { error, requests } = await outcomeOf(reply);
    expect(error).toMatchObject({ name, code });
    expect(requests).toBe(1);
  });

  it('a web page is an error for a well and for pipes too', async () => {
    await using server = await startScriptedServer([html]);
    await using client = serviceAt(server.baseUrl);
    expect(await rejectionOf(client.service.fetchWell('W'))).toMatchObject({ code: 'not-json' });
    expect(await rejectionOf(client.service.upsertNetworkPipes('[]'))).toMatchObject({ code: 'not-json' });
  });

  it('a valid answer after two failed attempts is the result', async () => {
    await using server = await startScriptedServer([html, { fault: 'reset' }, { body: [1] }]);
    await using client = serviceAt(server.baseUrl);
    expect((await client.service.fetchDailyProductionPage(page)).records).toEqual([1]);
  });

  it('the time-out ends the wait for the head and for the body of an answer', async () => {
    await using server = await startScriptedServer([{ fault: 'hang' }, { body: [1, 2, 3], fault: 'stall' }]);
    const retry = { maxAttempts: 1, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 60_000 };
    await using client = serviceAt(server.baseUrl, { timeoutMs: 100, retry });
    for (let call = 0; call < 2; call += 1) {
      const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
      expect(error).toMatchObject({ name: 'TransientError', code: 'timeout' });
    }
  });

  it('the deadline of all attempts ends the wait for an answer', async () => {
    await using server = await startScriptedServer([{ fault: 'hang' }]);
    const retry = { maxAttempts: 9, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 1_500 };
    await using client = serviceAt(server.baseUrl, { retry });
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'TransientError', code: 'timeout', serviceDown: false });
    expect(server.requests).toHaveLength(1);
  });
});

describe('an unreachable service', () => {
  it('a service counts as down when nothing listens at its address', async () => {
    const server = await startScriptedServer([]);
    await server[Symbol.asyncDispose]();
    await using client = serviceAt(server.baseUrl);
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'TransientError', code: 'no-connection', serviceDown: true });
  });

  it('a service that does not speak TLS is an AccessError', async () => {
    await using server = await startScriptedServer([{ body: [] }]);
    await using client = serviceAt(server.baseUrl.replace('http:', 'https:'));
    expect(await rejectionOf(client.service.fetchDailyProductionPage(page))).toMatchObject({
      name: 'AccessError',
      code: 'tls',
    });
  });
});

describe('Retry-After', () => {
  it('G9: Retry-After is the shortest pause of the call, and pauses all workers', async () => {
    await using server = await startScriptedServer([
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 503, headers: { 'retry-after': new Date(5_000).toUTCString() } },
      { body: [] },
    ]);
    const holdsMs: number[] = [];
    const limiter = recordingLimiter(holdsMs);
    await using client = serviceAt(server.baseUrl, {}, { limiter, now: () => 1_000 });
    await client.service.fetchDailyProductionPage(page);
    expect(client.pausesMs).toEqual([7_000, 4_000]);
    expect(holdsMs).toEqual([7_000, 4_000]);
  });

  it('G9: a Retry-After beyond the deadline ends the call at once, and the queue waits', async () => {
    await using server = await startScriptedServer([{ status: 429, headers: { 'retry-after': '120' } }]);
    const holdsMs: number[] = [];
    await using client = serviceAt(server.baseUrl, {}, { limiter: recordingLimiter(holdsMs) });
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'RateLimitedError', code: 'http-429', retryAfterMs: 120_000 });
    expect(client.pausesMs).toEqual([]);
    expect(holdsMs).toEqual([120_000]);
  });

  it('an unreadable Retry-After leaves the pause to wellsync', async () => {
    const { error } = await outcomeOf({ status: 429, headers: { 'retry-after': 'soon' } });
    expect(error.name).toBe('TransientError');
    expect(error.message).toContain('its Retry-After cannot be read');
  });
});

describe('the limiter', () => {
  it('G9: every attempt acquires the limiter and releases it', async () => {
    await using server = await startScriptedServer([{ status: 503 }, { fault: 'reset' }, { body: [] }]);
    const events: string[] = [];
    const limiter: RequestLimiter = {
      enter: async () => {
        events.push('enter');
        return () => void events.push('leave');
      },
      pauseAll: async () => undefined,
      recordAnswer: () => undefined,
      recordFailure: async () => false,
    };
    await using client = serviceAt(server.baseUrl, {}, { limiter });
    await client.service.fetchDailyProductionPage(page);
    expect(events).toEqual(['enter', 'leave', 'enter', 'leave', 'enter', 'leave']);
  });
});

describe('an abort', () => {
  it.each<readonly [string, Reply]>([
    ['before the head', { fault: 'hang' }],
    ['within the body', { body: [1, 2, 3], fault: 'stall' }],
  ])('an abort ends a request in flight %s', async (_name, reply) => {
    await using server = await startScriptedServer([reply]);
    await using client = serviceAt(server.baseUrl);
    const controller = new AbortController();
    const rejection = rejectionOf(client.service.fetchDailyProductionPage(page, { signal: controller.signal }));
    await server.arrived(1);
    controller.abort(new Error('shutdown'));
    expect(await rejection).toBeInstanceOf(AbortedError);
    expect(server.requests).toHaveLength(1);
  });

  it('an abort ends a pause between two attempts', async () => {
    await using server = await startScriptedServer([{ status: 503, headers: { 'retry-after': '3600' } }]);
    const controller = new AbortController();
    const retry = { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 7_200_000 };
    const onRetry = (): void => void setImmediate(() => controller.abort());
    const sleep = async (delayMs: number, signal: AbortSignal) => setTimeout(delayMs, undefined, { signal });
    await using client = serviceAt(server.baseUrl, { retry }, { onRetry, sleep });
    const call = client.service.fetchDailyProductionPage(page, { signal: controller.signal });
    expect(await rejectionOf(call)).toBeInstanceOf(AbortedError);
  });

  it('a call that is already aborted sends nothing', async () => {
    await using server = await startScriptedServer([{ body: [] }]);
    await using client = serviceAt(server.baseUrl);
    const call = client.service.fetchDailyProductionPage(page, { signal: AbortSignal.abort() });
    expect(await rejectionOf(call)).toBeInstanceOf(AbortedError);
    expect(server.requests).toHaveLength(0);
  });
});

describe('the text of an error', () => {
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
    `cut: ${token.slice(0, 12)}`,
    `packed: ${Buffer.from(token).toString('base64')}`,
    `packed and cut: ${Buffer.from(token).toString('base64').slice(0, 14)}`,
  ];

  it.each(bodies)('G10: an error shows no secret of the body %s', async (body) => {
    for (const status of [200, 400, 401, 403, 404, 500]) {
      await using server = await startScriptedServer([{ status, body }]);
      await using client = serviceAt(server.baseUrl, { token: { kind: 'value', value: token } });
      const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
      expect(error).toBeInstanceOf(WellsyncError);
      const shown = inspect(error, { depth: 9, showHidden: true });
      for (const secret of ['s3cret', 'tok/EN-0', encodeURIComponent(token), 'tok\\\\/EN', 'eyJhbGci', 'dG9rL0VOLT'])
        expect(shown).not.toContain(secret);
    }
  });

  it('an error shows one short line of the body, without control characters', async () => {
    const { error } = await outcomeOf({ status: 400, body: `\u001b[2Jline one\r\n\tline two ${'x'.repeat(5_000)}` });
    expect(error.message).toMatch(/^GET \/api\/production\/daily\/W answered 400: \[2Jline one line two x+…$/);
    expect(error.message.length).toBeLessThan(260);
  });
});

it('an unknown error is not retried', async () => {
  await using server = await startScriptedServer([{ body: [] }]);
  const limiter: RequestLimiter = {
    enter: () => Promise.reject(new RangeError('a bug')),
    pauseAll: async () => undefined,
    recordAnswer: () => undefined,
    recordFailure: async () => false,
  };
  await using client = serviceAt(server.baseUrl, {}, { limiter });
  const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
  expect(error).toBeInstanceOf(RangeError);
  expect(error).not.toBeInstanceOf(TransientError);
  expect(client.pausesMs).toEqual([]);
});

function recordingLimiter(holdsMs: number[]): RequestLimiter {
  return {
    enter: async () => () => undefined,
    pauseAll: async (delayMs) => void holdsMs.push(delayMs),
    recordAnswer: () => undefined,
    recordFailure: async () => false,
  };
}
