import { afterEach, describe, expect, it } from 'vitest';
import { AbortedError } from '../../../src/core/base/errors.ts';
import type { WindowReading } from '../../../src/core/daily/reading.ts';
import type { ServiceProfile } from '../../../src/core/paging/service-profile.ts';
import { DAY_MS } from '../../../src/core/time/window.ts';
import { xidOf } from '../../support/warehouse-batches.ts';
import { rowsOf } from '../../support/daily-rows.ts';
import { startScriptedServer, type RecordedRequest, type Reply, type Script } from '../../support/scripted-server.ts';
import { rejectionOf, serviceAt } from '../../support/service-under-test.ts';

const fromMs = Date.parse('2024-01-01T00:00:00Z');
const window = { fromMs, toMs: fromMs + 10 * DAY_MS };
const request = { uwi: '15/9-F-1 C', window, timeZone: 'UTC', pageLimit: 5 };

/** The record of a day, numbered from the first day of the window. */
function record(day: number, fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const xid = `00000000-0000-4000-8000-${String(day + 500).padStart(12, '0')}`;
  const rates = { oilRate: day, gasRate: 0, waterRate: 0, tubingPressure: 0, casingPressure: 0 };
  return { xid, date: new Date(fromMs + day * DAY_MS).toISOString(), ...rates, ...fields };
}

function days(from: number, to: number): Record<string, unknown>[] {
  return Array.from({ length: to - from }, (_, index) => record(from + index));
}

function queryOf({ url }: RecordedRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(new URL(url, 'http://service').searchParams);
}

/** A service that numbers pages from 1, answers 400 below, and grants any limit. */
function pagesOf(records: readonly unknown[]) {
  return (sent: RecordedRequest): Reply => {
    const { page = '1', limit = '5' } = queryOf(sent);
    if (Number(page) < 1) return { status: 400 };
    const start = (Number(page) - 1) * Number(limit);
    return { body: records.slice(start, start + Number(limit)) };
  };
}

let closers: AsyncDisposable[] = [];
afterEach(async () => {
  for (const closer of closers.toReversed()) await closer[Symbol.asyncDispose]();
  closers = [];
});

async function readerOver(script: Parameters<typeof startScriptedServer>[0]) {
  const server = await startScriptedServer(script);
  const client = serviceAt(server.baseUrl);
  closers.push(server, client);
  return { server, client, read: async (over = {}) => client.service.readDailyProduction({ ...request, ...over }) };
}

function expectBalance({ rows, counts }: WindowReading): void {
  expect(counts.read).toBe(rows.length + counts.repeated + counts.outsideWindow + counts.quarantined);
}

describe('the read of a window', () => {
  it('a read requests more on both sides and keeps the half-open window', async () => {
    const { server, read } = await readerOver(pagesOf(days(-1, 12)));
    const reading = await read();
    expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(
      days(0, 10).map(({ date }) => String(date).slice(0, 10)),
    );
    expect(reading.counts).toEqual({
      read: 13,
      repeated: 0,
      outsideWindow: 3,
      quarantined: 0,
      defaulted: 0,
      requests: 7,
    });
    expectBalance(reading);
    expect(queryOf(server.requests[0]!)).toEqual({
      startDate: '2023-12-31T00:01:00.000Z',
      endDate: '2024-01-12T00:00:00.000Z',
      page: '0',
      limit: '5',
    });
  });

  it.each([
    { timeZone: 'Europe/Oslo', first: '2024-07-01T00:00:00+02:00' },
    { timeZone: 'Europe/Oslo', first: '2024-01-10T00:00:00+01:00' },
    { timeZone: 'Asia/Tokyo', first: '2024-01-10T00:00:00+09:00' },
    { timeZone: 'America/Chicago', first: '2024-01-10T00:00:00-06:00' },
  ])(
    'G4: the first day of a window comes from a service whose bounds are days of UTC, without the first: $first',
    async ({ timeZone, first }) => {
      const beginMs = Date.parse(first);
      const ofDays = [-2, -1, 0, 1, 2].map((day) =>
        record(day, { date: new Date(beginMs + day * DAY_MS).toISOString() }),
      );
      const { read } = await readerOver((sent) => {
        const { startDate = '', endDate = '' } = queryOf(sent);
        const inRange = (date: string): boolean => date > startDate.slice(0, 10) && date <= endDate.slice(0, 10);
        return pagesOf(ofDays.filter(({ date }) => inRange(String(date).slice(0, 10))))(sent);
      });
      const reading = await read({ timeZone, window: { fromMs: beginMs, toMs: beginMs + 2 * DAY_MS } });
      expect(rowsOf(reading.rows).map(({ measures }) => measures[0])).toEqual([0, 1]);
    },
  );

  it('the last of repeated records wins', async () => {
    const moved = [record(0), record(1), record(2), record(3, { oilRate: 1 }), record(3, { oilRate: 2 }), record(4)];
    const { read } = await readerOver(pagesOf(moved));
    const reading = await read();
    expect(rowsOf(reading.rows).map(({ measures }) => measures[0])).toEqual([0, 1, 2, 2, 4]);
    expect(reading.counts).toMatchObject({ read: 6, repeated: 1 });
    expectBalance(reading);
  });

  it('G2: a read counts every record once: as row, repeated, outside or quarantined', async () => {
    const nameless = { ...record(2), xid: null };
    const broken = [
      record(0),
      record(1, { choke: 1.5 }),
      nameless,
      record(11, { oilRate: null }),
      nameless,
      'odd',
      record(3),
    ];
    const { oilRate: _absent, ...defaulted } = record(4);
    const { read } = await readerOver(pagesOf([...broken, defaulted]));
    const reading = await read();
    expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(['2024-01-01', '2024-01-04', '2024-01-05']);
    expect(reading.quarantined.map(({ reason, day }) => [reason, day])).toEqual([
      ['choke is 1.5, not a whole number of 32 bits', '2024-01-02'],
      ['xid is null, not a uuid', '2024-01-03'],
      ['the record is "odd", not an object', null],
    ]);
    expect(reading.counts).toMatchObject({ read: 8, repeated: 1, outsideWindow: 1, quarantined: 3, defaulted: 1 });
    expectBalance(reading);
  });

  it('a broken record keeps its bytes, and an extra field its digits', async () => {
    const { xid, ...fields } = record(0);
    const broken = `{ "xid":"${String(xid)}",  "date":"2024-01-02T00:00:00Z", "oilRate": 1e999 }`;
    const extra = { 'meter id': 0, nested: { sums: [1.5] }, short: 1.5 };
    const exact = JSON.stringify({ ...record(1), ...fields, ...extra })
      .replace('"meter id":0', '"meter id":7, "meter id" : 12345678901234567890')
      .replace('[1.5]', '[0.12345678901234567891, 2]');
    const { read } = await readerOver((sent) => ({
      body: queryOf(sent)['page'] === '1' ? `[${broken},${exact}]` : [],
    }));
    const { quarantined, rows } = await read();
    expect(quarantined).toMatchObject([{ raw: broken, reason: expect.stringContaining('oilRate is Infinity') }]);
    expect(rowsOf(rows).map(({ extras }) => extras)).toEqual([
      '{"meter id":12345678901234567890,"nested":{"sums":[0.12345678901234567891, 2]},"short":1.5}',
    ]);
  });

  /** A page with this record as its only broken one, between two good ones. */
  const around = (broken: string | Buffer): Script => {
    const body = Buffer.concat([
      Buffer.from(`[${JSON.stringify(record(0))},`),
      Buffer.from(broken),
      Buffer.from(`,${JSON.stringify(record(2))}]`),
    ]);
    return (sent) => ({ body: queryOf(sent)['page'] === '1' ? body : [] });
  };
  const textOfDay = (fields: string): string => `${JSON.stringify(record(1)).slice(0, -1)},${fields}}`;

  it.each([
    ['a field', textOfDay('"f":DEEP'), 'f is nested more than 64 levels deep'],
    ['objects', textOfDay('"f":{"a":DEEP}'), 'f is nested more than 64 levels deep'],
    ['a measure', textOfDay('"choke":DEEP'), 'choke is a value nested more than 64 levels deep'],
    ['xid', textOfDay('"xid":DEEP'), 'xid is a value nested more than 64 levels deep'],
    ['the record', 'DEEP', 'the record is a value nested more than 64 levels deep'],
  ])('G2: a record nested too deep is quarantined, and its neighbours are read: %s', async (_name, shape, reason) => {
    for (const levels of [65, 5_000, 100_000]) {
      const broken = shape.replace('DEEP', `${'['.repeat(levels)}${']'.repeat(levels)}`);
      const { read } = await readerOver(around(broken));
      const reading = await read();
      expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(['2024-01-01', '2024-01-03']);
      expect(reading.quarantined).toMatchObject([
        { raw: broken.slice(0, 65_536), reason: expect.stringContaining(reason) },
      ]);
      expectBalance(reading);
    }
  });

  it('a record of 64 levels is a row', async () => {
    const { read } = await readerOver(around(textOfDay(`"f":${'['.repeat(63)}${']'.repeat(63)}`)));
    expect((await read()).rows).toHaveLength(3);
  });

  const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
  it.each<readonly [string, Buffer, string, string]>([
    ['bytes of Latin-1', latin1(textOfDay('"downtimeCode":"d\xe9faut"')), 'downtimeCode', '"d\\udce9faut"'],
    ['half a surrogate pair', latin1(textOfDay('"downtimeCode":"\\ud83d"')), 'downtimeCode', '"\\ud83d"'],
    ['an extra field', latin1(textOfDay('"note":{"a":["\xff"]}')), 'note', '"\\udcff"'],
    ['an extra field, escaped', latin1(textOfDay('"note":{"a":["\\udc00"]}')), 'note', '"\\udc00"'],
    ['a name', latin1(textOfDay('"n\xe9":1')), 'the name of the field', '"n\\udce9":1'],
    ['a name inside a field', latin1(textOfDay('"note":{"n\xe9":1}')), 'note', '"n\\udce9":1'],
  ])('G2: a record with text that is not Unicode is quarantined, and its neighbours are read: %s', async (...given) => {
    const [, bytes, named, raw] = given;
    const { read } = await readerOver(around(bytes));
    const reading = await read();
    expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(['2024-01-01', '2024-01-03']);
    const [broken] = reading.quarantined;
    expect(broken?.reason).toContain(named);
    expect(broken?.reason).toContain('not Unicode');
    expect(broken?.raw).toContain(raw);
    expect(broken?.raw.isWellFormed()).toBe(true);
  });

  it.each([
    ['a value', '"downtimeCode":"a\\u0000b"', 'downtimeCode'],
    ['an extra field', '"note":{"a":["\\u0000"]}', 'note'],
    ['a name', '"n\\u0000":1', 'the name of the field'],
  ])('G2: a record with the character U+0000 is quarantined as it came: %s', async (_, fields, named) => {
    const { read } = await readerOver(around(textOfDay(fields)));
    const reading = await read();
    expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(['2024-01-01', '2024-01-03']);
    const [broken] = reading.quarantined;
    expect(broken?.reason).toContain(named);
    expect(broken?.reason).toContain('U+0000');
    expect(broken?.raw).toContain(fields);
  });

  it('a pair of surrogates, U+FFFD and text beyond Latin-1 are text', async () => {
    const { read } = await readerOver(around(textOfDay('"downtimeCode":"\\ud83d\\ude00 \uFFFD é 油井"')));
    const { rows } = await read();
    expect(rowsOf(rows)[1]?.measures).toContain('😀 \uFFFD é 油井');
  });

  it('an extra field keeps the sign of -0', async () => {
    const { read } = await readerOver(around(textOfDay('"zero":-0,"zeros":[-0,0]')));
    expect((await read()).rows.extras.get(1)).toBe('{"zero":-0,"zeros":[-0,0]}');
  });

  it('a record with a thousand extra fields is read, and keeps their digits', async () => {
    const fields = Array.from({ length: 1_000 }, (_, index) => `"f${index}":${index}.1234567890123456789`);
    const { read } = await readerOver(around(textOfDay(fields.join(','))));
    expect((await read()).rows.extras.get(1)).toBe(`{${fields.join(',')}}`);
  });

  it.each([
    [
      'extra fields in tens of thousands',
      Array.from({ length: 20_000 }, (_, index) => `"f${index}":1`).join(','),
      '20,000 extra fields',
    ],
    ['a long extra field', `"note":"${'x'.repeat(100_000)}"`, 'its extra fields take 100,011 characters'],
    ['a long text', `"downtimeCode":"${'x'.repeat(100_000)}"`, 'downtimeCode has 100,000 characters'],
  ])(
    'G8: a record with %s is quarantined with the start of its text, and its neighbours are read',
    async (...given) => {
      const [, field, reason] = given;
      const { read } = await readerOver(around(textOfDay(field)));
      const reading = await read();
      expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(['2024-01-01', '2024-01-03']);
      expect(reading.quarantined).toHaveLength(1);
      expect(reading.quarantined[0]).toMatchObject({ day: '2024-01-02', raw: textOfDay(field).slice(0, 65_536) });
      expect(reading.quarantined[0]?.reason).toContain(reason);
    },
  );

  it.each<readonly [string, (end: string) => string]>([
    ['no xid', (end) => `{"note":"${'x'.repeat(70_000)}${end}"}`],
    ['no object', (end) => `"${'x'.repeat(70_000)}${end}"`],
  ])('G2: two long records that begin alike are two: %s', async (_name, text) => {
    const { read } = await readerOver((sent) => ({
      body: queryOf(sent)['page'] === '1' ? `[${text('a')},${text('b')},${text('a')}]` : [],
    }));
    const reading = await read();
    expect(reading.counts).toMatchObject({ read: 3, quarantined: 2, repeated: 1 });
    expect(new Set(reading.quarantined.map(({ raw }) => raw)).size).toBe(1);
    expect(new Set(reading.quarantined.map(({ reason }) => reason)).size).toBe(2);
    expectBalance(reading);
  });

  it('G10: the name of an extra field that repeats the token is hidden in the notices', async () => {
    await using server = await startScriptedServer(pagesOf([record(0, { 'tok-en-4711-x': 1, note: 2 })]));
    await using client = serviceAt(server.baseUrl, { token: { kind: 'value', value: 'tok-en-4711-x' } });
    const { notices } = await client.service.readDailyProduction(request);
    expect(notices).toEqual(['extra fields kept in the column extras: note, [hidden]']);
  });

  it('a read counts its answers, retries included, and names extra fields and undeclared statuses once', async () => {
    let failed = false;
    const pages = pagesOf([record(0, { api14: 'x', 'b b': 1 }), record(1, { api14: 'y' })]);
    const { read } = await readerOver((sent) => {
      if (!failed) return ((failed = true), { status: 503 });
      const reply = pages(sent);
      return reply.status === undefined ? { ...reply, status: 203 } : reply;
    });
    const reading = await read();
    expect(reading.counts.requests).toBe(4);
    expect(reading.notices).toEqual([
      'answers with status 203 were taken, where only 200 is declared',
      'extra fields kept in the column extras: api14, b b',
    ]);
  });

  it('days, and dates without an offset, are in the configured zone', async () => {
    const { read } = await readerOver(
      pagesOf([record(0, { date: '2024-01-05T23:30:00Z' }), record(1, { date: '2024-01-07T00:00:00' })]),
    );
    const { rows } = await read({ timeZone: 'Europe/Oslo' });
    expect(rowsOf(rows).map(({ day, instantMs }) => [day, instantMs])).toEqual([
      ['2024-01-06', Date.parse('2024-01-05T23:30:00Z')],
      ['2024-01-07', Date.parse('2024-01-06T23:00:00Z')],
    ]);
  });

  it('a refused limit is tried only in the first read', async () => {
    const pages = pagesOf(days(0, 3));
    const { server, read } = await readerOver((sent) =>
      queryOf(sent)['limit'] === '500' ? { status: 422 } : pages(sent),
    );
    const notices = ['the service refuses a limit of 500 rows to a page: 100 was sent'];
    expect(await read({ pageLimit: 500 })).toMatchObject({ notices, counts: { read: 3, requests: 5 } });
    expect(await read({ pageLimit: 500 })).toMatchObject({ notices, counts: { read: 3, requests: 3 } });
    const limits = server.requests.map((sent) => queryOf(sent)['limit']);
    expect(limits).toEqual(['500', '500', '100', '100', '2', '100', '100', '2']);
  });
});

describe('a read with a profile', () => {
  const profile: ServiceProfile = {
    baseUrl: '',
    probedAtMs: 0,
    uwi: request.uwi,
    pageBase: 1,
    belowFirst: 'refused',
    pastLast: 'empty',
    pagingHonoured: true,
    limitHonoured: true,
    defaultLimit: 5,
    maxLimit: 50,
    largestPage: 50,
    overMaxLimit: 'refused',
    startBound: 'inclusive',
    endBound: 'inclusive',
    order: 'ascending',
    orderStable: true,
    evidence: [],
  };
  const allDays = days(0, 10).map(({ date }) => String(date).slice(0, 10));

  it('a matching profile saves requests', async () => {
    const { server, read } = await readerOver(pagesOf(days(-1, 12)));
    const reading = await read({ profile, pageLimit: 500 });
    expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(allDays);
    expect(server.requests.map((sent) => `${queryOf(sent)['page']}:${queryOf(sent)['limit']}`)).toEqual([
      '1:50',
      '2:12',
    ]);
    expect(reading).toMatchObject({ notices: [], counts: { read: 13, repeated: 0, requests: 2 } });
    expect(reading.profileMisfit).toBeUndefined();
  });

  it.each<readonly [string, Partial<ServiceProfile>, Script, string]>([
    ['the first page differs', { pageBase: 0 }, pagesOf(days(-1, 12)), 'its first page is 1, not 0'],
    [
      'a limit is refused',
      {},
      (sent) => (queryOf(sent)['limit'] === '50' ? { status: 400 } : pagesOf(days(-1, 12))(sent)),
      'it refuses a limit that it granted',
    ],
    [
      'the limit is ignored',
      {},
      (sent) => ({ body: pagesOf(days(-1, 12))({ ...sent, url: sent.url.replace(/limit=\d+/, 'limit=7') }).body }),
      'it no longer honours limit',
    ],
  ])('G4: a read notices an outdated profile and still returns every row: %s', async (_name, part, script, misfit) => {
    const { read } = await readerOver(script);
    const reading = await read({ profile: { ...profile, ...part }, pageLimit: 50 });
    expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(allDays);
    expect(reading.profileMisfit).toBe(true);
    expect(reading.notices).toContain(`the service no longer fits its profile: ${misfit}`);
    expectBalance(reading);
  });
});

describe('a window whose answer is too large', () => {
  const wide = { note: 'x'.repeat(20_000) };
  const sizes =
    (limit: number) =>
    (sent: RecordedRequest): Reply => {
      const { startDate = '', endDate = '', page, limit: wanted } = queryOf(sent);
      const rows = days(-1, 11).filter(({ date }) => String(date) >= startDate && String(date) <= endDate);
      const start = (Number(page) - 1) * Math.min(limit, Number(wanted));
      if (start < 0) return { status: 400 };
      return { body: rows.slice(start, start + Math.min(limit, Number(wanted))).map((row) => ({ ...row, ...wide })) };
    };
  const allDays = days(0, 10).map(({ date }) => String(date).slice(0, 10));

  it('G8: is read in halves, each record once, and counts its requests', async () => {
    await using server = await startScriptedServer(sizes(1_000));
    // Five records fit.
    await using client = serviceAt(server.baseUrl, { maxBodyBytes: 105_000 });
    const reading = await client.service.readDailyProduction({ ...request, pageLimit: 500 });
    expect(rowsOf(reading.rows).map(({ day }) => day)).toEqual(allDays);
    expect(reading.counts).toMatchObject({ read: 11, repeated: 0, outsideWindow: 1, requests: server.requests.length });
    expectBalance(reading);
  });

  it('G8: is read in halves where a later page is too large', async () => {
    await using server = await startScriptedServer((sent) => {
      const reply = sizes(5)(sent);
      if (!Array.isArray(reply.body)) return reply;
      return {
        body: reply.body.map((row: Record<string, unknown>) => (row['oilRate'] === 5 ? { ...row, more: wide } : row)),
      };
    });
    await using client = serviceAt(server.baseUrl, { maxBodyBytes: 105_000 });
    const reading = await client.service.readDailyProduction(request);
    expect(
      rowsOf(reading.rows)
        .map(({ day }) => day)
        .toSorted(),
    ).toEqual(allDays);
    expect(rowsOf(reading.rows).find(({ day }) => day === '2024-01-06')?.extras).toContain('more');
    expectBalance(reading);
  });

  it('G8: G4: fails where a day does not fit, with words', async () => {
    await using server = await startScriptedServer(sizes(1_000));
    await using client = serviceAt(server.baseUrl, { maxBodyBytes: 30_000 });
    const error = await rejectionOf(client.service.readDailyProduction(request));
    expect(error).toMatchObject({ name: 'PermanentError', code: 'body-too-large' });
    expect((error as Error).message).toContain('even for one day of 15/9-F-1 C (2024-01-01)');
  });
});

it('G8: a read of a service that sends new records on every page fails when it holds as many as it may', async () => {
  const { server, read } = await readerOver((_sent, index) => ({ body: days(index * 100, index * 100 + 100) }));
  const error = await rejectionOf(read({ maxRows: 1_000 }));
  expect(error).toMatchObject({ name: 'PermanentError', code: 'too-many-rows' });
  expect(server.requests).toHaveLength(11);
});

it('G4: a read whose records move in every pass fails as unstable', async () => {
  const { read } = await readerOver((sent, index) => ({
    body: queryOf(sent)['page'] === '1' ? days(0, 5 + index) : [],
  }));
  expect(await rejectionOf(read())).toMatchObject({ name: 'TransientError', code: 'unstable-read' });
});

describe('a failed read', () => {
  it.each<readonly [string, Reply, string]>([
    ['a reset', { fault: 'reset' }, 'TransientError'],
    ['a truncated page', { body: days(4, 8), fault: 'truncate' }, 'TransientError'],
    ['a web page', { headers: { 'content-type': 'text/html' }, body: '<html>' }, 'TransientError'],
    ['403', { status: 403 }, 'AccessError'],
    ['400', { status: 400 }, 'PermanentError'],
    ['413', { status: 413 }, 'PermanentError'],
  ])('G4: a read fails at %s on a later page', async (_name, reply, name) => {
    const pages = pagesOf(days(0, 9));
    const { read } = await readerOver((sent) => (queryOf(sent)['page'] === '2' ? reply : pages(sent)));
    expect(await rejectionOf(read())).toMatchObject({ name });
  });

  it('G4: a read of a well that the service does not know fails', async () => {
    const { read } = await readerOver([{ status: 404, body: 'no such well' }]);
    const message = expect.stringContaining('15%2F9-F-1%20C answered 404: no such well') as string;
    expect(await rejectionOf(read())).toMatchObject({ name: 'NotFoundError', message });
  });

  it('G4: a read whose pages are refused with every limit and with none fails', async () => {
    const { server, read } = await readerOver([{ status: 400, body: 'bad uwi' }]);
    expect(await rejectionOf(read({ pageLimit: 500 }))).toMatchObject({ name: 'PermanentError', status: 400 });
    expect(server.requests).toHaveLength(6);
  });

  it('G4: a read of a service that ignores the page and cuts at the limit fails', async () => {
    const { read } = await readerOver((sent) => ({ body: days(0, Number(queryOf(sent)['limit'])) }));
    expect(await rejectionOf(read())).toMatchObject({ name: 'PermanentError', code: 'page-ignored' });
  });

  it('G4: a read of a service that ignores page and startDate and cuts its answers fails', async () => {
    const { server, read } = await readerOver((sent) => {
      const { endDate = '', limit } = queryOf(sent);
      const until = days(-700, 46).filter(({ date }) => String(date) <= endDate);
      return { body: until.slice(-Math.min(100, Number(limit))) };
    });
    const history = { fromMs: fromMs - 3_650 * DAY_MS, toMs: fromMs + 40 * DAY_MS };
    const error = await rejectionOf(read({ pageLimit: 500, window: history }));
    expect(error).toMatchObject({ name: 'PermanentError', code: 'page-ignored' });
    expect(server.requests.length).toBeLessThan(3 + 4 * Math.log2(3_700));
  });

  it('G4: a read of a service whose pages never end fails', async () => {
    const { server, read } = await readerOver((_sent, index) => ({ body: [record(index + 1_000)] }));
    expect(await rejectionOf(read())).toMatchObject({ name: 'PermanentError', code: 'pages-without-end' });
    expect(server.requests).toHaveLength(2 + 1_000 + 4 * 12);
  });

  it.each([1, 40])(
    'G8: a read of a service that gives its records new ids with each answer ends soon, however long the window: %i a page',
    async (rows) => {
      let given = 0;
      const { server, read } = await readerOver(() => ({
        body: days(0, rows).map((sent) => ({ ...record(1), ...sent, date: record(1).date, xid: xidOf((given += 1)) })),
      }));
      const history = { fromMs: Date.parse('1900-01-01T00:00:00Z'), toMs: window.toMs };
      const error = await rejectionOf(read({ window: history, pageLimit: 500, maxRows: 150_000 }));
      expect(error).toMatchObject({ name: 'PermanentError', code: 'pages-without-end' });
      expect(server.requests.length).toBeLessThan(1_110);
    },
  );

  it('a service with a record for each quarter of an hour, and more on some, is read to its end', async () => {
    const quarters = Array.from({ length: 1_500 }, (_, index) => {
      return record(index, { date: new Date(fromMs + (index % 960) * 900_000).toISOString() });
    });
    const { read } = await readerOver(pagesOf(quarters));
    const reading = await read({ pageLimit: 40 });
    expect(reading.counts.read).toBe(1_500);
    expectBalance(reading);
  });

  it('G4: a read aborted between two pages fails', async () => {
    const controller = new AbortController();
    const pages = pagesOf(days(0, 9));
    const { client } = await readerOver((sent) => {
      if (queryOf(sent)['page'] === '2') controller.abort();
      return pages(sent);
    });
    const reading = client.service.readDailyProduction(request, { signal: controller.signal });
    expect(await rejectionOf(reading)).toBeInstanceOf(AbortedError);
  });
});

it('the read of an empty well has no rows', async () => {
  const { read } = await readerOver(pagesOf([]));
  const reading = await read();
  expect(reading).toMatchObject({
    rows: { length: 0 },
    quarantined: [],
    notices: [],
    counts: { read: 0, requests: 2 },
  });
});
