/** Rows that come late, in any order: plain incremental runs bring all of them. */
import { describe, expect, test } from 'vitest';
import { createDailyProductionJobs } from '../../../jobs/daily-production/job.ts';
import { anyJob } from '../../../src/runs/job.ts';
import type { GivenRecord } from '../../../src/testing-server/data/rows.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { cliHome } from '../../support/cli.ts';
import { allDays, daysFrom, deliver, nightly, storedDays } from '../../support/nightly-runs.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';
import { ask } from '../../support/warehouse-batches.ts';

const jobs = createDailyProductionJobs(dailyProductionSettings).map(anyJob);

describe('rows that come late', () => {
  test('25 days that come two months late are brought by the next plain run', async () => {
    await using server = await startTestingServer({ data: givenDaily(daysFrom(1, 31)) });
    await using engine = await engineHere(server.url, jobs);
    await nightly(engine, 31);
    await nightly(engine, 90);
    deliver(server, daysFrom(31, 56));
    expect(await nightly(engine, 91)).toMatchObject({ state: 'done', counts: { inserted: 25 } });
    expect(await storedDays(engine)).toEqual(allDays(55));
  });

  test('a well that was silent for longer than holeDays loses none of the days that it then delivers', async () => {
    await using server = await startTestingServer({ data: givenDaily(daysFrom(1, 31)) });
    await using engine = await engineHere(server.url, jobs);
    await nightly(engine, 31);
    await nightly(engine, 300);
    deliver(server, daysFrom(31, 301));
    await nightly(engine, 301);
    expect(await storedDays(engine)).toEqual(allDays(300));
  });

  test('60 silent days are brought although the newest week comes first and the rest ten days later', async () => {
    await using server = await startTestingServer({ data: givenDaily(daysFrom(1, 31)) });
    await using engine = await engineHere(server.url, jobs);
    await nightly(engine, 31);
    deliver(server, daysFrom(83, 90));
    expect((await nightly(engine, 90)).counts).toMatchObject({ inserted: 7 });
    deliver(server, daysFrom(90, 100));
    expect((await nightly(engine, 100)).counts).toMatchObject({ inserted: 10 });
    deliver(server, daysFrom(31, 83));
    expect((await nightly(engine, 101)).counts).toMatchObject({ inserted: 52, removed: 0 });
    expect(await storedDays(engine)).toEqual(allDays(99));
  });

  test('days that were quarantined are brought once the service mends them, also where an old row stood', async () => {
    const broken = (day: number): GivenRecord => ({ ...(daysFrom(day, day + 1)[0] as GivenRecord), oilRate: null });
    await using server = await startTestingServer({ data: givenDaily([...daysFrom(1, 60), broken(60)]) });
    await using engine = await engineHere(server.url, jobs);
    await nightly(engine, 61);
    deliver(server, [broken(56)]);
    expect((await nightly(engine, 62)).counts).toMatchObject({ quarantined: 2 });
    deliver(server, daysFrom(61, 100));
    await nightly(engine, 100);
    deliver(
      server,
      [...daysFrom(56, 57), ...daysFrom(60, 61)].map((row) => ({ ...row, oilRate: 7 })),
    );
    expect((await nightly(engine, 101)).counts).toMatchObject({ inserted: 1, updated: 1, quarantined: 0 });
    expect(await ask(engine.warehouse, 'SELECT count(*) FROM quarantine')).toEqual([[0]]);
    expect(await storedDays(engine)).toEqual(allDays(99));
  });

  test('a well whose first answers were empty gets its whole history at the first run that finds a row', async () => {
    await using server = await startTestingServer({ data: givenDaily([], [UWI]) });
    await using engine = await engineHere(server.url, jobs);
    for (const day of [300, 301]) await nightly(engine, day);
    deliver(server, daysFrom(1, 31));
    expect((await nightly(engine, 302)).counts).toMatchObject({ inserted: 30 });
  });

  test('a silent well, and one without a row, cost no request more than a well that delivers', async () => {
    const rows = [...daysFrom(1, 300, 'GOOD'), ...daysFrom(1, 31, 'SILENT')];
    await using server = await startTestingServer({ data: givenDaily(rows, ['EMPTY']) });
    await using engine = await engineHere(server.url, jobs);
    await nightly(engine, 300, ['GOOD', 'SILENT', 'EMPTY']);
    const requestsOf = async (uwi: string) => (await nightly(engine, 301, [uwi])).counts['requests'] ?? 0;
    const good = await requestsOf('GOOD');
    for (const uwi of ['SILENT', 'EMPTY']) expect(await requestsOf(uwi)).toBeLessThanOrEqual(good);
  });
});

describe('the lookback of one run, and of one well', () => {
  const planOf = async (config: string, ...args: string[]) => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url, { config });
    const plain = ['export', 'daily-production', '--uwi', UWI];
    await home.here([...plain, '--to', '2024-01-11', '--inline']);
    await home.here([...plain, '--inline']);
    return await home.here([...plain, '--dry-run', ...args]);
  };

  test('--lookback replaces the configured one', async () => {
    const { stdout } = await planOf('export: { holeDays: 0 }', '--lookback', '5000', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ windows: [{ lookback: '5,000 days', reach: 'last-day' }] });
  });

  test.each([['--gaps'], ['--from', '2024-01-01'], ['--to', '2024-01-01']])(
    'a backfill has no lookback: %s',
    async (...other) => {
      await using home = await cliHome('http://127.0.0.1:9');
      const backfill = ['export', 'daily-production', '--uwi', UWI, '--dry-run', '--lookback', '5', ...other];
      const { code, stderr } = await home.here(backfill);
      expect(code).toBe(2);
      expect(stderr).toContain(`--lookback and ${other[0]} exclude each other`);
    },
  );

  test('export.lookbackByWell replaces the common one for its well', async () => {
    const config = `export: { lookbackByWell: { "${UWI}": 6000, other: [{ days: all }] }, holeDays: 0 }`;
    expect(JSON.parse((await planOf(config, '--json')).stdout)).toMatchObject({
      windows: [{ lookback: '6,000 days' }],
    });
  });

  test('a dry run says that a window reaches back below the last row', async () => {
    expect((await planOf('')).stdout).toMatch(
      /^15\/9-F-1 C +2024-01-04 00:00:00Z .* all since its last row, and again 7 days$/m,
    );
  });
});
