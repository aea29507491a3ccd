import { describe, expect, it, vi } from 'vitest';
import type { ArrivedRequest } from '../../../src/testing-server/api/gate.ts';
import { type FaultKind, testingServerOptionsSchema } from '../../../src/testing-server/options.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { deferred } from '../../support/deferred.ts';
import {
  dailyUrl,
  json,
  postPipes,
  ratesOn,
  startWithTenDays,
  statusOf,
  UWI,
} from '../../support/testing-server-requests.ts';

/** The error code of a failed fetch. */
async function failureOf(request: Promise<unknown>): Promise<unknown> {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof Error ? (error.cause as { code?: string } | undefined)?.code : error;
}

const chunk = '[{"sourceNetworkId":"N","sourceId":"a"}]';

describe('a fault', () => {
  it('the fault tooManyRequests answers 429 with Retry-After', async () => {
    await using server = await startWithTenDays({ faults: { tooManyRequests: 1 }, retryAfterSeconds: 7 });
    const response = await fetch(dailyUrl(server));
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7']);
  });

  it('the fault unavailable answers 503', async () => {
    await using server = await startWithTenDays({ faults: { unavailable: 1 } });
    expect(await ratesOn(server)).toBe(503);
  });

  it('the fault htmlPage answers 200 with HTML', async () => {
    await using server = await startWithTenDays({ faults: { htmlPage: 1 } });
    const response = await fetch(dailyUrl(server));
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html']);
  });

  it('the fault reset resets the connection and stores nothing', async () => {
    await using server = await startWithTenDays({ faults: { reset: 1 } });
    expect(await failureOf(fetch(dailyUrl(server)))).toBe('ECONNRESET');
    expect(await failureOf(postPipes(server, chunk))).toBe('ECONNRESET');
    expect(server.state.pipes()).toEqual([]);
  });

  it('the fault resetAfterStoring resets POST and DELETE after their effect, and does not touch GET', async () => {
    await using server = await startWithTenDays({ faults: { resetAfterStoring: 1 } });
    expect(await failureOf(postPipes(server, chunk))).toBe('ECONNRESET');
    const wellbores = `${server.url}/api/production/well/${encodeURIComponent(UWI)}/wellbore`;
    expect(await failureOf(fetch(wellbores, { method: 'DELETE' }))).toBe('ECONNRESET');
    expect(server.state.pipes()).toHaveLength(1);
    expect(server.state.deletions()).toMatchObject([{ kind: 'wellbore', ownerId: UWI, requests: 1 }]);
    expect(await ratesOn(server)).toEqual([1, 2, 3]);
  });

  it('the fault truncatedBody ends the body before its content-length', async () => {
    await using server = await startWithTenDays({ faults: { truncatedBody: 1 } });
    const response = await fetch(dailyUrl(server));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('terminated');
    // An empty body is announced as one byte.
    await expect(postPipes(server, chunk).then((answer) => answer.text())).rejects.toThrow('terminated');
    expect(server.state.requests().byEndpoint).toEqual({
      'daily-production': { truncated: 1 },
      'network-pipes': { truncated: 1 },
    });
  });

  it('faults never occur outside /api', async () => {
    await using server = await startWithTenDays({ faults: { reset: 1 }, requiredToken: 'secret', down: true });
    expect(await statusOf(`${server.url}/testing/state`)).toBe(200);
  });
});

describe('faults by rate', () => {
  const outcomes = async (seed: number): Promise<string[]> => {
    await using server = await startWithTenDays({ seed, faults: { unavailable: 0.3, tooManyRequests: 0.2 } });
    for (let request = 0; request < 200; request += 1) await ratesOn(server);
    return server.state.requests().recent.map(({ outcome }) => String(outcome));
  };

  it('faults occur at their rate, in the same sequence for the same seed', async () => {
    const first = await outcomes(1);
    const share = (status: string): number => first.filter((outcome) => outcome === status).length / 200;
    expect(Math.abs(share('503') - 0.3)).toBeLessThan(0.08);
    expect(Math.abs(share('429') - 0.2)).toBeLessThan(0.08);
    expect(await outcomes(1)).toEqual(first);
    expect(await outcomes(2)).not.toEqual(first);
  });

  it('fault rates with a sum above 1 are refused', () => {
    const checked = testingServerOptionsSchema.safeParse({ faults: { reset: 0.6, unavailable: 0.6 } });
    expect(checked.error?.issues).toMatchObject([
      { path: ['faults'], message: 'the rates of all faults together are above 1' },
    ]);
  });
});

describe('the token', () => {
  const withToken = (server: TestingServer, authorization: string) =>
    statusOf(dailyUrl(server), { headers: { authorization } });

  it('a configured token is required on every /api path, and never shown', async () => {
    await using server = await startWithTenDays({ requiredToken: 'secret' });
    const response = await fetch(`${server.url}/api/none`);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect(await withToken(server, 'Bearer secret2')).toBe(401);
    expect(await withToken(server, 'Basic secret')).toBe(401);
    expect(await withToken(server, 'Bearer secret')).toBe(200);
    expect(await (await fetch(`${server.url}/testing/state`)).text()).not.toContain('secret');
  });
});

describe('a request', () => {
  it('a request waits for latencyMs before it is handled', async () => {
    let handled = 0;
    const onRequest = (): undefined => void (handled += 1);
    await using server = await startWithTenDays({ latencyMs: 3_600_000, onRequest });
    const request = failureOf(fetch(dailyUrl(server)));
    await vi.waitFor(() => expect(server.state.requests().total).toBe(1), { timeout: 20_000 });
    expect(handled).toBe(0);
    await server.close();
    expect(await request).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
    expect(handled).toBe(0);
  });

  it('a request is handled once latencyMs have passed', async () => {
    await using server = await startWithTenDays({ latencyMs: 5 });
    expect(await ratesOn(server)).toEqual([1, 2, 3]);
  });

  it('a request waits for the hook of a test, which sees it decoded and may return a fault', async () => {
    const seen: ArrivedRequest[] = [];
    const faults: (FaultKind | undefined)[] = ['unavailable', undefined];
    await using server = await startWithTenDays({
      onRequest: (request) => {
        seen.push(request);
        return faults.shift();
      },
    });
    expect(await ratesOn(server, { page: 2 })).toBe(503);
    expect(await ratesOn(server, { page: 2 })).toEqual([4, 5, 6]);
    expect(seen[0]).toMatchObject({ endpoint: 'daily-production', parameters: [UWI], method: 'GET' });
    expect(seen[0]?.query.get('page')).toBe('2');
  });

  it('a hook that throws is answered 500 with the stack', async () => {
    await using server = await startWithTenDays({
      onRequest: () => {
        throw new Error('hook broke');
      },
    });
    const response = await fetch(dailyUrl(server));
    expect(response.status).toBe(500);
    expect(await response.text()).toContain('hook broke');
  });

  it.each([
    ['GET', '/api/production/unknown', 404],
    ['GET', '/api', 404],
    ['GET', '/api/production/daily/', 404],
    ['GET', '/api/production/daily/15/9-F-1 C', 404],
    ['POST', '/api/production/daily/x', 405],
    ['PUT', '/api/production/network/pipe', 405],
    ['GET', '/testing/none', 404],
    ['DELETE', '/testing/state', 405],
    ['GET', '/', 404],
  ])('%s %s is answered %d', async (method, path, status) => {
    await using server = await startTestingServer();
    const response = await fetch(`${server.url}${path}`, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty('error');
    expect(response.headers.has('allow')).toBe(status === 405);
  });
});

describe('a server', () => {
  it('a server that is down resets every /api connection until it is up again', async () => {
    await using server = await startWithTenDays();
    await json(`${server.url}/testing/options`, { method: 'PATCH', body: '{"down":true}' });
    expect(await failureOf(fetch(dailyUrl(server)))).toBe('ECONNRESET');
    await json(`${server.url}/testing/options`, { method: 'PATCH', body: '{"down":false}' });
    expect(await ratesOn(server)).toEqual([1, 2, 3]);
  });

  it('a server can be closed with requests in flight, and twice', async () => {
    const arrival = deferred();
    const server = await startWithTenDays({
      onRequest: () => {
        arrival.resolve();
        return deferred<undefined>().promise;
      },
    });
    const failure = failureOf(fetch(dailyUrl(server)));
    await arrival.promise;
    await server.close();
    await server.close();
    expect(await failure).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
  });

  it('a taken port is an error', async () => {
    await using first = await startTestingServer();
    await expect(startTestingServer({ port: first.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
