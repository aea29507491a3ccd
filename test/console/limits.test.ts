/** What one caller, or a stranger, may take of the server, so that others are served. */
import { existsSync, readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openStream } from '../support/event-stream.ts';
import { tokensOfRoles } from '../support/console.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';

const patiently = { timeout: 60_000 };

/** Linux answers at all of 127.0.0.0/8, others at 127.0.0.1 alone. */
const isAlone = process.platform !== 'linux';
const alone = isAlone ? ' (skipped: this host has one loopback address)' : '';

let served: ServedInstallation;
beforeAll(async () => {
  served = await serveInstallation({ works: false });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

/** Sockets at the server that send this, and nothing more; `closed` counts those that it has ended. */
async function silentSockets(count: number, sent = '', localAddress = '127.0.0.1') {
  const { hostname, port } = new URL(served.server.url);
  let closed = 0;
  const open = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), localAddress }, () => resolve(socket));
      socket.on('error', reject).on('close', () => (closed += 1));
      socket.resume();
      if (sent !== '') socket.write(sent);
    });
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(100, count - sockets.length) }, open))));
  }
  return {
    sockets,
    closed: () => closed,
    [Symbol.dispose]: () => sockets.forEach((socket) => socket.destroy()),
  };
}

/** Over a connection of its own, as a probe does it. */
async function probe(route = '/healthz'): Promise<string> {
  const { hostname, port } = new URL(served.server.url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname);
    socket.setEncoding('utf8').on('data', (part: string) => (text += part));
    socket.on('error', reject).on('close', () => resolve(text.split('\r\n')[0] ?? ''));
    socket.write(`GET ${route} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  });
}

describe('silent connections', () => {
  const drops = 'GET /api/v1/runs HTTP/1.1\r\nHost: x\r\n';
  const slowBody = 'POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
  const kept = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

  test.each([
    ['that never send a byte', ''],
    ['that send their headers by drops', drops],
    ['that send the body of a sign-in by drops', slowBody],
    ['that are kept after an answer', kept],
  ])('1,500 of an address %s keep no probe from its answer, from there or elsewhere', async (_, sent) => {
    using stream = openStream(served.server.url, { token: 'read' });
    await stream.hears('"runs"');
    using silent = await silentSockets(1_500, sent);
    expect(await probe('/healthz')).toBe('HTTP/1.1 200 OK');
    expect(await probe('/readyz')).toBe('HTTP/1.1 200 OK');
    // The oldest went, down to 128; whoever was let in stayed.
    await vi.waitFor(() => expect(silent.closed()).toBeGreaterThanOrEqual(1_500 - 128 - 2), patiently);
    expect(silent.sockets.slice(0, 100).every(({ closed }) => closed)).toBe(true);
    expect(stream.socket.closed).toBe(false);
    expect((await served.server.ask('/api/v1/runs', { token: 'read' })).status).toBe(200);
  });

  test.skipIf(isAlone)(`of many addresses are bounded together${alone}`, async () => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) => silentSockets(100, '', `127.0.0.${index + 2}`)),
    );
    await vi.waitFor(() => {
      expect(all.reduce((sum, { closed }) => sum + closed(), 0)).toBeGreaterThanOrEqual(800 - 512);
    }, patiently);
    expect(await probe()).toBe('HTTP/1.1 200 OK');
    expect(all.at(-1)?.closed()).toBe(0);
    for (const each of all) each[Symbol.dispose]();
  });

  test.skipIf(isAlone)(`of a trusted proxy may be more${alone}`, async () => {
    await using proxied = await serveInstallation({ works: false, http: { trustedProxies: ['127.0.0.1'] } });
    const before = served;
    served = proxied;
    try {
      using silent = await silentSockets(400);
      // Another address has its own bound, and is trimmed with it.
      using other = await silentSockets(140, '', '127.0.0.9');
      await vi.waitFor(() => expect(other.closed()).toBeGreaterThanOrEqual(12), patiently);
      expect(silent.closed()).toBeLessThan(60);
    } finally {
      served = before;
    }
  });
});

test('requests of many callers that come at once are all answered', async () => {
  const { hostname, port } = new URL(served.server.url);
  const ask = (): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(Number(port), hostname).setEncoding('utf8');
      socket.on('data', (part: string) => (text += part)).on('error', reject);
      socket.on('close', () => resolve(text.slice(0, 12)));
      socket.write(
        'GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer read\r\nConnection: close\r\n\r\n',
      );
    });
  expect(new Set(await Promise.all(Array.from({ length: 600 }, ask)))).toEqual(new Set(['HTTP/1.1 200']));
});

test('a minute of requests is one, also when the clock of the host is set back', async () => {
  await using slow = await serveInstallation({ works: false, http: { requestsPerMinute: 2 } });
  const ask = async (): Promise<number> => (await slow.server.ask('/api/v1/openapi.json', { token: 'read' })).status;
  expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
  const minutes = performance.now() + 60_000;
  const monotonic = vi.spyOn(performance, 'now').mockReturnValue(minutes);
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 86_400_000);
  try {
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
    const refused = await slow.server.ask('/api/v1/openapi.json', { token: 'read' });
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  } finally {
    monotonic.mockRestore();
    clock.mockRestore();
  }
});

test('a caller has 20 streams of events, whatever it signed in with, and others have theirs', async () => {
  const { url } = served.server;
  const cookie = await served.server.signIn('read');
  const streams = Array.from({ length: 20 }, (_, index) =>
    openStream(url, index < 10 ? { token: 'read' } : { cookie }),
  );
  await Promise.all(streams.map((stream) => stream.hears('"runs"')));
  const refused = await served.server.ask('/api/v1/events', { token: 'read' });
  expect([refused.status, await refused.json()]).toMatchObject([
    429,
    { code: 'too-many-streams', detail: 'read (token) has 20 streams open, and may have no more' },
  ]);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  using other = openStream(url, { token: 'operate' });
  await other.hears('"runs"');
  for (const stream of streams) stream[Symbol.dispose]();
  await vi.waitFor(async () => {
    using again = openStream(url, { token: 'read' });
    await vi.waitFor(() => expect(again.text()).toMatch(/^HTTP\/1\.1 200 /));
  }, patiently);
});

describe('uploads', () => {
  const header =
    'sourceNetworkId,sourceId,date,upstreamSourceId,downstreamSourceId,enabled,length,trueVerticalDepth,innerDiameter,roughness\n';
  const rowOf = (id: number): string => `N,P${id},2024-01-01T00:00:00Z,A,B,true,[1],[2],[3],[4]\n`;
  const check = (body: string | Uint8Array<ArrayBuffer>, token = 'operate') =>
    served.server.ask('/api/v1/pushes?dryRun=true', { token, body, headers: { 'content-type': 'application/gzip' } });
  const spooled = (): readonly string[] => {
    const folder = path.join(served.home.folder, 'spool');
    return existsSync(folder) ? readdirSync(folder) : [];
  };

  test('that unpack to more than 600 times their bytes are refused, and leave nothing behind', async () => {
    const bomb = new Uint8Array(gzipSync(`${header}${'\n'.repeat(60_000_000)}`));
    const answer = await check(bomb);
    expect([answer.status, await answer.json()]).toMatchObject([
      413,
      {
        code: 'unpacks-too-far',
        detail: expect.stringContaining('more than 600 times its'),
        hint: expect.stringContaining('unpacked'),
      },
    ]);
    expect(spooled()).toEqual([]);
  });

  test('that pack well are taken: rows that differ in their number, and a little of anything', async () => {
    const rows = Array.from({ length: 100_000 }, (_, index) => rowOf(index)).join('');
    expect(await (await check(new Uint8Array(gzipSync(header + rows)))).json()).toMatchObject({
      counts: { rows: 100_000 },
    });
    const dense = new Uint8Array(gzipSync(`${header}${rowOf(1)}${'\n'.repeat(20_000_000)}`));
    expect(dense.length * 600).toBeLessThan(20_000_000);
    expect(await (await check(dense)).json()).toMatchObject({ counts: { rows: 1 } });
  });

  test('that are damaged are told of by their name, and by no path of this host', async () => {
    const whole = gzipSync(header + rowOf(1));
    const answer = await check(new Uint8Array(whole.subarray(0, whole.length - 9)));
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { detail: 'upload.csv is a gzip file that cannot be unpacked: it ends before it is complete' },
    ]);
  });

  test('whose client is gone are checked no further, and give up their places', async () => {
    const part = gzipSync('\n'.repeat(20_000_000), { level: 1 });
    const long = Buffer.concat([gzipSync(header + rowOf(1)), ...Array.from({ length: 150 }, () => part)]);
    const { hostname, port } = new URL(served.server.url);
    const clients = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const socket = connect(Number(port), hostname).on('error', () => undefined);
        socket.write(
          'POST /api/v1/pushes?dryRun=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer operate\r\n' +
            `Content-Type: application/gzip\r\nContent-Length: ${long.length}\r\n\r\n`,
        );
        await new Promise((resolve) => socket.write(long, resolve));
        return socket;
      }),
    );
    await vi.waitFor(async () => expect((await check(header + rowOf(1))).status).toBe(429), patiently);
    for (const socket of clients) socket.destroy();
    await vi.waitFor(async () => expect((await check(header + rowOf(1))).status).toBe(200), {
      ...patiently,
      interval: 500,
    });
    await vi.waitFor(() => expect(spooled()).toEqual([]), patiently);
  });

  test('of another type are refused at once, and end no server later', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      for (const type of ['application/json', 'text/plain']) {
        const headers = { 'content-type': type };
        const answer = await served.server.ask('/api/v1/pushes', { token: 'operate', body: '{"a":1}', headers });
        expect([answer.status, await answer.json()]).toMatchObject([415, { code: 'invalid-media-type' }]);
      }
      vi.advanceTimersByTime(60_000);
    } finally {
      vi.useRealTimers();
    }
  });

  test('start nothing once their token is gone, or may do less', async () => {
    const { hostname, port } = new URL(served.server.url);
    const withoutOperate = [
      tokensOfRoles.filter(({ name }) => name !== 'operate'),
      tokensOfRoles.map((token) => ({ ...token, role: 'read' as const })),
    ];
    const row = rowOf(Date.now());
    for (const tokens of withoutOperate) {
      let text = '';
      const socket = connect(Number(port), hostname).setEncoding('utf8');
      socket.on('data', (part: string) => (text += part)).on('error', () => undefined);
      socket.write(
        'POST /api/v1/pushes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer operate\r\n' +
          `Content-Type: text/csv\r\nContent-Length: ${header.length + row.length}\r\n\r\n${header}`,
      );
      await vi.waitFor(() => expect(spooled()).toHaveLength(1), patiently);
      served.server.setAccess({ tokens });
      served.server.pass(5_000);
      socket.write(row);
      await vi.waitFor(() => expect(text).toMatch(/^HTTP\/1\.1 401 .*"no-longer-admitted"/s), patiently);
      socket.destroy();
      served.server.setAccess({ tokens: tokensOfRoles });
      served.server.pass(5_000);
      await vi.waitFor(() => expect(spooled()).toEqual([]), patiently);
    }
  });

  test('of one caller leave a place to others', async () => {
    const { hostname, port } = new URL(served.server.url);
    const slow = Array.from({ length: 3 }, () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      socket.write(
        'POST /api/v1/pushes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer operate\r\n' +
          `Content-Type: text/csv\r\nContent-Length: 1000\r\n\r\n${header}`,
      );
      return socket;
    });
    await vi.waitFor(() => expect(spooled()).toHaveLength(3), patiently);
    const refused = await check(header + rowOf(1));
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'too-many-uploads' }]);
    expect((await check(header + rowOf(1), 'delete')).status).toBe(200);
    for (const socket of slow) socket.destroy();
    await vi.waitFor(() => expect(spooled()).toEqual([]), patiently);
    expect((await check(header + rowOf(1))).status).toBe(200);
  });
});
