/**
 * The exports of time series definitions and of wells by the command line; and production days by the time zone of a
 * well.
 */
import { describe, expect, test } from 'vitest';
import type { ServedTimeSeries, WellAssets } from '../../../src/testing-server/data/assets.ts';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { januaryRows, startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const json = (text: string): unknown => JSON.parse(text);

async function asked(home: CliHome, sql: string): Promise<unknown> {
  return json((await home.here(['query', sql, '--json'])).stdout);
}

function series(number: number, measurement = 'OilRate'): ServedTimeSeries {
  const uuid = (tail: number) => `00000000-0000-4000-8000-${String(tail).padStart(12, '0')}`;
  return { xid: uuid(number), equipmentXid: uuid(900), sourceId: `S${number}`, measurement, unit: 'bar' };
}

describe('export time-series', () => {
  test('pulls the records of equipment, tells what changed, and holds equipment that would lose them all', async () => {
    const equipment: Record<string, readonly ServedTimeSeries[]> = {
      'EQ/1': [series(1), series(2)],
      'EQ 2': [series(3)],
    };
    await using server = await startTestingServer({ data: givenDaily([], [UWI]), assets: { equipment } });
    await using home = await cliHome(server.url);
    const file = await home.write('equipment.csv', 'equipment\nEQ/1\nEQ 2\nEQ 2\n');
    const first = await home.atTerminal(['export', 'time-series', '--equipment-file', file, '--inline']);
    expect(first.stderr).toContain('time series definitions of 2 equipment ids (1 repeated name ignored)');
    expect(first.stdout).toContain('Done: 2 equipment ids.');
    expect(first.stdout).toContain('Reconciled: 3 read = 3 inserted + 0 updated + 0 unchanged + 0 repeated');
    expect(first.code).toBe(0);

    equipment['EQ/1'] = [series(1, 'GasRate')];
    equipment['EQ 2'] = [];
    const second = await home.here(['export', 'time-series', '--from-warehouse', '--inline']);
    expect(second.stdout).toContain(
      'EQ 2: held, the service no longer has 1 of the 1 records; they stay until they are released',
    );
    expect(second.stdout).toMatch(/wellsync runs release \S+ +asks, then lets the held rows of these equipment ids go/);
    expect(second.code).toBe(3);
    const history = 'SELECT source_id, measurement, change FROM time_series_history ORDER BY source_id';
    expect(await asked(home, history)).toEqual([
      { source_id: 'S1', measurement: 'OilRate', change: 'updated' },
      { source_id: 'S2', measurement: 'OilRate', change: 'removed' },
    ]);
    const released = await home.here([
      'export',
      'time-series',
      '--equipment',
      'EQ 2',
      '--allow-shrink',
      '--inline',
      '--json',
    ]);
    expect(json(released.stdout)).toMatchObject({ state: 'done', counts: { removed: 1 }, job: 'export time-series' });
  });

  test('equipment that the service does not know gives exit code 3 once, and is known again by itself', async () => {
    const equipment: Record<string, readonly ServedTimeSeries[]> = { 'EQ 1': [series(1)] };
    await using server = await startTestingServer({ data: givenDaily([], [UWI]), assets: { equipment } });
    await using home = await cliHome(server.url);
    const args = ['export', 'time-series', '--equipment', 'EQ 1', '--equipment', 'late', '--inline'];
    const first = await home.here(args);
    expect(first.stdout).toContain('Done, with 1 equipment id newly unknown.');
    expect(first.stdout).toMatch(/^ {2}equipment ids +2 +1 done, 1 unknown$/m);
    expect(first.stdout).toContain('the service does not know late (404): nothing was read, and nothing removed');
    expect(first.stdout).toContain('wellsync query "SELECT * FROM unknown_target"');
    expect(first.code).toBe(3);
    const listed = 'SELECT kind, target FROM unknown_target';
    expect(await asked(home, listed)).toEqual([{ kind: 'equipment', target: 'late' }]);

    const second = await home.here([...args, '--json']);
    expect(json(second.stdout)).toMatchObject({
      state: 'done',
      units: { done: 1, unknown: 1, failed: 0 },
      notices: [],
    });
    expect(second.code).toBe(0);
    equipment['late'] = [series(2)];
    expect(json((await home.here([...args, '--json'])).stdout)).toMatchObject({ units: { done: 2 } });
    expect(await asked(home, listed)).toEqual([]);
  });

  test('needs to be told which, and takes the equipment of the configuration', async () => {
    await using server = await startWithTenDays();
    await using home = await cliHome(server.url);
    const none = await home.here(['export', 'time-series']);
    expect(none).toMatchObject({ code: 2 });
    expect(none.stderr).toContain('no equipment ids are named');
    const unknown = await home.here(['export', 'time-series', '--from-warehouse', '--inline']);
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toContain('the warehouse knows no equipment ids yet');
    const config = await home.write('wellsync.yaml', `export:\n  equipment: ['EQ ${UWI}']\n`);
    expect(await home.here(['export', 'time-series', '--config', config, '--inline'])).toMatchObject({ code: 0 });
  });
});

describe('export wells', () => {
  test('G4: pulls bodies, JSON or not, and leaves a well that the service no longer knows as it was', async () => {
    const wells: Record<string, Partial<WellAssets>> = {
      [UWI]: { body: { name: 'One', deep: { a: 1, b: 2 } } },
      two: {},
    };
    await using server = await startTestingServer({ data: givenDaily([], [UWI]), assets: { wells } });
    await using home = await cliHome(server.url);
    const file = await home.write('source-wells.csv', `well\n${UWI}\ntwo\n`);
    const first = await home.atTerminal(['export', 'wells', '--wells', file, '--inline']);
    expect(first.stderr).toContain('the bodies of 2 wells');
    expect(first.code).toBe(0);
    wells[UWI] = { body: { deep: { b: 2, a: 1 }, name: 'One' } };
    const again = json((await home.here(['export', 'wells', '--from-warehouse', '--inline', '--json'])).stdout);
    expect(again).toMatchObject({ counts: { read: 2, unchanged: 2, updated: 0 } });

    server.state.setOptions({ wellAnswers: 'text' });
    const asText = json((await home.here(['export', 'wells', '--well', 'two', '--inline', '--json'])).stdout);
    expect(asText).toMatchObject({ counts: { updated: 1 } });
    server.state.setOptions({ wellAnswers: 'json' });
    delete wells['two'];
    const gone = await home.here(['export', 'wells', '--well', 'two', '--well', UWI, '--inline']);
    expect(gone.stdout).toContain('Done, with 1 well newly unknown.');
    expect(gone.code).toBe(3);
    expect(await asked(home, 'SELECT source_id, body, document IS NULL AS plain FROM well ORDER BY source_id')).toEqual(
      [
        { source_id: UWI, body: '{"name":"One","deep":{"a":1,"b":2}}', plain: false },
        { source_id: 'two', body: 'sourceId: two', plain: true },
      ],
    );
  });

  test('fail where all wells are unknown, or more than a fifth of those with rows: the address may be wrong', async () => {
    const wells = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`W${index}`, {}]));
    await using server = await startTestingServer({ data: givenDaily([], [UWI]), assets: { wells } });
    await using home = await cliHome(server.url);
    const named = Object.keys(wells).flatMap((well) => ['--well', well]);
    expect(await home.here(['export', 'wells', ...named, '--inline'])).toMatchObject({ code: 0 });
    for (const well of ['W0', 'W1', 'W2', 'W3']) delete wells[well];
    const many = await home.here(['export', 'wells', '--from-warehouse', '--inline']);
    expect(many.stdout).toContain('Failed: the service does not know 4 of the 8 wells that have rows (404)');
    expect(many.stdout).toMatch(/wellsync runs retry \S+ +retries the wells that are not done/);
    expect(many.code).toBe(1);
    const all = await home.here(['export', 'wells', '--well', 'W0', '--well', 'never', '--inline']);
    expect(all.stdout).toContain('Failed: the service does not know any of the 2 wells (404): is its address right?\n');
    expect(all.code).toBe(1);
    expect(await asked(home, 'SELECT count(*) AS n FROM well')).toEqual([{ n: 8 }]);
    expect(json((await home.here(['coverage', '--unknown', '--json'])).stdout)).toEqual([]);
  });

  test('the time zone that a body names decides the production day of the well, and its coverage', async () => {
    const uwis = ['utc', 'oslo', 'tokyo', 'nowhere'];
    const rows = uwis.flatMap((uwi) =>
      januaryRows(3, uwi).map((row) => ({ ...row, date: String(row['date']).replace('T00:', 'T22:') })),
    );
    const zones: Readonly<Record<string, string>> = { oslo: 'Europe/Oslo', tokyo: 'Asia/Tokyo', nowhere: 'Mars/Base' };
    const wells = Object.fromEntries(
      uwis.map((uwi) => [`source ${uwi}`, { body: { ids: { uwi }, location: { timeZone: zones[uwi] } } }]),
    );
    await using server = await startTestingServer({ data: givenDaily(rows), assets: { wells } });
    await using home = await cliHome(server.url);
    const settings = 'wells:\n  timeZoneField: location.timeZone\n  uwiField: ids.uwi\n';
    const config = await home.write('wellsync.yaml', `timeZone: UTC\n${settings}`);
    const sources = uwis.flatMap((uwi) => ['--well', `source ${uwi}`]);
    await home.here(['export', 'wells', ...sources, '--config', config, '--inline']);

    const { stdout } = await home.here([
      'export',
      'daily-production',
      '--from-warehouse',
      '--config',
      config,
      '--inline',
    ]);
    expect(stdout).toContain('"Mars/Base" is no time zone: UTC was taken for nowhere');
    const days = `SELECT uwi, min(production_day) AS first FROM daily_production GROUP BY uwi ORDER BY uwi`;
    expect(await asked(home, days)).toEqual([
      { uwi: 'nowhere', first: '2024-01-01' },
      { uwi: 'oslo', first: '2024-01-01' },
      { uwi: 'tokyo', first: '2024-01-02' },
      { uwi: 'utc', first: '2024-01-01' },
    ]);
    const gaps = await home.here([
      'export',
      'daily-production',
      '--uwi',
      'tokyo',
      '--gaps',
      '--dry-run',
      '--json',
      '--config',
      config,
    ]);
    expect(json(gaps.stdout)).toMatchObject({ windows: [{ from: '2024-01-04T15:00:00.000Z' }] });
  });
});
