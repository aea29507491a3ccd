/** Each fault does what its name says, and none hides rows behind an answer that reads as a good one. */
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { uwis } from './assets.ts';
import { createRandom } from './random.ts';
import { Bursts, type FaultName, faultNames, requestFaults } from './request-faults.ts';
import { startStormService, type StormService } from './service.ts';

const uwi = uwis[0] ?? '';
const readPath = `/api/production/daily/${encodeURIComponent(uwi)}`;
const wellPath = `/api/production/well/${encodeURIComponent(uwi)}`;
const deletePath = `${wellPath}/wellbore`;
const pipe = { sourceNetworkId: 'net', sourceId: 'P 1', date: '2026-01-01T00:00:00Z' };

/** What came over a connection. */
interface Received {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
  readonly isReset: boolean;
  /** All that its length or its last chunk promised has come. */
  readonly isWhole: boolean;
}

/** What hangs or is slow ends at once: the faults end when the request has arrived. */
async function endWaits(service: StormService): Promise<void> {
  const before = service.log().requests.length;
  await expect.poll(() => service.log().requests.length).toBeGreaterThan(before);
  await service.calm();
}

/** Sends a request over a connection of its own and reads until the server ends it. `mayEnd`: {@link endWaits}. */
async function receive(
  service: StormService,
  method: string,
  path: string,
  { body = '', mayEnd = true }: { readonly body?: string; readonly mayEnd?: boolean } = {},
): Promise<Received> {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: storm',
    `authorization: Bearer ${service.tokens().at(-1)}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  let [received, isReset] = ['', false];
  socket.on('data', (part) => (received += part.toString('latin1')));
  socket.on('error', () => (isReset = true));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  if (mayEnd) await endWaits(service);
  await closed;
  return { ...parsed(received), isReset };
}

function parsed(received: string): Omit<Received, 'isReset'> {
  const [headers = '', rest = ''] = received.split(/\r\n\r\n([^]*)/, 2);
  const status = Number(headers.split(' ')[1] ?? 0);
  if (!/transfer-encoding: chunked/i.test(headers)) {
    const length = Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? -1);
    return { status, headers, body: rest, isWhole: rest.length === length };
  }
  const chunks = rest.split(/[\da-f]+\r\n/);
  return { status, headers, body: chunks.join('').trimEnd(), isWhole: rest.endsWith('0\r\n\r\n') };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function withFault(name: FaultName): Promise<StormService> {
  const service = await startStormService({ seed: 6 });
  service.burst(1, Date.now() + 600_000, [name]);
  return service;
}

const rowsOf = (service: StormService): readonly unknown[] => {
  const rows = service.truth.recordsOf(uwi);
  return (service.manner.order === 'ascending' ? rows : rows.toReversed()).slice(0, service.manner.mostRowsPerPage);
};

/** Status of the answer, and whether it comes as a whole; no status: a reset. */
const answers: Readonly<Record<FaultName, readonly [status: number, isWhole: boolean]>> = {
  'reset-before': [0, false],
  'reset-after': [0, false],
  '500-before': [500, true],
  '500-after': [500, true],
  '502-html': [502, true],
  '503': [503, true],
  '503-retry-after': [503, true],
  '429-retry-after': [429, true],
  'slow-answer': [200, true],
  'slow-body': [200, true],
  'cut-length': [200, false],
  'cut-chunked': [200, false],
  'part-206': [206, true],
  'wrong-type': [200, true],
  'half-json': [200, true],
  'html-200': [200, true],
  'hang-before': [0, false],
  'hang-after': [0, false],
};
/** Those whose answer is the truth. */
const true200: readonly FaultName[] = ['slow-answer', 'slow-body', 'wrong-type'];

describe.each(faultNames)('%s', (name) => {
  const [status, isWhole] = answers[name];
  const { isApplied } = requestFaults[name];
  let service: StormService;
  beforeAll(async () => {
    service = await startStormService({ seed: 6 });
  });
  // Each request ends the faults.
  beforeEach(() => service.burst(1, Date.now() + 600_000, [name]));
  afterAll(() => service[Symbol.asyncDispose]());

  test('of a read', async () => {
    const got = await receive(service, 'GET', readPath);
    await service.waitIdle();
    const request = service.log().requests.at(-1);
    expect({ status: got.status, isWhole: got.isWhole, isReset: got.isReset }).toEqual({
      status,
      isWhole,
      isReset: status === 0,
    });
    expect(request).toMatchObject({ fault: name, status });
    expect(request?.answeredMs === undefined).toBe(status === 0);
    if (got.status !== 200) return;
    const whole = Buffer.from(JSON.stringify(rowsOf(service))).toString('latin1');
    if (true200.includes(name)) expect(got.body).toBe(whole);
    else expect(isJson(got.body)).toBe(false);
    if (name.startsWith('cut') || name.startsWith('half')) {
      expect(whole.startsWith(got.body)).toBe(true);
      expect(got.body.length).toBeLessThan(whole.length);
    }
  });

  test('of a well, whose form is not documented: its own body, or an answer that shows the fault', async () => {
    const got = await receive(service, 'GET', wellPath);
    const isWellBody = got.body === Buffer.from(JSON.stringify(service.log().wells[uwi])).toString('latin1');
    const isNoticed = got.status !== 200 || !got.isWhole || /content-type: text\/html/i.test(got.headers);
    expect([isWellBody, isNoticed]).toContain(true);
    if (got.status === 200 && !isNoticed) expect(got.headers).toMatch(/content-type: application\/json/i);
  });

  test('of a deletion: a number comes whole or not at all', async () => {
    const before = service.log().wellbores[uwi] ?? 0;
    const got = await receive(service, 'DELETE', deletePath);
    await service.waitIdle();
    const log = service.log();
    expect(log.wellbores[uwi]).toBe(isApplied ? 0 : before);
    expect(log.requests.at(-1)).toMatchObject(isApplied ? { isApplied, removed: before } : { isApplied });
    if (got.status === 200 && isJson(got.body)) expect([got.body, got.isWhole]).toEqual([String(before), true]);
  });

  test('of a push: it is stored and logged if the fault comes after it', async () => {
    await receive(service, 'POST', '/api/production/network/pipe', { body: JSON.stringify([pipe]) });
    await service.waitIdle();
    const { pipes, requests } = service.log();
    expect(Object.values(pipes)).toEqual(isApplied ? [pipe] : []);
    const request = requests.at(-1);
    expect(request).toMatchObject(isApplied ? { isApplied, pipes: [pipe] } : { isApplied });
    expect('pipes' in (request ?? {})).toBe(isApplied);
  });
});

test('a part is half of the rows of the page, as a list', async () => {
  await using service = await withFault('part-206');
  const { body } = await receive(service, 'GET', readPath);
  const rows = rowsOf(service);
  expect(JSON.parse(Buffer.from(body, 'latin1').toString())).toEqual(rows.slice(0, Math.floor(rows.length / 2)));
});

test('a Retry-After of a burst is 1 s, and no hold', async () => {
  for (const name of ['503-retry-after', '429-retry-after'] as const) {
    await using service = await withFault(name);
    expect((await receive(service, 'GET', readPath)).headers).toMatch(/retry-after: 1\r?$/im);
    expect(service.log().holds).toEqual([]);
  }
});

test('an answer that fits no fault is sent as it is', async () => {
  await using service = await withFault('part-206');
  expect((await receive(service, 'DELETE', deletePath)).status).toBe(200);
  await service.waitIdle();
  expect(service.log().requests[0]?.fault).toBeUndefined();
});

test('what hangs ends with the faults, and was applied', async () => {
  await using service = await withFault('hang-after');
  const asked = receive(service, 'DELETE', deletePath, { mayEnd: false });
  await expect.poll(() => service.log().requests[0]?.isApplied).toBe(true);
  expect(service.log().requests[0]).toMatchObject({ status: 0, fault: 'hang-after' });
  await service.calm();
  expect(await asked).toMatchObject({ status: 0, isReset: true });
});

test('what hangs is ended by the server in the end, and what is slow is answered', async () => {
  await using hanging = await withFault('hang-before');
  await using slow = await withFault('slow-answer');
  const [hung, late] = await Promise.all(
    [hanging, slow].map((service) => receive(service, 'GET', wellPath, { mayEnd: false })),
  );
  expect(hung).toMatchObject({ status: 0, isReset: true });
  expect(late).toMatchObject({ status: 200, isWhole: true });
});

test('a burst meets its share of the requests until its end', () => {
  let nowMs = 1_000;
  const bursts = new Bursts(createRandom(1), () => nowMs);
  const met = (): number =>
    Array.from({ length: 2_000 }, () => bursts.draw()).filter((name) => name !== undefined).length;
  expect(met()).toBe(0);
  bursts.begin(0.3, 2_000, faultNames);
  expect(met()).toBeGreaterThan(500);
  expect(met()).toBeLessThan(700);
  nowMs = 2_000;
  expect(met()).toBe(0);
  bursts.begin(1, 3_000, ['503']);
  expect(bursts.draw()).toBe('503');
  bursts.end();
  expect(met()).toBe(0);
});
