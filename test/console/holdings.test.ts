/** Coverage, restatements and production over HTTP, and the description of all routes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { type ServedInstallation, serveInstallation } from '../support/served-install.ts';
import { januaryRows, UWI } from '../support/testing-server-requests.ts';

let served: ServedInstallation;
beforeAll(async () => {
  served = await serveInstallation({ works: false });
  const { home, service } = served;
  const backfill = [
    'export',
    'daily-production',
    '--uwi',
    UWI,
    '--from',
    '2024-01-01',
    '--to',
    '2024-02-01',
    '--inline',
  ];
  await home.here(backfill);
  service.state.changeDaily(
    januaryRows(10)
      .map((row) => JSON.stringify({ ...row, gasRate: 7 }))
      .join('\n'),
  );
  await home.here(backfill);
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

const ask = (path: string) => served.server.ask(path, { token: 'read' });
const read = async (path: string): Promise<unknown> => (await ask(path)).json();
const well = `/api/v1/wells/${encodeURIComponent(UWI)}/production`;

test('coverage counts the days of all wells, or of some', async () => {
  const days = { asked: 31, present: 10, missing: 21 };
  const query = 'from=2024-01-01&to=2024-02-01';
  expect(await read(`/api/v1/coverage?${query}`)).toMatchObject({ wells: 1, days, months: [{ month: '2024-01-01' }] });
  expect(await read(`/api/v1/coverage?${query}&uwi=another&uwi=third`)).toMatchObject({ days: { present: 0 } });
  for (const wrong of ['from=yesterday', 'from=2024-02-01&to=2024-01-01', 'nothing=1']) {
    expect([wrong, (await ask(`/api/v1/coverage?${wrong}`)).status]).toEqual([wrong, 400]);
  }
});

test('months have volumes with their units, page by page, and what was known of them', async () => {
  const page = z.looseObject({ months: z.array(z.looseObject({ month: z.string() })), cursor: z.string().nullable() });
  const first = page.parse(await read('/api/v1/months?rows=1'));
  expect(first).toMatchObject({
    rateBasis: 'calendar-day',
    units: { oil: 'bbl', gas: 'Mscf', hours_on: 'h' },
    knownAt: null,
    months: [
      { uwi: UWI, month: '2024-01-01', daysPresent: 10, daysMissing: 21, oil: 55, gas: 70, waterInjected: null },
    ],
    cursor: null,
  });
  expect(await read('/api/v1/months?since=2024-01-01')).toMatchObject({
    knownAt: '2024-01-01T00:00:00.000Z',
    months: [{ asKnown: { oil: null, gas: null, water: null } }],
  });
  expect(await read('/api/v1/months?uwi=another')).toMatchObject({ months: [], cursor: null });
  for (const wrong of ['since=yesterday', 'since=2999-01-01', 'rows=0', 'cursor=x', 'nothing=1']) {
    expect([wrong, (await ask(`/api/v1/months?${wrong}`)).status]).toEqual([wrong, 400]);
  }
});

test('the production of a well comes in pages by date', async () => {
  const page = z.object({ rows: z.array(z.object({ day: z.string() })), cursor: z.string().nullable() });
  const days: string[] = [];
  let cursor: string | null = '';
  do {
    const next = page.parse(await read(`${well}?limit=4${cursor === '' ? '' : `&cursor=${cursor}`}`));
    expect(next.rows.length).toBeLessThanOrEqual(4);
    days.push(...next.rows.map(({ day }) => day));
    ({ cursor } = next);
  } while (cursor !== null);
  expect(days).toEqual(Array.from({ length: 10 }, (_, index) => `2024-01-${String(index + 1).padStart(2, '0')}`));
  expect(await read(`${well}?from=2024-01-03&to=2024-01-04`)).toMatchObject({
    uwi: UWI,
    rows: [{ day: '2024-01-03', measures: { oil_rate: 3, gas_rate: 7, choke: null } }],
    cursor: null,
  });
  expect((await ask('/api/v1/wells/unknown/production')).status).toBe(404);
  for (const wrong of ['from=x', 'cursor=x', 'limit=0', `cursor=${Buffer.from('["a","b"]').toString('base64url')}`]) {
    expect([wrong, (await ask(`${well}?${wrong}`)).status]).toEqual([wrong, 400]);
  }
});

test('a well is what its page shows', async () => {
  expect(await read(`/api/v1/wells/${encodeURIComponent(UWI)}`)).toMatchObject({
    uwi: UWI,
    firstDay: '2024-01-01',
    lastDay: '2024-01-10',
    unknownSince: null,
    days: { present: 10 },
    gaps: [{ from: '2024-01-11', isOpen: true }],
    standings: [{ severity: 'warning', days: { from: '2024-01-11' } }, { kind: 'partial' }],
  });
  expect((await ask('/api/v1/wells/unknown')).status).toBe(404);
});

test('a uwi is a value, whatever it holds', async () => {
  for (const uwi of ["'; DROP TABLE run; --", '../../etc/passwd', '%00', '井戸 1', 'x'.repeat(900)]) {
    expect([uwi, (await ask(`/api/v1/wells/${encodeURIComponent(uwi)}/production`)).status]).toEqual([uwi, 404]);
  }
  expect((await ask('/api/v1/runs')).status).toBe(200);
});

test('restatements come in pages, in the order of their notice', async () => {
  const page = z.object({
    restatements: z.array(z.object({ day: z.string(), field: z.string(), old: z.number(), new: z.number() })),
    cursor: z.string().nullable(),
  });
  const days: string[] = [];
  let cursor: string | null = '';
  do {
    const query = `since=2024-01-01&uwi=${encodeURIComponent(UWI)}&rows=3${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const next = page.parse(await read(`/api/v1/restatements?${query}`));
    for (const { day, field, ...values } of next.restatements) {
      expect([field, values]).toEqual(['gas_rate', { old: 0, new: 7 }]);
      days.push(day);
    }
    ({ cursor } = next);
  } while (cursor !== null);
  expect(days).toHaveLength(10);
  expect(new Set(days).size).toBe(10);
  for (const wrong of ['', 'since=never', 'since=2024-01-01&cursor=x', 'since=2999-01-01']) {
    expect([wrong, (await ask(`/api/v1/restatements?${wrong}`)).status]).toEqual([wrong, 400]);
  }
});

const operation = z.looseObject({
  summary: z.string(),
  responses: z.record(z.string(), z.unknown()),
  security: z.array(z.unknown()).optional(),
});
const description = z.object({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), operation)),
});

test('the description has every route of the server, each with its answers', async () => {
  const { paths } = description.parse(await read('/api/v1/openapi.json'));
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  );
  // Pages, and what they load, are no part of the interface. Probes may ask by HEAD too.
  const routes = served.server.routes
    .filter(({ method }) => method !== 'HEAD')
    .filter(({ url }) => url.startsWith('/api/') || ['/healthz', '/readyz', '/metrics'].includes(url))
    .map(({ method, url }) => `${method} ${url}`);
  expect(described.toSorted()).toEqual(routes.toSorted());
  for (const method of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    expect(Object.keys(method.responses).some((status) => status.startsWith('2'))).toBe(true);
  }
});

test('the plot of a well has every row of its history, whatever the number of pages that it is read in', async () => {
  const uwi = "W ' long";
  const history = 5_003;
  const days = januaryRows(history, uwi).map((row, n) => ({
    ...row,
    date: new Date(Date.UTC(2000, 0, 1 + n)).toISOString(),
    oilRate: n,
  }));
  const setup = { data: givenDaily(days), defaultLimit: 1_000, maxLimit: 1_000 };
  await using of = await serveInstallation({ works: false, setup });
  await of.home.here(['export', 'daily-production', '--uwi', uwi, '--inline']);
  const page = `/wells/${encodeURIComponent(uwi)}`;
  const asked = async (path: string) => of.server.ask(path, { token: 'read' });
  const series = z
    .object({ days: z.array(z.number()), values: z.record(z.string(), z.array(z.number().nullable())) })
    .parse(await (await asked(`${page}/series`)).json());
  expect(series.days).toEqual(Array.from({ length: history }, (_, n) => 10_957 + n));
  expect(series.values['oil_rate']).toEqual(Array.from({ length: history }, (_, n) => n));
  expect((await asked(page)).status).toBe(200);
  expect(await (await asked('/wells/none/series')).json()).toMatchObject({ days: [], values: {} });
});
