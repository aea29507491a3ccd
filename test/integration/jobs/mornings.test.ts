/** Mornings over HTTP: one request a well, and a verified read of each within a week. */
import { expect, test } from 'vitest';
import { createDailyProductionJobs } from '../../../jobs/daily-production/job.ts';
import { isVerificationDue } from '../../../src/core/daily/reading.ts';
import { instantOfDay } from '../../../src/core/time/production-day.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { deferred } from '../../support/deferred.ts';
import { engineHere, type EngineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { allDays, daysFrom, deliver, nightly, storedDays } from '../../support/nightly-runs.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { bySuite } from '../../support/suite-size.ts';
import { ask, dayOf, xidOf } from '../../support/warehouse-batches.ts';

/** In the usual suite mornings of one chunk, but where a test is about several. */
const settings = { ...dailyProductionSettings, chunkWells: bySuite(100, dailyProductionSettings.chunkWells) };
const jobs = createDailyProductionJobs(settings).map(anyJob);
const ofSmallChunks = createDailyProductionJobs(dailyProductionSettings).map(anyJob);
const wells = Array.from({ length: 7 }, (_, index) => `NO 15/9-F-${index}`);
const silent = 'NO 15/9-F-99';
const all = [...wells, silent];

const dayNumberOf = (day: number): number => Date.parse(`${dayOf(day)}T00:00:00Z`) / 86_400_000;

/** Wells whose read of that day is verified, after one of the day `verified`. */
function dueOn(day: number, verified: number, uwis: readonly string[] = all): readonly string[] {
  return uwis.filter((uwi) => isVerificationDue(uwi, dayNumberOf(verified), dayNumberOf(day)));
}

/** Rows of the first 120 days of the year, read on the next; the silent well has those of the first ten. */
async function startAfterApril(
  options = {},
  work = jobs,
): Promise<{ server: TestingServer; engine: EngineHere } & AsyncDisposable> {
  const rows = [...wells.flatMap((uwi) => daysFrom(1, 121, uwi)), ...daysFrom(1, 11, silent)];
  const server = await startTestingServer({ data: givenDaily(rows), ...options });
  const engine = await engineHere(server.url, work);
  await nightly(engine, 121, all);
  return {
    server,
    engine,
    [Symbol.asyncDispose]: async () => {
      await engine[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

async function xidOfDay({ engine }: { readonly engine: EngineHere }, uwi: string, day: number): Promise<unknown> {
  const sql = `SELECT xid FROM daily_production WHERE uwi = '${uwi}' AND production_day = DATE '${dayOf(day)}'`;
  return (await ask(engine.warehouse, sql))[0]?.[0];
}

test.each([
  { pageBase: 0, work: ofSmallChunks },
  { pageBase: 1, work: jobs },
] as const)(
  'the mornings of a week take a request for each well, and one more for the well that is due for a verified read: $pageBase',
  async ({ pageBase, work }) => {
    await using scene = await startAfterApril({ pageBase }, work);
    const { server, engine } = scene;
    for (let day = 122; day < 129; day += 1) {
      deliver(
        server,
        wells.flatMap((uwi) => daysFrom(day - 1, day, uwi)),
      );
      const before = server.state.requests().total;
      const due = all.filter((uwi) => dueOn(day, day - 1, [uwi]).length > 0);
      const { counts, state } = await nightly(engine, day, all);
      expect({ state, inserted: counts['inserted'], removed: counts['removed'] }).toEqual({
        state: 'done',
        inserted: wells.length,
        removed: 0,
      });
      expect(counts['requests']).toBe(all.length + due.length);
      expect(server.state.requests().total - before).toBe(counts['requests']);
    }
    for (const uwi of wells) expect(await storedDays(engine, uwi)).toEqual(allDays(127));
  },
);

test.each(['UTC', 'Europe/Oslo', 'America/Chicago'])(
  'no record of a routine night is outside its window, which begins with a production day: %s',
  async (timeZone) => {
    // Dated at the begin of each production day.
    const rows = (from: number, to: number) =>
      wells.flatMap((uwi) =>
        daysFrom(from, to, uwi).map((row, index) => ({
          ...row,
          date: new Date(instantOfDay(dayOf(from + index), timeZone) ?? 0).toISOString(),
        })),
      );
    await using server = await startTestingServer({ data: givenDaily(rows(1, 100)) });
    const inZone = createDailyProductionJobs({ ...settings, timeZone }).map(anyJob);
    await using engine = await engineHere(server.url, inZone);
    await nightly(engine, 100, wells);
    // The clocks of Europe change in the night of the 91st day, within the lookback.
    for (const day of [101, 102]) {
      deliver(server, rows(day - 1, day));
      const { counts } = await nightly(engine, day, wells);
      expect(counts).toMatchObject({
        inserted: wells.length,
        removed: 0,
      });
      // That of the day of 23 hours comes with a window that begins after it.
      expect(counts['outsideWindow']).toBeLessThanOrEqual(timeZone === 'Europe/Oslo' ? 1 : 0);
    }
  },
);

test('a record of a wrong year is quarantined night for night, wherever it lies, until its date is corrected', async () => {
  const [uwi = ''] = wells;
  const rows = daysFrom(1, 121, uwi).map((row, index) => ({
    ...row,
    date: `${dayOf(index + 1)}T00:00:00Z`,
    xid: xidOf(index),
  }));
  const [typed, moved] = [rows[119]!, rows[117]!];
  const dated = (row: typeof typed, year: number) => ({ ...row, date: row.date.replace('2024', String(year)) });
  await using server = await startTestingServer({
    data: givenDaily([...rows.slice(0, -1), dated(typed, 2042)]),
    endBound: 'ignored',
  });
  await using engine = await engineHere(server.url, jobs);
  const kept = () =>
    ask(engine.warehouse, `SELECT xid, production_day, reason, raw->>'$.date' FROM quarantine ORDER BY reason`);
  const entry = ({ xid }: typeof typed, date: string) => [
    xid,
    null,
    `date is "${date}", dated in the future: after ${tomorrow()}`,
    date,
  ];
  const tomorrow = (): string => new Date(engine.nowMs + 86_400_000).toISOString().slice(0, 10);
  const first = await nightly(engine, 121, [uwi]);
  expect(first).toMatchObject({ state: 'done', counts: { inserted: 119, quarantined: 1, outsideWindow: 0 } });
  expect(await kept()).toEqual([entry(typed, dated(typed, 2042).date)]);
  // A stored row whose date is typed wrong keeps its old values.
  deliver(server, [dated(moved, 2062)]);
  const second = await nightly(engine, 122, [uwi]);
  expect(second.counts).toMatchObject({ quarantined: 2, removed: 0, outsideWindow: 0 });
  expect(await kept()).toEqual([entry(typed, dated(typed, 2042).date), entry(moved, dated(moved, 2062).date)]);
  expect(await storedDays(engine, uwi)).toEqual(allDays(119));
  deliver(server, [typed, { ...moved, oilRate: 7 }]);
  const third = await nightly(engine, 123, [uwi]);
  expect(third.counts).toMatchObject({ quarantined: 0, inserted: 1, updated: 1, removed: 0 });
  expect(await kept()).toEqual([]);
  expect(await storedDays(engine, uwi)).toEqual(allDays(120));
});

test('G4: a row that the service removed or renumbered leaves the same morning, by a verified read', async () => {
  await using scene = await startAfterApril();
  const { server, engine } = scene;
  const [removed = '', renumbered = ''] = wells.filter((uwi) => dueOn(122, 121, [uwi]).length === 0);
  const gone = { uwi: removed, remove: await xidOfDay(scene, removed, 118) };
  const old = { uwi: renumbered, remove: await xidOfDay(scene, renumbered, 118) };
  const fresh = { ...daysFrom(118, 119, renumbered)[0], xid: '00000000-0000-4000-8000-000000000001' };
  server.state.changeDaily([gone, old, fresh].map((row) => JSON.stringify(row)).join('\n'));
  const before = server.state.requests().total;
  const { counts } = await nightly(engine, 122, all);
  expect(counts).toMatchObject({ removed: 1, updated: 1, rowsAdrift: 0 });
  expect(counts['requests']).toBe(all.length + dueOn(122, 121).length + 2 * 2);
  expect(server.state.requests().total - before).toBe(counts['requests']);
  expect(await storedDays(engine, removed)).not.toContain(dayOf(118));
});

test('a window that the warehouse gave back is not begun again once the service refuses the token', async () => {
  const [lacking = '', refused = ''] = wells.filter((uwi) => dueOn(122, 121, [uwi]).length === 0);
  await using server = await startTestingServer({
    data: givenDaily([lacking, refused].flatMap((uwi) => daysFrom(1, 121, uwi))),
  });
  const lackingRead = deferred();
  let isRefusing = false;
  await using between = await startScriptedServer(async ({ url }) => {
    if (isRefusing && decodeURIComponent(url).includes(refused)) {
      await lackingRead.promise;
      return { status: 401 };
    }
    const answer = await fetch(`${server.url}${url}`);
    if (isRefusing) lackingRead.resolve();
    return { status: answer.status, body: await answer.text() };
  });
  await using engine = await engineHere(between.baseUrl, jobs);
  await nightly(engine, 121, [lacking, refused]);
  server.state.changeDaily(JSON.stringify({ uwi: lacking, remove: await xidOfDay({ engine }, lacking, 118) }));
  isRefusing = true;
  const before = between.requests.length;
  const { state } = await nightly(engine, 122, [lacking, refused]);
  const read = between.requests.slice(before).filter(({ url }) => decodeURIComponent(url).includes(lacking));
  expect({ state, requests: read.length }).toEqual({ state: 'failed', requests: 1 });
});

test('a day that the service never had is missing once a read of it was verified, and not before', async () => {
  await using scene = await startAfterApril();
  const { server, engine } = scene;
  const [uwi = ''] = wells.filter((each) => dueOn(123, 121, [each]).length === 0);
  const missing = async () => {
    const [day] = await ask(engine.warehouse, `SELECT max(to_day) FROM coverage WHERE uwi = '${uwi}'`);
    return day?.[0];
  };
  deliver(server, daysFrom(122, 123, uwi));
  await nightly(engine, 123, [uwi]);
  expect(await missing()).toBe(dayOf(121));
  for (let day = 124; day < 130; day += 1) await nightly(engine, day, [uwi]);
  const read = String(await missing());
  expect(read > dayOf(121)).toBe(true);
});

test('a service that sends fewer rows on a page than its profile says hides no row for longer than a week', async () => {
  await using scene = await startAfterApril();
  const { server, engine } = scene;
  server.state.setOptions({ maxLimit: 5, defaultLimit: 5, order: 'descending' });
  const [uwi = ''] = wells;
  deliver(server, daysFrom(121, 122, uwi));
  for (let day = 122; day < 130; day += 1) {
    deliver(server, daysFrom(day - 1, day, uwi));
    await nightly(engine, day, [uwi]);
  }
  expect(await storedDays(engine, uwi)).toEqual(allDays(128));
});

test('a well that delivers after a long silence is verified the same morning', async () => {
  await using scene = await startAfterApril();
  const { server, engine } = scene;
  const day = [300, 301].find((each) => dueOn(each, each - 1, [silent]).length === 0) ?? 300;
  await nightly(engine, day - 1, [silent]);
  deliver(server, daysFrom(11, 60, silent));
  const { counts } = await nightly(engine, day, [silent]);
  expect(counts).toMatchObject({ inserted: 49, requests: 3 });
  const to = await ask(engine.warehouse, `SELECT max(to_day) FROM coverage WHERE uwi = '${silent}'`);
  expect(to).toEqual([[dayOf(day)]]);
});

test('a service that was probed by a young well shows how much a page holds by the wells that follow', async () => {
  const rows = [...daysFrom(115, 121, 'YOUNG'), ...wells.flatMap((uwi) => daysFrom(1, 121, uwi))];
  await using server = await startTestingServer({ data: givenDaily(rows) });
  await using engine = await engineHere(server.url, jobs);
  await nightly(engine, 121, ['YOUNG']);
  await nightly(engine, 121, wells);
  const undue = wells.filter((uwi) => dueOn(122, 121, [uwi]).length === 0);
  expect((await nightly(engine, 122, undue)).counts).toMatchObject({ requests: undue.length });
});

test('two silent years cost one request a morning', async () => {
  await using scene = await startAfterApril();
  const { engine } = scene;
  const years = 730;
  const day = [years, years + 1].find((each) => dueOn(each, each - 1, [silent]).length === 0) ?? years;
  await nightly(engine, day - 1, [silent]);
  expect((await nightly(engine, day, [silent])).counts).toMatchObject({ requests: 1, read: 7, outsideWindow: 0 });
});

test('a morning of many wells, some of them silent, takes a request for each, and one more for those that are due', async () => {
  const names = Array.from({ length: bySuite(8, 24) }, (_, index) => `W${index}`);
  const [speaking, quiet] = [names.slice(names.length / 4), names.slice(0, names.length / 4)];
  const rows = [...speaking.flatMap((uwi) => daysFrom(1, 121, uwi)), ...quiet.flatMap((uwi) => daysFrom(1, 11, uwi))];
  await using server = await startTestingServer({ data: givenDaily(rows) });
  await using engine = await engineHere(server.url, ofSmallChunks);
  await nightly(engine, 121, names);
  for (let day = 122; day < 129; day += 1) {
    deliver(
      server,
      speaking.flatMap((uwi) => daysFrom(day - 1, day, uwi)),
    );
    const { counts } = await nightly(engine, day, names);
    expect(counts['requests']).toBe(names.length + dueOn(day, day - 1, names).length);
  }
});

test('a field that delivers eight days late has the corrections of its last seven days, and so has a silent well', async () => {
  await using scene = await startAfterApril();
  const { server, engine } = scene;
  // Night for night a day that is eight days old: the window still begins seven days below the last row.
  for (let day = 130; day < 133; day += 1) {
    deliver(
      server,
      wells.flatMap((uwi) => daysFrom(day - 9, day - 8, uwi)),
    );
    await nightly(engine, day, all);
  }
  const corrected = [
    ...daysFrom(118, 119, wells[0] ?? '').map((row) => ({ ...row, oilRate: 1_234 })),
    ...daysFrom(5, 6, silent).map((row) => ({ ...row, oilRate: 1_234 })),
  ];
  const stored = corrected.map((row) => ({ ...row }));
  for (const [index, [uwi, day]] of (
    [
      [wells[0] ?? '', 118],
      [silent, 5],
    ] as const
  ).entries()) {
    stored[index] = { ...stored[index]!, xid: await xidOfDay(scene, uwi, day) } as (typeof corrected)[number];
  }
  deliver(server, stored);
  const { counts, state } = await nightly(engine, 133, all);
  expect({ state, updated: counts['updated'] }).toEqual({ state: 'done', updated: 2 });
});

test('an operator who allows rows to leave has every window verified', async () => {
  await using scene = await startAfterApril();
  const { engine } = scene;
  engine.nowMs = Date.parse(`${dayOf(122)}T04:00:00Z`);
  const run = (allowShrink: boolean) =>
    engine.run('export daily-production', { nowMs: engine.nowMs, allowShrink }, wells);
  expect((await run(true)).counts).toMatchObject({ requests: 2 * wells.length });
  expect((await run(false)).counts).toMatchObject({ requests: wells.length });
});
