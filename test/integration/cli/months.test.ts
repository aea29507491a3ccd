/** Months of wells, as an operator sees them. */
import { setTimeout as later } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../../support/cli.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const exportAll = ['export', 'daily-production', '--uwi', UWI, '--to', '2024-02-01', '--inline'];
const config = 'units: { gasRate: m3/d, waterRate: unknown }\nexport: { rateBasis: operated-day }\n';

describe('months', () => {
  test('has volumes with their units, as a table, as JSON and as CSV, and what was restated since', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url, { config });
    await home.here(exportAll);
    const since = new Date().toISOString();
    // The clock of the warehouse is that of this host, to the millisecond.
    await later(2);
    const [first = { uwi: UWI }] = januaryRows(1);
    server.state.changeDaily(JSON.stringify({ ...first, oilRate: 11, downtimeHours: 12, downtimeCode: 'PUMP' }));
    await home.here(exportAll);

    const list = (...args: string[]) => home.here(['months', ...args]);
    const { stdout, code } = await home.atTerminal(['months', '--well', UWI]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^uwi +month +present +missing +quarantined +hours_on \(h\) +oil \(bbl\) +gas \(m3\)/m);
    expect(stdout).toMatch(/^15\/9-F-1 C +2024-01 +10 +21 +0 +228 +59\.5 /m);
    expect(stdout).toContain('Volumes of operated-day rates. A missing day adds nothing: it is not 0.');

    const [line = '', known = ''] = (await list('--since', since)).stdout.trimEnd().split('\n').slice(-2);
    expect(line).toContain('operated-day');
    expect(known).toMatch(/^1 month is not what was known at .*Z: 15\/9-F-1 C 2024-01\.$/);
    const document = JSON.parse((await list('--since', since, '--json')).stdout) as unknown;
    expect(document).toMatchObject({
      rateBasis: 'operated-day',
      units: { oil: 'bbl', gas: 'm3', water: 'unknown', hours_on: 'h' },
      knownAt: since,
      months: [{ uwi: UWI, month: '2024-01-01', daysPresent: 10, daysMissing: 21, oil: 59.5, asKnown: { oil: 55 } }],
    });
    const csv = (await list('--csv')).stdout.split('\n');
    expect(csv[0]).toBe(
      'uwi,production_month,days_present,days_missing,days_quarantined,hours_on,oil,gas,water,water_injected,gas_injected,downtime_hours,downtime_by_code',
    );
    expect(csv[1]).toMatch(/^15\/9-F-1 C,2024-01-01,10,21,0,228,59\.5,.*,12,"\{""PUMP"":12\}"$/);
    const [head] = (await list('--csv', '--units', '--since', since)).stdout.split('\n');
    expect(head).toContain(',hours_on [h],oil [bbl],gas [m3],water [unknown],oil_as_known [bbl],gas_as_known [m3],');

    const described = (await home.here(['warehouse', 'info'])).stdout;
    expect(described).toMatch(/^rates +operated-day$/m);
    expect((await home.here(['doctor'])).stdout).toContain('operated-day rates');
    expect(await list('--well', 'another')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no well "another"') as string,
    });
  });

  test('says what is wrong with a time, and with two forms', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    await home.here(exportAll);
    const refused = async (...args: string[]) => {
      const { code, stderr } = await home.here(['months', ...args]);
      expect([args, code]).toEqual([args, 2]);
      return stderr;
    };
    expect(await refused('--since', '2999-01-01')).toContain('--since 2999-01-01 is not before now');
    expect(await refused('--since', '2024-02-30')).toContain('--since "2024-02-30" is not a day');
    expect(await refused('--csv', '--json')).toContain('--csv and --json exclude each other');
    expect(await refused('--units')).toContain('--units needs --csv');
    // Nothing was known before the first row: that is no fault.
    const before = await home.here(['months', '--since', '0001-01-03', '--json']);
    expect(JSON.parse(before.stdout)).toMatchObject({ months: [{ oil: 55, asKnown: { oil: null } }] });
  });
});
