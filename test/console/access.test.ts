/** Who is let in, and what for: every route of the server, tried by a stranger and by each role. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HttpSettings } from '../../config/http-settings.ts';
import { type Role, roles } from '../../src/core/base/action.ts';
import { UsageError } from '../../src/core/base/errors.ts';
import { Access } from '../../src/app/access/access.ts';
import { versionOfPackage } from '../../src/app/version.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { type ConsoleUnderTest, startConsoleOf, tokensOfRoles } from '../support/console.ts';

/** Nothing listens there: no request of these tests gets that far. */
const nowhere = 'http://127.0.0.1:9';
const many = { requestsPerMinute: 100_000 };

const settingsHere: HttpSettings = {
  host: '127.0.0.1',
  port: 0,
  tokens: [],
  trustedProxies: [],
  userHeader: 'x-forwarded-user',
  users: {},
  otherUsers: undefined,
  requestsPerMinute: 600,
  maxBodyMb: 8,
  maxUploadMb: 1_024,
  maxUnpackedMb: 8_192,
  maxStreams: 1_000,
};

let home: CliHome;
beforeAll(async () => {
  home = await cliHome(nowhere);
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
});

/** A path that the route answers. */
function pathOf(url: string): string {
  return url.replaceAll(/:\w+|\*/g, 'x');
}

function batchesOf<T>(size: number, items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

describe('every route', () => {
  let server: ConsoleUnderTest;
  beforeAll(async () => {
    server = await startConsoleOf(home, { http: { ...many, tokens: tokensOfRoles } });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('is in the list of the server, and only health is for anybody', () => {
    expect(server.routes.length).toBeGreaterThan(5);
    const forAnybody = server.routes.filter(({ access }) => access === 'anybody').map(({ url }) => url);
    const isOfPages = (url: string): boolean => url.startsWith('/static/') || url === '/sign-in' || url === '/sign-out';
    expect(new Set(forAnybody.filter((url) => !isOfPages(url)))).toEqual(new Set(['/healthz', '/readyz']));
    const changing = server.routes.filter(({ method }) => method !== 'GET' && method !== 'HEAD');
    expect(changing.filter(({ access }) => access === 'read')).toEqual([]);
  });

  test('answers a stranger and a wrong token with 401, and a lesser role with 403', async () => {
    // The wrong tokens of an address are limited: so many routes of each server.
    for (const routes of batchesOf(25, server.routes)) {
      await using another = await startConsoleOf(home, { http: { ...many, tokens: tokensOfRoles } });
      const answer = async (method: string, url: string, token?: string): Promise<number> => {
        const response = await another.ask(pathOf(url), { method, ...(token === undefined ? {} : { token }) });
        await response.body?.cancel();
        return response.status;
      };
      for (const { method, url, access } of routes) {
        if (access === 'anybody') continue;
        const route = `${method} ${url}`;
        expect([route, await answer(method, url)]).toEqual([route, 401]);
        for (const wrong of ['wrong', tokensOfRoles[0]?.sha256 ?? '', 'operat']) {
          if (url === '/api/v1/runs') expect([route, await answer(method, url, wrong)]).toEqual([route, 401]);
        }
        for (const lesser of roles.slice(0, roles.indexOf(access))) {
          expect([route, await answer(method, url, lesser)]).toEqual([route, 403]);
        }
      }
    }
  });

  test('tells a stranger nothing of what it has: a path without a route is 401 as well', async () => {
    await using another = await startConsoleOf(home, { http: { ...many, tokens: tokensOfRoles } });
    const stranger = await another.ask('/api/v1/no-such-thing');
    expect(stranger.status).toBe(401);
    expect(await stranger.json()).toMatchObject({ code: 'unauthenticated', status: 401 });
    expect((await another.ask('/api/v1/no-such-thing', { token: 'read' })).status).toBe(404);
    expect((await another.ask('/../../etc/passwd', { token: 'read' })).status).toBe(404);
    expect((await another.ask('/api/v1/runs/..%2f..%2fetc%2fpasswd/rejects', { token: 'read' })).status).toBe(404);
  });

  test('/healthz and /readyz say their status and nothing else', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const response = await server.ask(path);
      expect([response.status, await response.text()]).toEqual([200, 'ok\n']);
    }
  });

  test('G10: no answer repeats a token', async () => {
    for (const path of ['/api/v1/runs', '/api/v1/runs/x', '/nothing']) {
      const response = await server.ask(path, { token: 'a-secret-that-is-wrong' });
      expect(`${JSON.stringify([...response.headers])}${await response.text()}`).not.toContain('a-secret');
    }
  });
});

describe('without tokens', () => {
  const identify = (
    headers: Readonly<Record<string, string>>,
    { settings = {}, remoteAddress = '127.0.0.1', isChange = false, ...rest }: Trial = {},
  ) => new Access(() => ({ ...settingsHere, ...settings })).identify({ headers, remoteAddress, isChange, ...rest });

  interface Trial {
    readonly settings?: Partial<HttpSettings>;
    readonly remoteAddress?: string;
    readonly isChange?: boolean;
  }

  const host = 'localhost:8080';

  test.each(['localhost:8080', '127.0.0.1:8080', '[::1]:8080', '127.0.0.1'])(
    'a program on this host may read and operate, and not delete: Host %s',
    (named) => {
      expect(identify({ host: named })).toMatchObject({ kind: 'loopback', role: 'operate' });
    },
  );

  test.each([
    [{ host: 'rebound.example:8080' }],
    [{ host: '127.0.0.1.example' }],
    [{}],
    [{ host, forwarded: 'for=1.2.3.4' }],
    [{ host, 'x-forwarded-for': '1.2.3.4' }],
    [{ host, 'x-forwarded-user': 'anna' }],
    [{ host, 'x-real-ip': '1.2.3.4' }],
    [{ host, via: '1.1 proxy' }],
    [{ host, authorization: 'Bearer guess' }],
    [{ host, authorization: 'Basic YTpi' }],
  ])('a request with %j is a stranger’s', (headers: Readonly<Record<string, string>>) => {
    expect(() => identify(headers)).toThrow(/token/);
  });

  test('a request from another address is a stranger’s, whatever its Host', () => {
    expect(() => identify({ host }, { remoteAddress: '10.0.0.7' })).toThrow(/token/);
    expect(identify({ host }, { remoteAddress: '::ffff:127.0.0.1' })).toMatchObject({ kind: 'loopback' });
  });

  test.each([
    [{ host, origin: 'https://evil.example' }, false],
    [{ host, origin: 'null' }, false],
    [{ host, 'sec-fetch-site': 'cross-site' }, false],
    [{ host, 'sec-fetch-site': 'same-site' }, false],
    [{ host, origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }, true],
    [{ host }, true],
  ])('a change by a page with %j: let through %s', (headers: Readonly<Record<string, string>>, isLet) => {
    const trying = () => identify(headers, { isChange: true });
    if (isLet) expect(trying()).toMatchObject({ kind: 'loopback' });
    else expect(trying).toThrow(/page of another host/);
  });

  test.each([
    ['0.0.0.0', {}, false],
    ['10.1.2.3', {}, false],
    ['::', {}, false],
    ['0.0.0.0', { tokens: tokensOfRoles }, true],
    ['0.0.0.0', { trustedProxies: ['10.0.0.1'] }, true],
    ['localhost', {}, true],
    ['::1', {}, true],
  ])('an address that others reach is refused without tokens and proxies: %s, %j: %s', (named, settings, isTaken) => {
    const trying = () => new Access(() => ({ ...settingsHere, ...settings, host: named }));
    if (isTaken) expect(trying()).toBeInstanceOf(Access);
    else expect(trying).toThrow(UsageError);
  });

  const proxied: Partial<HttpSettings> = { trustedProxies: ['10.1.0.0/16'], users: { anna: 'delete', per: 'read' } };
  const asUser = (name: string, settings = proxied, remoteAddress = '10.1.0.4') =>
    identify({ host: 'wells.example', 'x-forwarded-user': name }, { settings, remoteAddress });

  test('a user counts from a trusted proxy alone, with the role that the configuration gives', () => {
    expect(asUser('anna')).toMatchObject({ kind: 'user', actor: 'anna (proxy)', role: 'delete' });
    expect(asUser('per')).toMatchObject({ role: 'read' });
    expect(() => asUser('anna', proxied, '10.2.0.4')).toThrow(/token/);
    expect(() => asUser('someone')).toThrow(/no role/);
    expect(() => asUser('constructor')).toThrow(/no role/);
    expect(asUser('someone', { ...proxied, otherUsers: 'read' })).toMatchObject({ role: 'read' });
    // The client sent the header too.
    expect(() => asUser('anna, someone', { ...proxied, otherUsers: 'read' })).toThrow(/no role/);
  });

  test('a host with a trusted proxy is not open to programs on it', () => {
    expect(() => identify({ host }, { settings: proxied })).toThrow(/token/);
  });

  test.each<[Role, boolean]>([
    ['read', true],
    ['operate', false],
  ])('a token that leaves the configuration, or becomes lesser (%s), is refused within 5 s', (role, isStill) => {
    let now = 0;
    let tokens = tokensOfRoles;
    const access = new Access(() => ({ ...settingsHere, tokens }), { now: () => now });
    const caller = { headers: { authorization: 'Bearer operate' }, remoteAddress: '10.0.0.1', isChange: false };
    const identity = { ...access.identify(caller), role };
    tokens = tokensOfRoles.map((token) => (token.name === 'operate' ? { ...token, role: 'read' } : token));
    now = 5_000;
    expect(access.isStill(identity)).toBe(isStill);
    tokens = [];
    now = 10_000;
    expect(access.isStill(identity)).toBe(false);
    expect(() => access.identify(caller)).toThrow(/not known/);
    // The last token is gone: that opens nothing.
    expect(() => access.identify({ ...caller, headers: { host }, remoteAddress: '127.0.0.1' })).toThrow(/token/);
  });

  test('a configuration that cannot be read leaves who was known, and is told once', () => {
    const told: string[] = [];
    let [now, isBroken] = [0, false];
    const access = new Access(
      () => {
        if (isBroken) throw new UsageError('the configuration has a fault');
        return { ...settingsHere, tokens: tokensOfRoles };
      },
      { now: () => now, onStale: (fault) => told.push(String(fault)) },
    );
    [now, isBroken] = [5_000, true];
    const caller = { headers: { authorization: 'Bearer read' }, remoteAddress: '10.0.0.1', isChange: false };
    expect(access.identify(caller)).toMatchObject({ name: 'read', role: 'read' });
    now = 10_000;
    expect(access.identify(caller)).toMatchObject({ name: 'read', role: 'read' });
    expect(told).toEqual(['UsageError: the configuration has a fault']);
  });
});

test('a caller may ask so often in a minute, and a stranger less; each is told when to ask again', async () => {
  await using server = await startConsoleOf(home, { http: { requestsPerMinute: 5, tokens: tokensOfRoles } });
  const statuses = async (token: string, count: number) => {
    const found: number[] = [];
    for (let n = 0; n < count; n += 1) {
      const response = await server.ask('/api/v1/openapi.json', { token });
      await response.text();
      found.push(response.status);
    }
    return found;
  };
  expect(await statuses('read', 6)).toEqual([200, 200, 200, 200, 200, 429]);
  expect(await statuses('operate', 1)).toEqual([200]);
  expect((await statuses('wrong', 31)).at(-1)).toBe(429);
  const refused = await server.ask('/api/v1/openapi.json', { token: 'read' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ code: 'too-many-requests', status: 429 });
});

describe('a stranger', () => {
  const html = { accept: 'text/html,*/*' };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const signIn = (server: ConsoleUnderTest, body: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${server.url}/sign-in`, { method: 'POST', redirect: 'manual', headers: { ...form, ...headers }, body });
  const start = (more: Partial<HttpSettings> = {}) =>
    startConsoleOf(home, { http: { ...many, tokens: tokensOfRoles, ...more } });

  test('is shown no service, warehouse or version, whatever goes wrong', async () => {
    await using server = await start();
    const { service } = server.app.config;
    const told = [
      server.app.warehouse.location,
      'warehouse.duckdb',
      versionOfPackage(),
      service.id ?? '',
      service.url ?? '',
    ];
    const wrong = { authorization: 'Bearer guess' };
    const json = { 'content-type': 'application/json' };
    const attempts: ReadonlyArray<readonly [number, () => Promise<Response>]> = [
      [200, () => server.ask('/sign-in', { headers: html })],
      [400, () => signIn(server, 'x=1', html)],
      [400, () => signIn(server, '{}', { ...html, ...json })],
      [400, () => signIn(server, '{', { ...html, ...json })],
      [413, () => signIn(server, `token=${'x'.repeat(10_001)}`, html)],
      [415, () => signIn(server, 'x', { ...html, 'content-type': 'image/png' })],
      [403, () => signIn(server, 'token=read', { ...html, origin: 'https://evil.example' })],
      [403, () => server.ask('/sign-out', { method: 'POST', headers: { ...html, 'sec-fetch-site': 'cross-site' } })],
      [303, () => fetch(`${server.url}/`, { headers: html, redirect: 'manual' })],
      [401, () => fetch(`${server.url}/nothing`, { headers: html, redirect: 'manual' })],
      [401, () => fetch(`${server.url}/sign-in`, { method: 'PUT', headers: html, redirect: 'manual' })],
      [400, () => server.ask('/%zz', { headers: html })],
    ];
    for (const [index, [status, attempt]] of attempts.entries()) {
      const answer = await attempt();
      expect([index, answer.status]).toEqual([index, status]);
      const text = `${JSON.stringify([...answer.headers])}${await answer.text()}`;
      for (const name of told.filter((each) => each !== ''))
        expect([index, text.includes(name)]).toEqual([index, false]);
    }
    for (let attempt = 0; attempt < 31; attempt += 1) await server.ask('/', { headers: { ...html, ...wrong } });
    const limited = await server.ask('/', { headers: { ...html, ...wrong } });
    expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true]);
    const page = await limited.text();
    expect(page).toContain('Too many requests');
    for (const name of told.filter((each) => each !== '')) expect(page).not.toContain(name);
    // A reader who is known sees the frame around the same errors.
    const known = await server.ask('/nothing', { token: 'read', headers: html });
    expect(await known.text()).toContain(server.app.warehouse.location);
  });

  test('shuts nobody out: wrong tokens alone are counted, and a right one is let in all the same', async () => {
    await using server = await start();
    const statuses = new Set<number>();
    for (let attempt = 0; attempt < 40; attempt += 1) statuses.add((await server.ask('/api/v1/runs')).status);
    expect([...statuses]).toEqual([401]);
    for (let attempt = 0; attempt < 40; attempt += 1) statuses.add((await signIn(server, 'token=guess')).status);
    expect([...statuses]).toEqual([401, 429]);
    expect((await server.ask('/api/v1/runs', { token: 'guess' })).status).toBe(429);
    expect((await server.ask('/api/v1/runs')).status).toBe(401);
    expect((await signIn(server, 'token=read')).status).toBe(303);
    expect((await server.ask('/api/v1/openapi.json', { token: 'read' })).status).toBe(200);
  });

  test('is counted by its own address behind a trusted proxy, and by that of the connection behind another', async () => {
    const guess = (server: ConsoleUnderTest, forwarded: string) =>
      server.ask('/api/v1/runs', { token: 'guess', headers: { 'x-forwarded-for': forwarded } });
    for (const [proxy, other] of [
      ['127.0.0.1', 401],
      ['10.9.9.9', 429],
    ] as const) {
      await using server = await start({ trustedProxies: [proxy] });
      for (let attempt = 0; attempt < 31; attempt += 1) await guess(server, `1.2.3.${attempt}, 5.6.7.8`);
      expect((await guess(server, '9.9.9.9, 5.6.7.8')).status).toBe(429);
      expect((await guess(server, '5.6.7.9')).status).toBe(other);
    }
  });

  test.each([
    [{}, '127.0.0.1', '127.0.0.1'],
    [{ 'x-forwarded-for': '1.2.3.4' }, '10.9.0.1', '10.9.0.1'],
    [{ 'x-forwarded-for': '1.2.3.4' }, '::ffff:127.0.0.1', '1.2.3.4'],
    [{ 'x-forwarded-for': '6.6.6.6, 1.2.3.4, 10.1.0.9' }, '127.0.0.1', '1.2.3.4'],
    [{ 'x-forwarded-for': '1.2.3.4:5678' }, '127.0.0.1', '1.2.3.4'],
    [{ 'x-forwarded-for': '[2001:db8::1]:443' }, '127.0.0.1', '2001:db8::1'],
    [{ 'x-forwarded-for': 'unknown' }, '127.0.0.1', '127.0.0.1'],
    [{ 'x-forwarded-for': '10.1.0.3, 10.1.0.4' }, '127.0.0.1', '10.1.0.3'],
    [{ 'x-forwarded-for': '' }, '127.0.0.1', '127.0.0.1'],
  ])('with %j from %s is at %s', (headers: Readonly<Record<string, string>>, remoteAddress, address) => {
    const settings = { ...settingsHere, trustedProxies: ['127.0.0.1', '10.1.0.0/16'] };
    expect(new Access(() => settings).addressOf({ headers, remoteAddress })).toBe(address);
  });
});
