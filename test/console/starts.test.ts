/** Starts over HTTP: an export, once by key, and an upload of pipes. */
import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { tenColumns } from '../support/pipes.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { januaryRows, UWI } from '../support/testing-server-requests.ts';

const started = z.object({ runId: z.string(), isRepeat: z.boolean() });
const commandOrFlag = /wellsync [a-z]|--[a-z]/;
const waitForWork = { timeout: 60_000 };
const token = 'operate';

let served: ServedInstallation;
beforeAll(async () => {
  served = await serveInstallation({ http: { maxUploadMb: 2, maxUnpackedMb: 4, maxBodyMb: 1 } });
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

async function answerOf(response: Response): Promise<readonly [number, unknown]> {
  return [response.status, await response.json()];
}

async function ended(runId: string, by = 'read'): Promise<unknown> {
  return vi.waitFor(async () => {
    const run: unknown = await (await served.server.ask(`/api/v1/runs/${runId}`, { token: by })).json();
    expect(run).toMatchObject({ finishedAt: expect.any(String) });
    return run;
  }, waitForWork);
}

const start = (json: unknown, key?: string, by = token) =>
  served.server.ask('/api/v1/runs', {
    json,
    token: by,
    ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
  });

const idOf = async (response: Response): Promise<string> => {
  expect(response.status).toBe(202);
  const { runId } = started.parse(await response.json());
  expect(response.headers.get('location')).toBe(`/api/v1/runs/${runId}`);
  return runId;
};

describe('POST /api/v1/verifications', () => {
  const verify = (json: unknown) => served.server.ask('/api/v1/verifications', { json, token });

  test('starts a comparison, whose report and page show what differs and what would put it right', async () => {
    const uwi = 'compared';
    const rows = januaryRows(10, uwi).map((row) => JSON.stringify(row));
    served.service.state.changeDaily(rows.join('\n'));
    await ended(await idOf(await start({ export: 'daily-production', uwis: [uwi] })));
    served.service.state.changeDaily(JSON.stringify({ ...januaryRows(3, uwi)[2], oilRate: 70 }));
    const runId = await idOf(await verify({ uwis: [uwi], all: true }));
    expect(await ended(runId)).toMatchObject({ state: 'done', hasExceptions: true });
    const report = await served.server.ask(`/api/v1/runs/${runId}/report`, { token: 'read' });
    const backfill = { uwis: [uwi], from: '2024-01-03', to: '2024-01-04' };
    expect(await report.json()).toMatchObject({
      exitCode: 3,
      differences: {
        samples: [{ uwi, day: '2024-01-03', field: 'oil_rate', here: 3, there: 70 }],
        backfills: [backfill],
      },
      nextSteps: [{ kind: 'backfill', ...backfill }],
    });
    const page = await served.server.ask(`/runs/${runId}`, { token, headers: { accept: 'text/html' } });
    const text = await page.text();
    expect(text).toContain('Read 1 well again from 2024-01-03 to 2024-01-04');
    expect(text).toContain('oil_rate');
    await ended(await idOf(await start({ export: 'daily-production', ...backfill })));
    const again = await idOf(await verify({ uwis: [uwi], all: true }));
    expect(await ended(again)).toMatchObject({ hasExceptions: false });
  });

  test('refuses what can only be a mistake, in words that name no flag', async () => {
    for (const body of [{ all: true, from: '2024-01-01' }, { seed: 3 }, { from: 'yesterday' }]) {
      const refused = await answerOf(await verify(body));
      expect(refused).toMatchObject([400, { code: 'usage' }]);
      expect(JSON.stringify(refused)).not.toMatch(commandOrFlag);
    }
    expect(await answerOf(await verify({ sample: 0 }))).toMatchObject([400, { code: 'invalid-request' }]);
    expect(await answerOf(await verify({ uwis: [] }))).toMatchObject([422, {}]);
  });
});

describe('POST /api/v1/runs', () => {
  const nightly = { export: 'daily-production', uwis: [UWI] };

  test('starts an export, with the name of the token as who requested it', async () => {
    const runId = await idOf(await start(nightly));
    expect(await ended(runId)).toMatchObject({ state: 'done', requestedBy: 'operate (token)', settledUnits: 1 });
    for (const body of [
      { export: 'wells', wells: [UWI] },
      { export: 'time-series', equipment: ['EQ 1'] },
    ]) {
      expect(await ended(await idOf(await start(body)))).toMatchObject({ requestedBy: 'operate (token)' });
    }
  });

  test('G1: the same request with the same key starts one run, also at the same time, and another body is 422', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => start(nightly, 'night-1')));
    const runs = await Promise.all(answers.map(async (answer) => started.parse(await answer.json())));
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
    expect(runs.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1);
    const [{ runId } = { runId: '' }] = runs;
    await ended(runId);
    expect(await answerOf(await start(nightly, 'night-1'))).toMatchObject([202, { runId, isRepeat: true }]);
    const other = { ...nightly, gaps: true };
    expect(await answerOf(await start(other, 'night-1'))).toMatchObject([422, { code: 'idempotency-key-reused' }]);
    // A key belongs to its client, and to its route.
    expect(await answerOf(await start(nightly, 'night-1', 'delete'))).toMatchObject([202, { isRepeat: false }]);
    expect(await answerOf(await start(nightly, 'two words'))).toMatchObject([400, { code: 'invalid-idempotency-key' }]);
  });

  test.each([
    [{}, 'body'],
    [{ export: 'cleanup' }, 'body'],
    [{ export: 'daily-production', uwis: [''] }, 'body.uwis.0'],
    [{ export: 'daily-production', wellsFile: '/etc/passwd' }, 'body'],
    [{ export: 'wells', file: '../x' }, 'body'],
  ])('a body that is not as the interface says is told what is wrong: %j', async (json, place) => {
    const [status, problem] = await answerOf(await start(json));
    expect([status, problem]).toMatchObject([400, { code: 'invalid-request' }]);
    expect(JSON.stringify(problem)).toContain(place);
  });

  test('a request that can only be a mistake is refused in words that name no command and no flag', async () => {
    for (const bounds of [{ from: 'yesterday' }, { from: '2024-02-01', to: '2024-01-01' }, { from: '2999-01-01' }]) {
      const refused = await answerOf(await start({ ...nightly, ...bounds }));
      expect(refused).toMatchObject([400, { code: 'usage' }]);
      expect(JSON.stringify(refused)).not.toMatch(commandOrFlag);
    }
    expect(await answerOf(await start({ export: 'wells' }))).toMatchObject([
      400,
      { detail: 'no wells are named', hint: expect.stringContaining('wells') },
    ]);
  });

  test('a body that is too long, no JSON, or of another type is refused', async () => {
    const long = { ...nightly, uwis: Array.from({ length: 150_000 }, (_, index) => `well ${index}`) };
    expect(await answerOf(await start(long))).toMatchObject([413, { status: 413 }]);
    const ask = (body: string, type: string) =>
      served.server.ask('/api/v1/runs', { method: 'POST', token, body, headers: { 'content-type': type } });
    expect(await answerOf(await ask('{', 'application/json'))).toMatchObject([400, { status: 400 }]);
    expect(await answerOf(await ask('{"__proto__": {"a": 1}}', 'application/json'))).toMatchObject([400, {}]);
    expect(await answerOf(await ask('a=b', 'application/x-www-form-urlencoded'))).toMatchObject([415, {}]);
    expect(await answerOf(await ask('a,b', 'text/csv'))).toMatchObject([415, { code: 'invalid-media-type' }]);
  });
});

describe('POST /api/v1/pushes', () => {
  const rowOf = (id: string, roughness = '1'): string =>
    `N,${id},2024-01-01T00:00:00Z,A,B,true,[1],[2],[3],[${roughness}]`;
  const csv = (...rows: readonly string[]): string => `${[tenColumns, ...rows].join('\n')}\n`;
  const push = (
    body: string | Uint8Array<ArrayBuffer> | ReadableStream,
    { query = '', type = 'text/csv', key }: { query?: string; type?: string; key?: string } = {},
  ) =>
    served.server.ask(`/api/v1/pushes${query}`, {
      token,
      body,
      headers: { 'content-type': type, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    });
  const spooled = (): readonly string[] => {
    const folder = path.join(served.home.folder, 'spool');
    return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.csv')) : [];
  };

  test('pushes an uploaded file, gives its rejects back, and does not push the same content again', async () => {
    const content = csv(rowOf('1'), rowOf('2', 'rough'), rowOf('3'));
    const runId = await idOf(await push(content, { query: '?name=net.csv', key: 'net-1' }));
    expect(await ended(runId)).toMatchObject({ state: 'done', counts: { rows: 3, accepted: 2 } });
    expect(served.service.state.pipes()).toHaveLength(2);
    const rejects = await served.server.ask(`/api/v1/runs/${runId}/rejects`, { token: 'read' });
    expect(rejects.headers.get('content-disposition')).toBe(`attachment; filename="rejects-${runId}.csv"`);
    expect(rejects.headers.get('x-content-type-options')).toBe('nosniff');
    const text = await rejects.text();
    expect(text.trim().split('\n')).toHaveLength(2);
    expect(text).toContain('rough');
    const packed = { query: '?name=other.csv.gz', type: 'application/gzip' };
    expect(await answerOf(await push(new Uint8Array(gzipSync(content)), packed))).toMatchObject([
      200,
      { runId, state: 'already-pushed' },
    ]);
    expect(await answerOf(await push(content, { query: '?name=net.csv', key: 'net-1' }))).toMatchObject([
      202,
      { runId, isRepeat: true },
    ]);
    expect(await answerOf(await push(csv(rowOf('9')), { query: '?name=net.csv', key: 'net-1' }))).toMatchObject([
      422,
      { code: 'idempotency-key-reused' },
    ]);
    const again = await idOf(await push(content, { query: '?again=true' }));
    expect(await ended(again)).toMatchObject({ state: 'done' });
  });

  test.each(['../../../etc/cron.d/x.csv', '/etc/passwd', 'a\\b.csv', '=cmd|calc', 'x".csv; a="b', '井戸.csv'])(
    'a name becomes no path, and no header: %s',
    async (name) => {
      const content = csv(rowOf(`of ${name.length}`), rowOf('bad', 'rough'));
      const runId = await idOf(await push(content, { query: `?again=true&name=${encodeURIComponent(name)}` }));
      await ended(runId);
      const rejects = await served.server.ask(`/api/v1/runs/${runId}/rejects`, { token: 'read' });
      expect(rejects.headers.get('content-disposition')).toBe(`attachment; filename="rejects-${runId}.csv"`);
      await rejects.text();
      expect(spooled().every((file) => /^[\da-f]{16}\.csv$/.test(file))).toBe(true);
    },
  );

  test('a name with a control character is refused', async () => {
    expect((await push(csv(rowOf('1')), { query: '?name=a%0d%0aSet-Cookie:x' })).status).toBe(400);
  });

  test('what is too long, unpacks to too much, or is no file of pipes is refused, and leaves nothing behind', async () => {
    const before = spooled();
    const long = csv(...Array.from({ length: 60_000 }, (_, index) => rowOf(`pipe ${index}`)));
    expect(await answerOf(await push(long))).toMatchObject([413, { code: 'upload-too-long' }]);
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(50_000_000, 'a')));
    const [status, problem] = await answerOf(await push(bomb, { type: 'application/gzip' }));
    expect([status, problem]).toMatchObject([413, { detail: expect.stringContaining('unpacks to more than 4 MB') }]);
    for (const content of ['', 'a,b\n1,2\n', tenColumns, new Uint8Array([0x1f, 0x8b, 8, 0, 1])]) {
      const [refused] = await answerOf(await push(content));
      expect(refused).toBe(400);
    }
    expect(spooled()).toEqual(before);
  });

  test('an upload of unknown length is bounded too, and one that breaks off leaves nothing behind', async () => {
    const before = spooled();
    const row = Buffer.from(`${rowOf('x')}\n`);
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(Buffer.concat(Array(1_000).fill(row))),
    });
    const outcome = await push(endless).then(
      ({ status }) => status,
      () => 'the connection was ended',
    );
    expect([413, 'the connection was ended']).toContain(outcome);
    const { hostname, port } = new URL(served.server.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /api/v1/pushes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: text/csv\r\nContent-Length: 1000\r\n\r\n${tenColumns}\n`,
    );
    await vi.waitFor(() => expect(spooled().length).toBe(before.length + 1), waitForWork);
    socket.destroy();
    await vi.waitFor(() => expect(spooled()).toEqual(before), waitForWork);
  });
});
