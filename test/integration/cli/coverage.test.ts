/** The coverage of the warehouse for an operator, and filling its gaps. */
import { describe, expect, test } from 'vitest';
import { heatLegend, heatMap, shareText } from '../../../src/cli/commands/coverage-text.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { dailyUrl, januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const january = ['--from', '2024-01-01', '--to', '2024-01-11'];

async function coverageOf(home: CliHome, ...args: string[]): Promise<unknown> {
  return JSON.parse((await home.here(['coverage', ...january, ...args, '--json'])).stdout);
}

describe('coverage and gaps', () => {
  test('a backfill leaves days that were never read; --gaps reads just those, once', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const part = ['--from', '2024-01-03', '--to', '2024-01-05'];
    await home.here(['export', 'daily-production', '--uwi', UWI, ...part, '--inline']);
    expect(await coverageOf(home)).toMatchObject({
      wells: 1,
      days: { asked: 10, present: 2, neverRead: 8, missing: 0 },
    });

    const { stdout, code } = await home.here([
      'export',
      'daily-production',
      '--uwi',
      UWI,
      '--gaps',
      ...january,
      '--inline',
    ]);
    expect(stdout).toMatch(/export daily-production --gaps \(wellsync \S+\)\nService .*\nDone: 1 gap\./);
    expect(code).toBe(0);
    expect(await coverageOf(home)).toMatchObject({ days: { present: 10, neverRead: 0, missing: 0 } });

    const again = await home.here(['export', 'daily-production', '--uwi', UWI, '--gaps', ...january, '--inline']);
    expect(again.stdout).toContain('Done: 0 gaps.');
  });

  test('gaps that lie far apart are read as windows of their own, and what lies between is left alone', async () => {
    const rows = januaryRows(200).filter((_, index) => index !== 10 && index !== 12 && index !== 150);
    await using server = await startTestingServer({ data: givenDaily(rows) });
    await using home = await cliHome(server.url);
    await home.here(['export', 'daily-production', '--uwi', UWI, '--to', '2024-07-19', '--inline']);
    server.state.changeDaily(
      januaryRows(200)
        .map((row) => JSON.stringify(row))
        .join('\n'),
    );
    const gaps = ['export', 'daily-production', '--uwi', UWI, '--gaps', '--to', '2024-07-19', '--inline', '--json'];
    const report = JSON.parse((await home.here(gaps)).stdout) as unknown;
    // Days 11 to 13 are one window, with the day between them; day 151 is another.
    expect(report).toMatchObject({ units: { total: 2, done: 2 }, counts: { inserted: 3, unchanged: 1, removed: 0 } });
    expect(await coverageOf(home, '--by-well')).toMatchObject([{ uwi: UWI, present: 10, firstDay: '2024-01-01' }]);
  });

  test('a day that the service does not have is missing, one with a broken record quarantined', async () => {
    const [broken = { uwi: UWI }] = januaryRows(1);
    const data = givenDaily([...januaryRows(10).filter((_, index) => index > 2), { ...broken, oilRate: 'much' }]);
    await using server = await startTestingServer({ data });
    await using home = await cliHome(server.url);
    await home.here(['export', 'daily-production', '--uwi', UWI, '--inline']);
    const { stdout } = await home.here(['coverage', ...january]);
    expect(stdout).toMatch(/^ {2}missing +2 +20\.0 %$/m);
    expect(stdout).toMatch(/^ {2}quarantined +1 +10\.0 %$/m);
    expect(stdout).toMatch(/^15\/9-F-1 C {2}q$/m);
    expect(stdout).toContain('wellsync query "SELECT * FROM quarantine"');
    const byMonth = await home.here(['coverage', ...january, '--by-month']);
    expect(byMonth.stdout).toMatch(/^2024-01 +10 +7 +2 +0 +1$/m);
    const byWell = await home.here(['coverage', ...january, '--by-well']);
    expect(byWell.stdout).toMatch(/^15\/9-F-1 C +2024-01-01 +2024-01-10 +10 +7 +2 +0 +1 +0 +3$/m);
  });

  test('G2: an export that removes rows states the rows before and after; gaps that brought nothing are not proposed again', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const backfill = ['export', 'daily-production', '--uwi', UWI, ...january, '--inline'];
    await home.here([...backfill.slice(0, 4), '--from', '2024-01-03', '--to', '2024-01-11', '--inline']);
    expect((await home.here(['coverage', ...january])).stdout).toContain('--from-warehouse --gaps');

    const answer = await fetch(dailyUrl(server, { page: 1, limit: 5 }));
    const rows = (await answer.json()) as readonly { readonly xid: string }[];
    server.state.changeDaily(rows.map(({ xid }) => JSON.stringify({ uwi: UWI, remove: xid })).join('\n'));
    const { stdout } = await home.here([...backfill, '--allow-shrink']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('8 rows before + 0 inserted - 3 removed = 5 rows after');

    const after = await home.here(['coverage', ...january]);
    expect(after.stdout).toMatch(/^ {2}missing +5 /m);
    expect(after.stdout).not.toContain('--gaps');
  });

  test('the map shows the wells with holes, and says how many have none', async () => {
    const full = ['A', 'B', 'C'].flatMap((uwi) => januaryRows(10, uwi));
    const holed = januaryRows(10, 'HOLED').filter((_, index) => index !== 4);
    await using server = await startTestingServer({ data: givenDaily([...full, ...holed]) });
    await using home = await cliHome(server.url);
    const wells = ['A', 'B', 'C', 'HOLED'].flatMap((uwi) => ['--uwi', uwi]);
    await home.here(['export', 'daily-production', ...wells, ...january, '--inline']);
    const { stdout } = await home.here(['coverage', ...january]);
    expect(stdout).toMatch(/^HOLED {2}/m);
    expect(stdout).not.toMatch(/^A {2}/m);
    expect(stdout).toContain('Shown are the wells with holes. 3 wells have none.');
    const complete = await home.here(['coverage', ...january, '--uwi', 'A', '--uwi', 'B', '--limit', '1']);
    expect(complete.stdout).toContain('No well has a hole. Shown are the first 1');
  });

  test('of a well that was never read says so, and how to read it', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.here(['export', 'daily-production', '--uwi', UWI, '--inline']);
    const { stdout } = await home.here(['coverage', '--uwi', 'no such well']);
    expect(stdout).toContain('No day is known of what was requested.');
    expect(stdout).toContain(
      "no such well: never read. To read it: wellsync export daily-production --uwi 'no such well'",
    );
  });

  test('refuses days that are none, and bounds that hold none', async () => {
    await using home = await cliHome();
    expect(await home.here(['coverage', '--from', '2024-02-30'])).toMatchObject({ code: 2 });
    expect(await home.here(['coverage', '--from', '2024-02-02', '--to', '2024-02-02'])).toMatchObject({ code: 2 });
    expect(await home.here(['coverage', '--by-well', '--by-month'])).toMatchObject({ code: 2 });
  });
});

describe('the heat map', () => {
  const monthsOf = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      month: new Date(Date.UTC(from, index, 1)).toISOString().slice(0, 10),
      asked: 30,
      present: index % 2 === 0 ? 30 : 0,
      quarantined: 0,
      missing: index % 2 === 0 ? 0 : 30,
      neverRead: 0,
    }));

  test('has a sign a month while there is room, then a quarter, half a year, a year and a decade', () => {
    const rows = [{ name: 'A', months: monthsOf(2000, 48) }];
    const widths = [80, 40, 12].map((width) => heatMap(rows, width));
    expect(widths.map(({ signIs }) => signIs)).toEqual(['a month', 'a quarter', 'half a year']);
    expect(widths.map(({ lines }) => lines[1]?.length)).toEqual([51, 19, 11]);
    expect(widths[0]?.lines[0]).toBe('   2000        2001        2002        2003');
    expect(heatMap([{ name: 'A', months: monthsOf(1900, 1_200) }], 20)).toMatchObject({ signIs: 'a decade' });
  });

  test('names the year of its first sign where no year begins, and its legend keeps to the width', () => {
    const { lines } = heatMap([{ name: 'A', months: monthsOf(2024, 5).slice(1) }], 80);
    expect(lines[0]).toBe('   2024');
    expect(heatLegend(80).every((line) => line.length <= 80)).toBe(true);
    expect(heatLegend(300)).toHaveLength(1);
  });

  test('a share is never rounded to a whole that it is not', () => {
    expect([shareText(99_999, 100_000), shareText(1, 100_000), shareText(3, 3), shareText(0, 3)]).toEqual([
      '99.9 %',
      '0.1 %',
      '100.0 %',
      '0.0 %',
    ]);
  });
});
