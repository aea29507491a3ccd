/** Late corrections, and the tier of the lookback that finds them. */
import { describe, expect, test } from 'vitest';
import { createDailyProductionJobs, dailyProductionJobName } from '../../../jobs/daily-production/job.ts';
import { DAY_MS } from '../../../src/core/time/window.ts';
import { anyJob } from '../../../src/runs/job.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { engineHere } from '../../support/engine-here.ts';
import { dailyProductionSettings } from '../../support/export-settings.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';
import { ask } from '../../support/warehouse-batches.ts';

const tiers = [{ days: 7 }, { days: 90, on: 'sunday' }, { days: 'all', on: 'first of month' }] as const;
const jobs = createDailyProductionJobs({ ...dailyProductionSettings, lookback: tiers }).map(anyJob);
const night = (day: string): number => Date.parse(`${day}T04:00:00Z`);

describe('a lookback in tiers', () => {
  test('finds a correction 60 days back when its tier comes, and one of last year on the first of the month', async () => {
    const rows = januaryRows(160);
    await using server = await startTestingServer({ data: givenDaily(rows) });
    await using engine = await engineHere(server.url, jobs);
    const run = async (day: string) => {
      engine.nowMs = night(day);
      return engine.run(dailyProductionJobName, { nowMs: night(day), allowShrink: false }, [UWI]);
    };
    const correct = (dayNumber: number): void => {
      const row = rows[dayNumber - 1] ?? { uwi: UWI };
      server.state.changeDaily(JSON.stringify({ ...row, oilRate: 999 }));
    };
    // The 5th of June 2024 is a Wednesday, day 157 of the year.
    expect(await run('2024-06-05')).toMatchObject({ state: 'done', counts: { inserted: 157 } });
    correct(97);
    correct(20);
    for (const weekday of ['2024-06-06', '2024-06-07', '2024-06-08']) {
      expect((await run(weekday)).counts).toMatchObject({ updated: 0 });
    }
    const sunday = await run('2024-06-09');
    expect(sunday.counts).toMatchObject({ updated: 1 });
    expect(sunday.notices).toEqual(['read again below the watermark: 90 days, on sunday']);
    const restated = 'SELECT production_day, oil_rate FROM daily_production_history ORDER BY noticed_at';
    expect(await ask(engine.warehouse, restated)).toEqual([['2024-04-06', 97]]);
    expect((await run('2024-06-09')).notices).toEqual([]);

    const first = await run('2024-07-01');
    expect(first.notices).toEqual(['read again below the watermark: everything, on the first of the month']);
    expect(await ask(engine.warehouse, restated)).toEqual([
      ['2024-04-06', 97],
      ['2024-01-20', 20],
    ]);
    const specs = await ask(
      engine.warehouse,
      `SELECT spec->>'$.lookback.days' FROM run_unit JOIN run USING (run_id) ORDER BY requested_at, run_id`,
    );
    expect(specs.map(([days]) => String(days)).toSorted((left, right) => left.localeCompare(right))).toEqual([
      '7',
      '7',
      '7',
      '7',
      '90',
      'all',
      'null',
    ]);
  });

  test('a Sunday on which nothing ran is made up for by the next run', async () => {
    await using server = await startWithTenDays();
    await using engine = await engineHere(server.url, jobs);
    const run = (day: string) => engine.run(dailyProductionJobName, { nowMs: night(day), allowShrink: false }, [UWI]);
    await run('2024-06-08');
    expect((await run('2024-06-11')).notices).toEqual(['read again below the watermark: 90 days, on sunday']);
    expect((await run('2024-06-12')).notices).toEqual([]);
  });

  test.each([
    { lookbackDays: 1, spec: ['90', 'sunday'] },
    { lookbackDays: 365, spec: ['365', null] },
  ])(
    '--lookback $lookbackDays only deepens what is due: no tier of the day is lost',
    async ({ lookbackDays, spec }) => {
      await using server = await startWithTenDays();
      await using engine = await engineHere(server.url, jobs);
      const run = (day: string, more = {}) =>
        engine.run(dailyProductionJobName, { nowMs: night(day), allowShrink: false, ...more }, [UWI]);
      await run('2024-06-08');
      await run('2024-06-09', { lookbackDays });
      const due = `SELECT spec->>'$.lookback.days', spec->>'$.lookback.on' FROM run_unit WHERE (spec->>'$.lookback.days') IS NOT NULL`;
      expect(await ask(engine.warehouse, due)).toEqual([spec]);
    },
  );
});

describe('the configuration of the lookback', () => {
  const dryRun = ['export', 'daily-production', '--uwi', UWI, '--dry-run'];

  /** The ten days before today. */
  const recentRows = () =>
    januaryRows(10).map((row, index) => ({ ...row, date: new Date(Date.now() - (10 - index) * DAY_MS).toISOString() }));

  test('is a number of days or tiers, and a dry run says which is due, and starts nothing', async () => {
    await using server = await startTestingServer({ data: givenDaily(recentRows()) });
    await using home = await cliHome(server.url);
    const config = (lookback: string) =>
      home.write('wellsync.yaml', `export:\n  lookback: ${lookback}\n  holeDays: 0\n`);
    const plan = async (file: string, ...args: string[]) =>
      (await home.here([...dryRun, '--config', file, ...args])).stdout;
    expect(JSON.parse(await plan(await config('3'), '--json'))).toMatchObject({
      windows: [{ uwi: UWI, from: '1900-01-01T00:00:00.000Z', mode: 'incremental', lookback: null }],
    });
    await home.here(['export', 'daily-production', '--uwi', UWI, '--inline']);
    expect(await plan(await config('3'))).toMatch(/^15\/9-F-1 C .* new days, and again 3 days$/m);
    expect(await plan(await config('[{days: 9, on: first of month}]'))).toMatch(/ (?:new days|9 days, on .*)$/m);
    const always = await config('[{days: 3}, {days: all}]');
    expect(await plan(always)).toMatch(/^15\/9-F-1 C +1900-01-01 00:00:00Z .* and again everything$/m);
    expect(JSON.parse((await home.here(['runs', 'list', '--json'])).stdout)).toHaveLength(1);
  });

  test.each(['-1', 'much', '[{days: 3, on: someday}]', '[{on: sunday}]'])('%s is refused', async (lookback) => {
    await using home = await cliHome('http://127.0.0.1:9');
    const file = await home.write('wellsync.yaml', `export:\n  lookback: ${lookback}\n`);
    const { code, stderr } = await home.here([...dryRun, '--config', file]);
    expect(code).toBe(2);
    expect(stderr).toContain('export.lookback');
  });
});
