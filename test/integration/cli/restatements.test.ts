/** Late corrections, as an operator sees them. */
import { describe, expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const exportAll = ['export', 'daily-production', '--uwi', UWI, '--to', '2024-02-01', '--inline'];

describe('restatements', () => {
  test('lists corrected fields and removed days as a table, as JSON and as CSV', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.here(exportAll);
    const [, corrected = { uwi: UWI }, removed = { uwi: UWI }] = januaryRows(3);
    const xid = (
      await home.here([
        'query',
        `SELECT CAST(xid AS VARCHAR) AS xid FROM daily_production WHERE oil_rate = 3`,
        '--json',
      ])
    ).stdout;
    const [{ xid: gone = '' } = {}] = JSON.parse(xid) as readonly { xid?: string }[];
    expect(removed['oilRate']).toBe(3);
    server.state.changeDaily(
      [
        JSON.stringify({ ...corrected, oilRate: 2.5, downtimeCode: 'A, "B"' }),
        JSON.stringify({ uwi: UWI, remove: gone }),
      ].join('\n'),
    );
    await home.here(exportAll);

    const list = async (...args: string[]) => home.here(['restatements', '--since', '2024-01-01', ...args]);
    const { stdout, code } = await list();
    expect(stdout).toMatch(
      /^2024-01-02 +15\/9-F-1 C +updated +oil_rate +2 +2\.5 +\d{4}-\d\d-\d\d \d\d:\d\d +\d{8}-\d{6}-\w+$/m,
    );
    expect(stdout).toMatch(/^2024-01-03 +15\/9-F-1 C +removed +\d{4}-\d\d-\d\d \d\d:\d\d +\d{8}-/m);
    expect(stdout).toContain('2 fields restated and 1 row removed in 1 well.');
    expect(code).toBe(0);

    const lines = JSON.parse((await list('--json')).stdout) as unknown;
    expect(lines).toMatchObject([
      { day: '2024-01-02', uwi: UWI, change: 'updated', field: 'oil_rate', old: 2, new: 2.5 },
      { field: 'downtime_code', old: null, new: 'A, "B"' },
      { day: '2024-01-03', change: 'removed', field: null, old: null, new: null, noticedAt: expect.any(String) },
    ]);
    const csv = (await list('--csv')).stdout.split('\n');
    expect(csv[0]).toBe('day,uwi,change,field,old,new,run,noticed_at');
    expect(csv[2]).toMatch(/^2024-01-02,15\/9-F-1 C,updated,downtime_code,,"A, ""B""",/);
    expect(csv).toHaveLength(5);
    const lately = await home.here(['restatements', '--csv']);
    expect(lately.stdout.split('\n')).toEqual(csv);
    expect((await list('--limit', '1')).stdout).toContain('2 more rows not shown');
    expect((await list('--uwi', 'another')).stdout).toContain('Nothing was restated.');
    expect((await home.here(['restatements', '--since', '2024-01-01', '--until', '2024-01-02'])).stdout).toContain(
      'Nothing',
    );

    const known = `SELECT count(*) AS n FROM daily_production_as_known((SELECT min(changed_at) FROM daily_production))`;
    expect(JSON.parse((await home.here(['query', known, '--json'])).stdout)).toEqual([{ n: 10 }]);
  });

  test('refuses a time that is none, and one that has not come', async () => {
    await using home = await cliHome();
    for (const args of [
      ['--since', 'monday'],
      ['--since', '2099-01-01'],
      ['--since', '2024-01-02', '--until', '2024-01-01'],
    ]) {
      expect(await home.here(['restatements', ...args])).toMatchObject({ code: 2 });
    }
    expect(await home.here(['restatements', '--since', '2024-01-01', '--csv', '--json'])).toMatchObject({ code: 2 });
  });
});
