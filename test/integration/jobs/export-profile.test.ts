/** Exports and a service's profile: found when there is none, used while it fits, found again when it does not. */
import { expect, test, describe } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName } from '../../../jobs/daily-production/job.ts';
import { decodeProfile } from '../../../jobs/daily-production/profile.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { engineHere, type EngineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { startScriptedServer } from '../../support/scripted-server.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const nowMs = Date.parse('2024-02-01T04:00:00Z');
const settings = { ...dailyProductionSettings, wellConcurrency: 1, chunkWells: 100 };
const wells = Array.from({ length: 6 }, (_, index) => `well ${index}`);

const startWithSixWells = (): Promise<TestingServer> =>
  startTestingServer({ data: givenDaily(wells.flatMap((uwi) => januaryRows(30, uwi))), defaultLimit: 5, maxLimit: 20 });

/** Records of that many days of January, as a scripted service sends them. */
function recordsOf(days: number): ReadonlyArray<Readonly<Record<string, unknown>>> {
  return januaryRows(days).map(({ uwi: _uwi, ...row }, index) => ({
    ...row,
    xid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  }));
}

function startEngine(serviceUrl: string): Promise<EngineHere> {
  return engineHere(serviceUrl, createDailyProductionJobs(settings).map(anyJob));
}

async function keptProfile({ warehouse }: EngineHere, serviceUrl: string) {
  const text = await warehouse.ledger.profiles.read(serviceUrl);
  return text === undefined ? undefined : decodeProfile(text);
}

describe('the profile of a service, in exports', () => {
  test('is found by the first export that has none, kept, and gone by from then on', async () => {
    await using server = await startWithSixWells();
    await using engine = await startEngine(server.url);
    // One well alone: of several that are read at once, any may be the one that is asked.
    const first = await engine.run(dailyProductionJobName, { nowMs, allowShrink: false }, wells.slice(0, 1));
    expect(first.notices).toEqual([
      'the service was probed: the first page is 1, the largest limit is 20, order by date: ascending (asked of well 0)',
    ]);
    expect(await keptProfile(engine, server.url)).toMatchObject({ pageBase: 1, uwi: 'well 0' });
    // Two pages each: p + 2 by the well that was read without a profile, and 7 of the probe; then p + 1 by the others.
    expect(first.counts).toMatchObject({ read: 30, inserted: 30, requests: 4 + 7 });
    const others = await engine.run(dailyProductionJobName, { nowMs, allowShrink: false }, wells.slice(1));
    expect(others.notices).toEqual([]);
    expect(others.counts).toMatchObject({ read: 150, inserted: 150, requests: 5 * 3 });

    const again = await engine.run(dailyProductionJobName, { nowMs, allowShrink: false }, wells);
    expect(again.notices).toEqual([]);
    expect(again.counts).toMatchObject({ inserted: 0, removed: 0, requests: 6 });
  });

  test.each([
    ['its first page', { pageBase: 0 }, 'its first page is 0, not 1', { pageBase: 0 }],
    ['the limit that it grants', { maxLimit: 10 }, 'it grants a limit of 10, not 20', { maxLimit: 10 }],
    ['that it honours page', { paging: 'ignored' }, 'it no longer honours page', { pagingHonoured: false }],
  ] as const)(
    'that fits no longer is reported and found again: a service that changes %s',
    async (_, change, words, found) => {
      await using server = await startWithSixWells();
      await using engine = await startEngine(server.url);
      const params = { nowMs, fromMs: Date.parse('2024-01-01T00:00:00Z'), allowShrink: false };
      await engine.run(dailyProductionJobName, params, wells);

      server.state.setOptions(change);
      const report = await engine.run(dailyProductionJobName, params, wells);
      expect(report).toMatchObject({ state: 'done', counts: { unchanged: 180, inserted: 0, removed: 0 } });
      expect(report.notices).toContain(`the service no longer fits its profile: ${words}`);
      expect(report.notices.filter((notice) => notice.startsWith('the service was probed'))).toHaveLength(1);
      expect(await keptProfile(engine, server.url)).toMatchObject(found);

      const settled = await engine.run(dailyProductionJobName, params, wells);
      expect(settled).toMatchObject({ state: 'done', counts: { unchanged: 180 }, notices: [] });
    },
  );

  test('keeps its word for a service that repeats rows over its pages: no run contradicts the one before', async () => {
    const days = recordsOf(31);
    /** Pages from 1 on, at most 5 rows, and in front of each the last row of the page before. */
    await using server = await startScriptedServer(({ url }) => {
      const query = new URL(url, 'http://service').searchParams;
      const [page, limit] = [Number(query.get('page') ?? 1), Math.min(5, Number(query.get('limit') ?? 5))];
      if (page < 1) return { status: 400, body: { error: 'page' } };
      const [from, to] = [query.get('startDate') ?? '', query.get('endDate') ?? '9'];
      const asked = days.filter(({ date }) => String(date) >= from && String(date) <= to);
      return { body: asked.slice(Math.max(0, (page - 1) * limit - 1), page * limit) };
    });
    await using engine = await startEngine(server.baseUrl);
    for (let run = 0; run < 4; run += 1) {
      const from = Date.parse(`2024-01-${String(1 + 9 * run).padStart(2, '0')}T00:00:00Z`);
      const report = await engine.run(dailyProductionJobName, { nowMs, fromMs: from, allowShrink: false }, [UWI]);
      expect(report, `run ${run}`).toMatchObject({
        state: 'done',
        counts: { removed: 0, inserted: run === 0 ? 31 : 0 },
      });
      if (run > 0) expect(report.notices, `run ${run}`).toEqual([]);
    }
  });

  test('is probed once a run, whichever queue item comes first, and the report counts its requests', async () => {
    await using server = await startWithSixWells();
    const perItem = { ...settings, wellConcurrency: 1, chunkWells: 1 };
    await using engine = await engineHere(server.url, createDailyProductionJobs(perItem).map(anyJob));
    const report = await engine.run(dailyProductionJobName, { nowMs, allowShrink: false }, wells);
    expect(report.notices.filter((notice) => notice.startsWith('the service was probed'))).toHaveLength(1);
    expect(report.counts['requests']).toBe(server.state.requests().total);
  });

  test('G4: that does not know a 404 past the last page is not believed: the service is probed, and read again', async () => {
    await using server = await startWithSixWells();
    await using engine = await startEngine(server.url);
    server.state.setOptions({ limit: 'ignored' });
    const params = { nowMs, fromMs: Date.parse('2024-01-01T00:00:00Z'), allowShrink: false };
    await engine.run(dailyProductionJobName, params, wells);
    expect(await keptProfile(engine, server.url)).toMatchObject({ pastLast: 'empty' });

    server.state.setOptions({ pastEnd: 'not-found' });
    const report = await engine.run(dailyProductionJobName, params, wells);
    expect(report).toMatchObject({ state: 'done', counts: { unchanged: 180, removed: 0 } });
    expect(await keptProfile(engine, server.url)).toMatchObject({ pastLast: 'not-found' });
  });

  test('that cannot be found stops no export', async () => {
    const rows = recordsOf(30);
    // A service that requires dates, which the probe's requests lack.
    await using server = await startScriptedServer(({ url }) => {
      const query = new URL(url, 'http://service').searchParams;
      if (!query.has('startDate')) return { status: 400, body: { error: 'startDate is required' } };
      const [page, limit] = [Number(query.get('page')), Number(query.get('limit'))];
      return { body: rows.slice(page * limit, (page + 1) * limit) };
    });
    await using engine = await startEngine(server.baseUrl);
    const report = await engine.run(dailyProductionJobName, { nowMs, allowShrink: false }, [UWI]);
    expect(report).toMatchObject({ state: 'done', counts: { inserted: 30 } });
    expect(report.notices).toEqual([
      'the service could not be probed, and was read without a profile (http-400): probe it by hand',
    ]);
    expect(await keptProfile(engine, server.baseUrl)).toBeUndefined();
  });

  test('G11: is that of the service of the warehouse: an export of another one is refused, and probes nothing', async () => {
    await using zero = await startTestingServer({ data: givenDaily(januaryRows(30)), pageBase: 0 });
    await using one = await startWithTenDays();
    await using home = await cliHome(one.url);
    await home.here(['probe', '--uwi', UWI]);
    const refused = await home.run(['export', 'daily-production', '--uwi', UWI, '--inline'], {
      env: { WELLSYNC_SERVICE_URL: zero.url },
    });
    expect(refused.code, refused.stderr).toBe(2);
    expect(zero.state.requests().total).toBe(0);
    const query = 'SELECT count(*) AS profiles FROM service_profile';
    expect((await home.here(['query', query, '--json'])).stdout).toContain('{"profiles":1}');
  });
});

describe('wellsync probe', () => {
  test('prints what it found with the evidence, and exports go by it', async () => {
    await using server = await startWithTenDays({ pageBase: 0 });
    await using home = await cliHome(server.url);
    const { stdout, code } = await home.here(['probe', '--uwi', UWI]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^first page +0 +page 0 begins with the first row/m);
    expect(stdout).toMatch(/^largest limit +5 +5 rows came where/m);
    const exported = await home.here(['export', 'daily-production', '--uwi', UWI, '--inline']);
    expect(exported.stdout).not.toContain('was probed');
  });

  test('--json is the profile; without --uwi the wells of the warehouse are tried', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.here(['export', 'daily-production', '--uwi', UWI, '--inline']);
    const { stdout, code } = await home.here(['probe', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      baseUrl: server.url,
      uwi: UWI,
      pageBase: 1,
      maxLimit: 5,
      order: 'ascending',
    });
  });

  test('says which well to name where none is known, and where one has no data', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    expect(await home.here(['probe'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Name one with some months of data by --uwi'),
    });
    const unknown = await home.here(['probe', '--uwi', 'nobody knows it']);
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('answered 404') });
    const config = await home.write('c.yaml', 'export: { wells: [nobody, "nor this"] }');
    const none = await home.here(['probe', '--config', config]);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('none of 2 wells has data') });
  });
});
