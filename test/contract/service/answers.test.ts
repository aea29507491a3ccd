/** What counts as an answer of the service, and how much of one is read. */
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { timeSeries } from '../../../src/core/definitions/record-list.ts';
import type { WellsyncError } from '../../../src/core/base/errors.ts';
import type { CallOptions } from '../../../src/service/production-data-service.ts';
import { deferred } from '../../support/deferred.ts';
import { startScriptedServer, type Reply } from '../../support/scripted-server.ts';
import { rejectionOf, serviceAt, type ServiceUnderTest } from '../../support/service-under-test.ts';

const page = { uwi: 'W' };
const once = { maxAttempts: 1, baseDelayMs: 1, maxDelayMs: 1, deadlineMs: 60_000 };

async function pageOf(reply: Reply) {
  await using server = await startScriptedServer([reply]);
  await using client = serviceAt(server.baseUrl);
  return (await client.service.fetchDailyProductionPage(page)).records;
}

async function faultOf(reply: Reply, call: 'read' | 'push' | 'delete' = 'read') {
  await using server = await startScriptedServer([reply]);
  await using client = serviceAt(server.baseUrl, { maxBodyBytes: 100_000 });
  const { service } = client;
  const calls = {
    read: () => service.fetchDailyProductionPage(page),
    push: () => service.upsertNetworkPipes('[]'),
    delete: () => service.deleteMicroStrings('w'),
  };
  const { name, code, message, hint } = (await rejectionOf(calls[call]())) as WellsyncError;
  return { name, code, message, hint, requests: server.requests.length };
}

describe('an answer to a read', () => {
  it.each([200, 203])('%i is an answer', async (status) => {
    expect(await pageOf({ status, body: [1] })).toEqual([1]);
  });

  it('204 is an empty page, for the definitions of an equipment too', async () => {
    await using server = await startScriptedServer([{ status: 204, body: '' }]);
    await using client = serviceAt(server.baseUrl);
    expect((await client.service.fetchDailyProductionPage(page)).records).toEqual([]);
    expect(await client.service.fetchRecords(timeSeries, 'e')).toEqual([]);
  });

  it('G4: 204 is no body of a well, so that a stored one stays', async () => {
    await using server = await startScriptedServer([{ status: 204, body: '' }]);
    await using client = serviceAt(server.baseUrl);
    expect(await rejectionOf(client.service.fetchWell('w'))).toMatchObject({ code: 'no-content' });
  });

  it.each<readonly [string, Reply]>([
    ['no bytes', { body: '' }],
    ['no bytes that are said to be packed', { headers: { 'content-encoding': 'gzip' }, body: '' }],
    ['blanks', { body: ' \r\n' }],
  ])('G4: 200 with %s is no body of a well, so that a stored one stays', async (_name, reply) => {
    await using server = await startScriptedServer([reply]);
    await using client = serviceAt(server.baseUrl);
    const error = await rejectionOf(client.service.fetchWell('w'));
    expect(error).toMatchObject({ name: 'PermanentError', code: 'no-content' });
    expect((error as Error).message).toBe('GET /api/production/well/w answered 200 without a body');
  });

  it.each<readonly [string, Reply]>([
    ...[201, 202, 205, 206, 207, 226, 299].map((status) => [String(status), { status, body: [] }] as const),
    ['200 with a Content-Range', { headers: { 'content-range': 'bytes 0-1/1000' }, body: [] }],
  ])('G4: %s is no whole answer: it is retried until the attempts are spent', async (_name, reply) => {
    expect(await faultOf(reply)).toMatchObject({ name: 'TransientError', code: 'partial', requests: 3 });
  });
});

describe('a window that is answered 204', () => {
  const request = {
    uwi: 'W',
    window: { fromMs: Date.parse('2024-01-01T00:00:00Z'), toMs: Date.parse('2024-02-01T00:00:00Z') },
    timeZone: 'UTC',
    pageLimit: 5,
  };
  const record = { xid: '00000000-0000-4000-8000-000000000001', date: '2024-01-05T00:00:00Z' };

  it('is read to its end without a record, and says that nothing was sent', async () => {
    await using server = await startScriptedServer([{ status: 204, body: '' }]);
    await using client = serviceAt(server.baseUrl);
    expect(await client.service.readDailyProduction(request)).toMatchObject({
      rows: { length: 0 },
      isWithoutContent: true,
    });
  });

  it('ends the pages of a window that has records', async () => {
    const isFirst = (url: string): boolean => new URL(url, 'http://service').searchParams.get('page') === '1';
    await using server = await startScriptedServer(({ url }) =>
      isFirst(url) ? { body: [record] } : { status: 204, body: '' },
    );
    await using client = serviceAt(server.baseUrl);
    const reading = await client.service.readDailyProduction(request);
    expect(reading.rows).toHaveLength(1);
    expect(reading).not.toHaveProperty('isWithoutContent');
    expect(reading.notices).toContain('answers with status 204 were taken, where only 200 is declared');
  });
});

describe('an answer to a change', () => {
  it.each([200, 201, 202, 203, 204, 205])('%i is taken', async (status) => {
    await using server = await startScriptedServer([{ status, body: '' }]);
    await using client = serviceAt(server.baseUrl);
    expect(await client.service.upsertNetworkPipes('[]')).toBeUndefined();
  });

  it('207 is a fault that shows its body', async () => {
    for (const call of ['push', 'delete'] as const) {
      const fault = await faultOf({ status: 207, body: { item: 3, state: 'refused' } }, call);
      expect(fault).toMatchObject({ name: 'PermanentError', code: 'http-207', requests: 1 });
      expect(fault.message).toContain('"state":"refused"');
    }
  });

  it('206 is retried', async () => {
    expect(await faultOf({ status: 206, body: [] }, 'push')).toMatchObject({
      code: 'partial',
      requests: 3,
      message: expect.stringMatching(/ answered 206: .*a part may be stored: the whole is sent again$/),
      hint: expect.stringContaining('counts as not accepted until the service answers 200'),
    });
  });
});

describe('a packed body', () => {
  const rows = Buffer.from(JSON.stringify(Array.from({ length: 500 }, (_, index) => ({ index }))));
  const packed = (encoding: string, body: Buffer): Reply => ({ headers: { 'content-encoding': encoding }, body });

  it.each<readonly [string, Buffer]>([
    ['gzip', gzipSync(rows)],
    ['X-GZIP', gzipSync(rows)],
    ['deflate', deflateSync(rows)],
    ['br', brotliCompressSync(rows)],
    ['identity', rows],
  ])('%s is unpacked', async (encoding, body) => {
    expect(await pageOf(packed(encoding, body))).toHaveLength(500);
  });

  it.each<readonly [string, Buffer]>([
    ['gzip', gzipSync(rows)],
    ['deflate', deflateSync(rows)],
    ['br', brotliCompressSync(rows)],
  ])('G4: a %s stream that is cut is retried, never a short page', async (encoding, body) => {
    for (const length of [body.length - 1, body.length - 9, body.length >> 1]) {
      expect(await faultOf(packed(encoding, body.subarray(0, length)))).toMatchObject({
        requests: 3,
        code: 'truncated',
      });
    }
  });

  it.each([
    ['gzip', 'not packed at all', 'encoding'],
    ['zstd', 'whatever', 'encoding'],
    ['__proto__', 'whatever', 'encoding'],
  ])('%s that cannot be unpacked is retried', async (encoding, body, code) => {
    expect(await faultOf(packed(encoding, Buffer.from(body)))).toMatchObject({ requests: 3, code });
  });

  it('is asked for by reads, as gzip', async () => {
    await using server = await startScriptedServer([{ body: [] }]);
    await using client = serviceAt(server.baseUrl);
    await client.service.fetchDailyProductionPage(page);
    await client.service.upsertNetworkPipes('[]');
    expect(server.requests.map(({ headers }) => headers['accept-encoding'])).toEqual(['gzip', undefined]);
  });

  it('without a byte is an empty body', async () => {
    await using server = await startScriptedServer([packed('gzip', Buffer.alloc(0))]);
    await using client = serviceAt(server.baseUrl);
    expect(await client.service.upsertNetworkPipes('[]')).toBeUndefined();
  });

  it('of a refusal is unpacked as far as it goes', async () => {
    const long = gzipSync(Buffer.from(`no such day ${'.'.repeat(1_000_000)}`));
    for (const body of [long, long.subarray(0, -9)]) {
      const { message } = await faultOf({ status: 400, ...packed('gzip', body) });
      expect(message).toContain('answered 400: no such day');
    }
  });

  it('G8: that unpacks to nothing, however much is sent, is bounded', async () => {
    const nothing = Buffer.concat(Array.from({ length: 10_000 }, () => gzipSync('')));
    expect(nothing.length).toBeGreaterThan(100_000);
    expect(await faultOf(packed('gzip', nothing))).toMatchObject({ code: 'body-too-large', requests: 1 });
  });

  it('G8: the limit of a body bounds what it unpacks to', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000, ' '));
    expect(bomb.length).toBeLessThan(100_000);
    expect(await faultOf(packed('gzip', bomb))).toMatchObject({ name: 'PermanentError', code: 'body-too-large' });
  });
});

describe('a packed body that ends before its first byte', () => {
  const packedHead = (fault: 'reset-head' | 'stall-head'): Reply => ({
    headers: { 'content-encoding': 'gzip' },
    body: 'x',
    fault,
  });
  const calls = {
    well: async ({ service }: ServiceUnderTest, options?: CallOptions) => service.fetchWell('w', options),
    'daily production': async ({ service }: ServiceUnderTest, options?: CallOptions) =>
      service.fetchDailyProductionPage(page, options),
    push: async ({ service }: ServiceUnderTest, options?: CallOptions) => service.upsertNetworkPipes('[]', options),
    deletion: async ({ service }: ServiceUnderTest, options?: CallOptions) => service.deleteMicroStrings('w', options),
  };

  it.each(Object.entries(calls))('G4: by a reset is no empty answer: %s', async (_name, call) => {
    await using server = await startScriptedServer([packedHead('reset-head')]);
    await using client = serviceAt(server.baseUrl);
    // A system may drop what has come when the reset comes: the head then never arrives.
    const code = expect.stringMatching(/^(?:truncated|connection-lost)$/) as string;
    expect(await rejectionOf(call(client))).toMatchObject({ name: 'TransientError', code });
    expect(server.requests).toHaveLength(3);
  });

  it.each(Object.entries(calls))('G4: by the time limit is no empty answer: %s', async (_name, call) => {
    await using server = await startScriptedServer([packedHead('stall-head')]);
    await using client = serviceAt(server.baseUrl, { timeoutMs: 300, retry: once });
    expect(await rejectionOf(call(client))).toMatchObject({ name: 'TransientError', code: 'timeout' });
  });

  it.each(Object.entries(calls))('G4: by the abort of the caller is no empty answer: %s', async (_name, call) => {
    await using server = await startScriptedServer([packedHead('stall-head')]);
    const ender = new AbortController();
    await using client = serviceAt(server.baseUrl, { timeoutMs: 60_000 });
    const rejection = rejectionOf(call(client, { signal: ender.signal }));
    await server.arrived(1);
    // The head is on its way: most often it has come by then, and the abort is right either way.
    setTimeout(() => ender.abort(), 200);
    expect(await rejection).toMatchObject({ name: 'AbortedError' });
  });
});

describe('a body that cannot be unpacked', () => {
  it.each([200, 503])('lets go of its connection, however long it is: %i', async (status) => {
    const endless: Reply = { status, headers: { 'content-encoding': 'zstd' }, body: 'whatever', fault: 'stall' };
    await using server = await startScriptedServer([endless, { body: [1] }]);
    await using client = serviceAt(server.baseUrl, { concurrency: 1 });
    expect((await client.service.fetchDailyProductionPage(page)).records).toEqual([1]);
    expect(server.requests).toHaveLength(2);
  });
});

describe('bodies side by side', () => {
  const texts = Array.from({ length: 8 }, (_, index) => JSON.stringify([`${index} é`.repeat(200_000)]));
  const ofPage = (url: string): number => Number(new URL(url, 'http://service').searchParams.get('page'));

  it.each(['as they are', 'packed'])('G8: eight of almost the greatest length take their turns: %s', async (how) => {
    const headers = how === 'packed' ? { 'content-encoding': 'gzip' } : {};
    const bodies = texts.map((text) => (how === 'packed' ? gzipSync(text) : Buffer.from(text)));
    await using server = await startScriptedServer(({ url }) => ({ headers, body: bodies[ofPage(url)] }));
    await using client = serviceAt(server.baseUrl, { concurrency: 8, maxBodyBytes: 1_000_000, timeoutMs: 60_000 });
    const pages = texts.map((_text, index) => client.service.fetchDailyProductionPage({ ...page, page: index }));
    for (const [index, { records }] of (await Promise.all(pages)).entries()) {
      expect(JSON.stringify(records) === texts[index]).toBe(true);
    }
  });

  it.each(['announced', 'in pieces'])('a POST and a DELETE are answered while no room is left: %s', async (how) => {
    // The second of two takes all the room that those beside the oldest share.
    const start = `["${'x'.repeat(666_664)}`;
    const begun = [deferred(), deferred()];
    const held: ServerResponse[] = [];
    let isOver = false;
    const busy = createHttpServer(({ url = '', method }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      if (method === 'GET') {
        if (isOver) return void response.end(`${start}"]`);
        held.push(response);
        response.write(start, () => begun[ofPage(url)]?.resolve());
        return;
      }
      if (how === 'in pieces') response.write(method === 'POST' ? ' '.repeat(300_000) : ' ');
      response.end('1');
    });
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`;
    await using client = serviceAt(baseUrl, { concurrency: 9, maxBodyBytes: 1_000_000, timeoutMs: 60_000 });
    const pages = begun.map((_, index) => client.service.fetchDailyProductionPage({ ...page, page: index }));
    await Promise.all(begun.map(({ promise }) => promise));
    await expect(client.service.upsertNetworkPipes('[]')).resolves.toBeUndefined();
    await expect(client.service.deleteTimeSeries('E', 'S')).resolves.toBe(1);
    isOver = true;
    for (const response of held) response.end('"]');
    expect((await Promise.all(pages)).map(({ records }) => JSON.stringify([...records]).length)).toEqual([
      666_668, 666_668,
    ]);
    busy.closeAllConnections();
    busy.close();
  });

  it('G8: eight without end fail alone, and a page behind them is read', async () => {
    const chunk = 'x'.repeat(65_536);
    const endless = createHttpServer(({ url = '' }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      if (ofPage(url) === 8) return void response.end('[1]');
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(endless.address() as AddressInfo).port}`;
    await using client = serviceAt(baseUrl, { concurrency: 9, maxBodyBytes: 3_000_000, timeoutMs: 60_000 });
    const pages = Array.from({ length: 9 }, (_, index) =>
      client.service.fetchDailyProductionPage({ ...page, page: index }),
    );
    const ends = await Promise.allSettled(pages);
    endless.closeAllConnections();
    endless.close();
    for (const end of ends.slice(0, 8)) expect(end).toMatchObject({ reason: { code: 'body-too-large' } });
    expect(ends[8]).toMatchObject({ status: 'fulfilled', value: { records: [1] } });
  });
});

it('a byte order mark does not count', async () => {
  expect(await pageOf({ body: '\uFEFF[1]' })).toEqual([1]);
});

it('bytes that are no text are retried', async () => {
  const body = Buffer.concat([Buffer.from('["'), Buffer.alloc(20_000, 0xff), Buffer.from('"]')]);
  expect(await faultOf({ body })).toMatchObject({ name: 'TransientError', code: 'not-text', requests: 3 });
});

/** A server that writes to each connection once, whatever is asked. */
async function rawServer(write: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => write(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const head = (status: string, fields = ''): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${fields}`;

describe('an answer that is no HTTP', () => {
  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a broken chunk size', `${head('200 OK', 'transfer-encoding: chunked\r\n')}\r\nZZZ\r\n`],
    ['a status that is no number', head('twohundred OK', 'content-length: 2\r\n\r\n[]')],
    ['a head without end', `HTTP/1.1 200 OK\r\n${'x-fill: 0123456789\r\n'.repeat(5_000)}`],
  ])('%s is retried', async (_name, bytes) => {
    await using server = await rawServer((socket) => void socket.end(bytes));
    await using client = serviceAt(server.baseUrl);
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'TransientError', code: 'not-http' });
    expect(client.pausesMs).toHaveLength(2);
  });
});

describe('the time-out of a request', () => {
  /** Sends a byte again and again, so that no pause in the answer is long. */
  const dripping = (start: string, drop: string) => (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(drop), 20);
    socket.once('close', () => clearInterval(timer));
  };

  it.each([
    ['the body', dripping(`${head('200 OK', 'content-length: 100000\r\n')}\r\n[`, ' ')],
    ['the head', dripping('HTTP/1.1 200 OK\r\nx: ', 'x')],
    ['early hints', dripping('', 'HTTP/1.1 103 Early Hints\r\n\r\n')],
  ])('ends an answer that never pauses: %s', async (_name, write) => {
    await using server = await rawServer(write);
    await using client = serviceAt(server.baseUrl, { timeoutMs: 300, retry: once });
    const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
    expect(error).toMatchObject({ name: 'TransientError', code: 'timeout' });
    expect((error as Error).message).toContain('was not answered in full within 0.3 s');
  });

  it('ends the body of a refusal, which counts all the same', async () => {
    await using server = await rawServer(dripping(`${head('403 No', 'content-length: 100000\r\n')}\r\n`, 'x'));
    await using client = serviceAt(server.baseUrl, { timeoutMs: 1_500, retry: once });
    expect(await rejectionOf(client.service.fetchDailyProductionPage(page))).toMatchObject({ code: 'forbidden' });
  });
});

it('G8: an endless body of a refusal is read to 64 KiB, and its connection closed', async () => {
  let sent = 0;
  await using server = await rawServer((socket) => {
    socket.write(`${head('500 No', 'transfer-encoding: chunked\r\n')}\r\n`);
    const chunk = `4000\r\n${'x'.repeat(0x40_00)}\r\n`;
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk)) sent += 1;
    };
    socket.on('drain', more);
    more();
  });
  await using client = serviceAt(server.baseUrl, { maxBodyBytes: 1_000_000_000, retry: once });
  const error = await rejectionOf(client.service.fetchDailyProductionPage(page));
  expect(error).toMatchObject({ name: 'TransientError', code: 'http-500' });
  const [socket] = server.sockets;
  await expect.poll(() => socket?.destroyed, { timeout: 30_000 }).toBe(true);
  // What the buffers of both sides hold is on its way as well.
  expect(sent * 0x40_00).toBeLessThan(50_000_000);
});
