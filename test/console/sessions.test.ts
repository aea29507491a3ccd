/** Readers who sign in have a session of their own, which ends; tokens may have a last day. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HttpSettings } from '../../config/http-settings.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { type ConsoleUnderTest, startConsoleOf, tokensOfRoles } from '../support/console.ts';
import { openStream } from '../support/event-stream.ts';

const html = { accept: 'text/html,*/*' };
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let home: CliHome;
beforeAll(async () => {
  home = await cliHome('http://127.0.0.1:9');
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
});

const start = (http: Partial<HttpSettings> = {}) =>
  startConsoleOf(home, { http: { requestsPerMinute: 100_000, tokens: tokensOfRoles, ...http } });

/** Status and code of what a reader's script asks with its cookie. */
async function askWith(server: ConsoleUnderTest, cookie: string): Promise<readonly [number, string | undefined]> {
  const answer = await server.ask('/api/v1/openapi.json', { headers: { cookie } });
  const { code } = (await answer.json()) as { readonly code?: string };
  return [answer.status, code];
}

const signOut = (server: ConsoleUnderTest, cookie: string) =>
  fetch(`${server.url}/sign-out`, { method: 'POST', redirect: 'manual', headers: { cookie } });

describe('a session', () => {
  const ended = [401, 'session-ended'];
  const open = [200, undefined];

  test('is not the token, which counts in no cookie', async () => {
    await using server = await start();
    const cookie = await server.signIn('read');
    expect(cookie).toMatch(/^wellsync_session=[\w-]{43}$/);
    expect(await askWith(server, cookie)).toEqual(open);
    for (const name of ['wellsync_session', 'wellsync_token', 'token']) {
      expect((await askWith(server, `${name}=read`))[0]).toBe(401);
    }
    const id = cookie.split('=')[1] ?? '';
    expect((await server.ask('/api/v1/openapi.json', { token: id })).status).toBe(401);
    expect(await server.signIn('guess')).toBe('');
  });

  test('has the role of its token, whatever becomes of that', async () => {
    await using server = await start();
    const cookie = await server.signIn('operate');
    const release = async (): Promise<number> =>
      (await server.ask('/api/v1/schedules/none/pause', { method: 'POST', headers: { cookie } })).status;
    expect(await release()).toBe(404);
    server.setAccess({ tokens: tokensOfRoles.map((token) => ({ ...token, role: 'read' })) });
    server.pass(5_000);
    expect(await release()).toBe(403);
  });

  test('ends by signing out, for the same cookie too; those of others go on', async () => {
    await using server = await start();
    const [mine, other] = [await server.signIn('read'), await server.signIn('read')];
    const answer = await signOut(server, mine);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/sign-in']);
    expect(answer.headers.get('set-cookie')).toMatch(/^wellsync_session=; Path=\/; Max-Age=0;/);
    expect(await askWith(server, mine)).toEqual(ended);
    expect(await askWith(server, other)).toEqual(open);
    expect((await signOut(server, 'wellsync_session=none')).status).toBe(303);
    expect((await signOut(server, '')).status).toBe(303);
  });

  test('ends by signing in again with the same browser', async () => {
    await using server = await start();
    const before = await server.signIn('read');
    const answer = await fetch(`${server.url}/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: before, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'token=operate',
    });
    expect(answer.status).toBe(303);
    expect(await askWith(server, before)).toEqual(ended);
  });

  test('ends after 14 hours', async () => {
    await using server = await start();
    const cookie = await server.signIn('read');
    server.pass(14 * hourMs - 60_000);
    expect(await askWith(server, cookie)).toEqual(open);
    server.pass(60_000);
    expect(await askWith(server, cookie)).toEqual(ended);
  });

  test('ends when its token leaves the configuration, and does not come back with it', async () => {
    await using server = await start();
    const [mine, other] = [await server.signIn('operate'), await server.signIn('read')];
    server.setAccess({ tokens: tokensOfRoles.filter(({ name }) => name !== 'operate') });
    server.pass(5_000);
    expect(await askWith(server, mine)).toEqual(ended);
    expect(await askWith(server, other)).toEqual(open);
    server.setAccess({ tokens: tokensOfRoles });
    server.pass(5_000);
    expect(await askWith(server, mine)).toEqual(ended);
  });

  test('ends with its token, and so does the token, when the clock of the host is set back', async () => {
    await using server = await start();
    const cookie = await server.signIn('operate');
    server.pass(-dayMs);
    server.setAccess({ tokens: tokensOfRoles.filter(({ name }) => name !== 'operate') });
    server.pass(5_000);
    expect((await server.ask('/api/v1/openapi.json', { token: 'operate' })).status).toBe(401);
    expect(await askWith(server, cookie)).toEqual(ended);
  });

  test('ends with the server: pages lead to signing in, with words, and nobody is locked out by asking again', async () => {
    let cookie = '';
    {
      await using before = await start();
      cookie = await before.signIn('read');
    }
    await using server = await start();
    // Open pages of all readers behind one address, each every two seconds.
    for (let attempt = 0; attempt < 100; attempt += 1) expect(await askWith(server, cookie)).toEqual(ended);
    const page = await server.ask('/runs?state=done', { headers: { ...html, cookie } });
    expect(new URL(page.url).pathname).toBe('/sign-in');
    const led = await server.ask('/sign-in?to=/runs', { headers: { ...html, cookie } });
    expect(await led.text()).toContain('Your session has ended');
    expect(await (await server.ask('/sign-in', { headers: html })).text()).not.toContain('session has ended');
    // A wrong token is looked at as ever, and a right one signs in.
    expect((await server.ask('/api/v1/runs', { token: 'guess' })).status).toBe(401);
    expect(await askWith(server, await server.signIn('read'))).toEqual(open);
  });

  test('is counted by itself: readers who share a token do not use up each other requests', async () => {
    await using server = await start({ requestsPerMinute: 20 });
    const readers = await Promise.all(Array.from({ length: 5 }, () => server.signIn('read')));
    for (let look = 0; look < 20; look += 1) {
      for (const cookie of readers) expect(await askWith(server, cookie)).toEqual(open);
    }
    expect((await askWith(server, readers[0] ?? ''))[0]).toBe(429);
    expect((await server.ask('/api/v1/openapi.json', { token: 'read' })).status).toBe(200);
  });

  test('opens whatever page it leads to, be that no header', async () => {
    await using server = await start();
    for (const to of ['/wells/\u00d8-1', '/a\u0001b', '//elsewhere', '/\\elsewhere']) {
      const body = new URLSearchParams({ token: 'read', to });
      const answer = await fetch(`${server.url}/sign-in`, { method: 'POST', redirect: 'manual', body });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    }
  });

  test('that is over leaves a reader who is known otherwise', async () => {
    await using server = await start({ tokens: [] });
    expect(await askWith(server, 'wellsync_session=of-another-day')).toEqual(open);
  });

  test('takes its stream of events with it within seconds, and no other one', async () => {
    await using server = await start();
    const [mine, other] = [await server.signIn('read'), await server.signIn('read')];
    using stream = openStream(server.url, { cookie: mine });
    using another = openStream(server.url, { cookie: other });
    await Promise.all([stream.hears('"runs"'), another.hears('"runs"')]);
    await signOut(server, mine);
    await stream.ended;
    expect(stream.text()).toContain(': no longer let in');
    // The heartbeat of 15 s has not come yet.
    expect(stream.text()).not.toContain(': beat');
    expect(another.socket.closed).toBe(false);
  });
});

describe('a token with a last day', () => {
  const today = new Date().toISOString().slice(0, 10);
  const yesterday = new Date(Date.now() - dayMs).toISOString().slice(0, 10);
  const withLastDay = (expires: string): HttpSettings['tokens'] =>
    tokensOfRoles.map((token) => (token.name === 'operate' ? { ...token, expires } : token));

  test('that is over is told so, and what to do; it is no guess', async () => {
    await using server = await start({ tokens: withLastDay(yesterday) });
    for (let attempt = 0; attempt < 40; attempt += 1) {
      const answer = await server.ask('/api/v1/openapi.json', { token: 'operate' });
      expect([answer.status, await answer.json()]).toMatchObject([
        401,
        {
          code: 'token-expired',
          detail: `the token operate expired with ${yesterday} (UTC)`,
          hint: expect.any(String),
        },
      ]);
    }
    const signIn = await fetch(`${server.url}/sign-in`, { method: 'POST', body: new URLSearchParams('token=operate') });
    expect(signIn.status).toBe(401);
    expect(await signIn.text()).toContain(`The token operate expired with ${yesterday} (UTC).`);
    expect((await server.ask('/api/v1/openapi.json', { token: 'read' })).status).toBe(200);
  });

  test('counts until the end of it, and takes its sessions and streams with it', async () => {
    await using server = await start({ tokens: withLastDay(today) });
    const cookie = await server.signIn('operate');
    using byToken = openStream(server.url, { token: 'operate' });
    using byCookie = openStream(server.url, { cookie });
    using other = openStream(server.url, { token: 'read' });
    await Promise.all([byToken.hears('"runs"'), byCookie.hears('"runs"'), other.hears('"runs"')]);
    server.pass(dayMs);
    await Promise.all([byToken.ended, byCookie.ended]);
    expect(other.socket.closed).toBe(false);
    expect((await askWith(server, cookie))[1]).toBe('session-ended');
    server.setAccess({ tokens: tokensOfRoles });
    server.pass(5_000);
    expect((await askWith(server, cookie))[1]).toBe('session-ended');
    expect((await server.ask('/api/v1/openapi.json', { token: 'operate' })).status).toBe(200);
    server.setAccess({ tokens: withLastDay(today) });
    server.pass(5_000);
    expect((await server.ask('/api/v1/openapi.json', { token: 'operate' })).status).toBe(401);
  });
});
