import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { AbortedError } from '../../../src/core/base/errors.ts';
import type { ClientCredentials } from '../../../src/service/settings.ts';
import { deferred } from '../../support/deferred.ts';
import { startScriptedServer, type Reply, type Script } from '../../support/scripted-server.ts';
import { rejectionOf, serviceAt } from '../../support/service-under-test.ts';

const secret = 's3cret/+&=';
const page = { uwi: 'W' };

let closers: AsyncDisposable[] = [];
afterEach(async () => {
  for (const closer of closers.toReversed()) await closer[Symbol.asyncDispose]();
  closers = [];
});

/** A service that accepts the tokens named, and an endpoint that issues them. `clock.nowMs` is the current time. */
async function start(options: {
  readonly endpoint?: Script | readonly Reply[];
  readonly taken?: (token: string) => boolean;
  readonly credentials?: Partial<ClientCredentials>;
}) {
  const clock = { nowMs: 0 };
  const { endpoint: script = tokens(3_600), taken = () => true } = options;
  const endpoint = await startScriptedServer(script);
  const service = await startScriptedServer(({ headers }) => {
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    return taken(token) ? { body: [token] } : { status: 401 };
  });
  const token: ClientCredentials = {
    kind: 'client-credentials',
    tokenUrl: `${endpoint.baseUrl}/oauth/token/`,
    clientId: 'well sync',
    clientSecret: { kind: 'value', value: secret },
    ...options.credentials,
  };
  const client = serviceAt(service.baseUrl, { token }, { now: () => clock.nowMs });
  closers.push(endpoint, service, client);
  const ask = async (signal?: AbortSignal) => {
    const answer = await client.service.fetchDailyProductionPage(page, signal === undefined ? {} : { signal });
    return answer.records;
  };
  return { endpoint, service, clock, client, ask };
}

/** A new token for each request: token-0, token-1, … */
function tokens(expiresIn: number | string | undefined): Script {
  return (_request, index) => ({
    body: { access_token: `token-${index}`, token_type: 'Bearer', expires_in: expiresIn },
  });
}

describe('client credentials', () => {
  it('client credentials are sent in the header, form-encoded, with scope and audience', async () => {
    const { endpoint, ask } = await start({ credentials: { scope: 'read write', audience: 'https://pds' } });
    expect(await ask()).toEqual(['token-0']);
    const [request] = endpoint.requests;
    expect(request).toMatchObject({ method: 'POST', url: '/oauth/token/' });
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    const [, basic = ''] = (request?.headers.authorization ?? '').split('Basic ');
    expect(Buffer.from(basic, 'base64').toString()).toBe('well+sync:s3cret%2F%2B%26%3D');
    expect(request?.body).toBe('grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fpds');
  });

  it('client credentials are sent in the form when configured', async () => {
    const { endpoint, ask } = await start({ credentials: { credentialsIn: 'form' } });
    await ask();
    const form = new URLSearchParams(endpoint.requests[0]?.body);
    expect([form.get('client_id'), form.get('client_secret')]).toEqual(['well sync', secret]);
    expect(endpoint.requests[0]?.headers.authorization).toBeUndefined();
  });
});

describe('a token', () => {
  it('a token is fetched once for all calls, concurrent ones included', async () => {
    const { endpoint, ask } = await start({});
    const all = await Promise.all([ask(), ask(), ask(), ask()]);
    expect(all.flat()).toEqual(Array(4).fill('token-0'));
    await ask();
    expect(endpoint.requests).toHaveLength(1);
  });

  it.each([
    [3_600, 3_539_999, 3_540_000],
    ['300', 269_999, 270_000],
  ])('a token of %s seconds is used at %s ms and renewed at %s ms', async (expiresIn, usedMs, renewedMs) => {
    const { clock, ask } = await start({ endpoint: tokens(expiresIn) });
    await ask();
    clock.nowMs = usedMs;
    expect(await ask()).toEqual(['token-0']);
    clock.nowMs = renewedMs;
    expect(await ask()).toEqual(['token-1']);
  });

  it('a token without a lifetime is used until it is refused', async () => {
    let taken = 'token-0';
    const { clock, endpoint, ask } = await start({ endpoint: tokens(undefined), taken: (token) => token === taken });
    await ask();
    clock.nowMs = 1e12;
    expect(await ask()).toEqual(['token-0']);
    taken = 'token-1';
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([['token-1'], ['token-1'], ['token-1']]);
    expect(endpoint.requests).toHaveLength(2);
  });

  it('a token refused again after one renewal is an AccessError', async () => {
    const { endpoint, service, ask } = await start({ taken: () => false });
    expect(await rejectionOf(ask())).toMatchObject({ name: 'AccessError', code: 'unauthorized' });
    expect([endpoint.requests.length, service.requests.length]).toEqual([2, 2]);
  });

  it('a token is used until it expires while the endpoint cannot renew it', async () => {
    const first: Reply = { body: { access_token: 'first', expires_in: 100 } };
    const { clock, ask } = await start({ endpoint: [first, { status: 503 }] });
    await ask();
    clock.nowMs = 95_000;
    expect(await ask()).toEqual(['first']);
    clock.nowMs = 100_000;
    expect(await rejectionOf(ask())).toMatchObject({ name: 'TransientError', code: 'http-503' });
  });

  it('an aborted call does not cancel the token fetch of the others', async () => {
    const release = deferred();
    const { endpoint, ask } = await start({
      endpoint: async () => {
        await release.promise;
        return { body: { access_token: 'late' } };
      },
    });
    const controller = new AbortController();
    const impatient = rejectionOf(ask(controller.signal));
    const patient = ask();
    await endpoint.arrived(1);
    controller.abort();
    expect(await impatient).toBeInstanceOf(AbortedError);
    release.resolve();
    expect(await patient).toEqual(['late']);
    expect(endpoint.requests).toHaveLength(1);
  });
});

describe('an endpoint without a token', () => {
  it.each<readonly [string, Reply, string, string]>([
    ['400 invalid_scope', { status: 400, body: { error: 'invalid_scope' } }, 'AccessError', 'Check the scope.'],
    [
      '401 invalid_client',
      { status: 401, body: { error: 'invalid_client' } },
      'AccessError',
      'client id and its secret',
    ],
    ['403', { status: 403 }, 'AccessError', 'address of the token endpoint'],
    ['404, which is not about a well', { status: 404 }, 'AccessError', 'address of the token endpoint'],
    ['an answer without a token', { body: { token: 'abc' } }, 'AccessError', 'address of the token endpoint'],
    ['503', { status: 503 }, 'TransientError', ''],
    ['429', { status: 429 }, 'TransientError', ''],
    ['a web page', { headers: { 'content-type': 'text/html' }, body: '<html>' }, 'TransientError', ''],
    ['a reset', { fault: 'reset' }, 'TransientError', ''],
  ])(
    'a token endpoint that answers %s fails the call, and nothing is sent to the service',
    async (_name, reply, name, hint) => {
      const { endpoint, service, ask } = await start({ endpoint: [reply] });
      const error = (await rejectionOf(ask())) as { readonly hint?: string };
      expect(error).toMatchObject({ name });
      expect(error.hint ?? '').toContain(hint);
      expect(service.requests).toHaveLength(0);
      expect(endpoint.requests).toHaveLength(name === 'AccessError' ? 1 : 3);
    },
  );

  it('G10: no answer of the token endpoint puts a secret into an error', async () => {
    const echo: Script = ({ body, headers }) => ({ status: 400, body: { error: 'x', body, secret, headers } });
    const failing: Script = ({ body, headers }) => ({
      status: 500,
      body: `${body} ${secret} ${headers.authorization}`,
    });
    const unusable: Reply = { body: `{"access_token":"t0ken t0ken","client_secret":${JSON.stringify(secret)}` };
    const asCode: Reply = { status: 400, body: { error: secret } };
    const signIn: Reply = { headers: { 'content-type': 'text/html' }, body: '<html>t0ken</html>' };
    const cut: Reply = { status: 500, body: '{"access_token":"fresh t0ken' };
    const odd: Reply = { status: 207, body: 't0ken' };
    for (const endpoint of [echo, failing, [unusable], [asCode], [signIn], [cut], [odd]]) {
      for (const credentialsIn of ['header', 'form'] as const) {
        const { ask } = await start({ endpoint, credentials: { credentialsIn } });
        const shown = inspect(await rejectionOf(ask()), { depth: 9, showHidden: true });
        expect(shown).toContain('/oauth/token');
        expect(shown).not.toMatch(/s3cret|t0ken|d2VsbCtzeW5j/);
      }
    }
  });
});

it('a token endpoint address with a secret is refused without being shown', () => {
  const token = { kind: 'client-credentials', clientId: 'a', clientSecret: { kind: 'value', value: 'b' } } as const;
  const create = () => serviceAt('http://127.0.0.1:9', { token: { ...token, tokenUrl: 'https://a:s3cret@idp/token' } });
  expect(create).toThrow('the address of the token endpoint, https://idp, holds a user name or a password');
  expect(create).not.toThrow(/s3cret/);
});
