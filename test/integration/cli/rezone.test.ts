/** The time zone of the rows: it is kept, another one is refused or an alert, and a rezone dates all rows by it. */
import { expect, test } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { januaryRows } from '../../support/testing-server-requests.ts';

async function asked<T>(home: CliHome, sql: string): Promise<readonly T[]> {
  return JSON.parse((await home.here(['query', sql, '--json'])).stdout) as readonly T[];
}

const zone = (home: CliHome, timeZone: string): Promise<string> =>
  home.write('wellsync.yaml', `timeZone: ${timeZone}\nwells:\n  timeZoneField: zone\n`);

const everyState = ['open', 'acknowledged', 'resolved'].flatMap((state) => ['--state', state]);
const firstDays = `SELECT uwi, min(production_day) AS first FROM daily_production GROUP BY uwi ORDER BY uwi`;

test('G11: rows keep the zone by which they were dated: another timeZone is refused until a rezone', async () => {
  await using server = await startTestingServer({ data: givenDaily(['A', 'B'].flatMap((uwi) => januaryRows(9, uwi))) });
  await using home = await cliHome(server.url);
  const utc = await zone(home, 'UTC');
  const run = ['export', 'daily-production', '--uwi', 'A', '--uwi', 'B', '--inline', '--config'];
  expect((await home.here([...run, utc])).code).toBe(0);
  const chicago = await zone(home, 'America/Chicago');
  for (const args of [run, [...run.slice(0, -1), '--dry-run', '--config']]) {
    const refused = await home.here([...args, chicago]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('the rows of the warehouse are dated by UTC, and timeZone is America/Chicago');
    expect(refused.stderr).toMatch(/wellsync warehouse rezone .*--dry-run/s);
  }
  // A day of another zone may have other hours.
  expect((await home.here(['checks', 'run', '--config', chicago])).stderr).toContain(
    'the rows of the warehouse are dated by UTC',
  );
  const rezone = ['warehouse', 'rezone', '--config', chicago];
  const shown = await home.here([...rezone, '--dry-run']);
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'To date by America/Chicago what is dated by UTC: 2 wells with 18 rows. Another day: 18 rows; another month: 2 rows.',
  );
  expect(await asked(home, firstDays)).toMatchObject([{ first: '2024-01-01' }, { first: '2024-01-01' }]);
  const unasked = await home.here(rezone);
  expect(unasked.code).toBe(2);
  expect(unasked.stderr).toContain('Give --yes');
  expect((await home.atTerminal(rezone, 'no\n')).code).toBe(4);
  const dated = await home.atTerminal(rezone, 'yes\n');
  expect(dated.code).toBe(0);
  expect(dated.stdout.replaceAll(/\s+/g, ' ')).toContain('Where the service writes dates without an offset');
  expect(await asked(home, firstDays)).toMatchObject([{ first: '2023-12-31' }, { first: '2023-12-31' }]);
  expect((await home.here([...run, chicago])).code).toBe(0);
  expect((await home.here([...rezone, '--yes'])).stdout).toContain('All rows are dated by America/Chicago');
  // Nothing of it is a restatement, and nothing was lost by it.
  expect(await asked(home, 'SELECT count(*) AS rows FROM daily_production_history')).toEqual([{ rows: 0 }]);
  expect(await asked(home, 'SELECT count(*) AS rows FROM daily_production')).toEqual([{ rows: 18 }]);
});

test('a rezone changes the kept zone of a warehouse without a row too', async () => {
  await using server = await startTestingServer({ data: givenDaily([]) });
  await using home = await cliHome(server.url);
  const run = ['export', 'daily-production', '--uwi', 'A', '--inline', '--config'];
  await home.here([...run, await zone(home, 'UTC')]);
  const chicago = await zone(home, 'America/Chicago');
  expect((await home.here([...run, chicago])).stderr).toContain('wellsync warehouse rezone');
  const rezone = ['warehouse', 'rezone', '--yes', '--config', chicago];
  expect(await home.here(rezone)).toMatchObject({
    code: 0,
    stdout: 'All rows are dated by America/Chicago, or by the zone of their well.\n',
  });
  expect((await home.here([...run, chicago])).stderr).not.toContain('wellsync warehouse rezone');
});

test('a first export tells what the zone does to dates that are all midnight UTC', async () => {
  await using server = await startTestingServer({
    data: givenDaily([...januaryRows(9, 'A'), ...januaryRows(9, 'B').slice(3)]),
  });
  await using home = await cliHome(server.url);
  const config = await zone(home, 'America/Chicago');
  const wells = ['--uwi', 'A', '--uwi', 'B'];
  const { stdout } = await home.here(['export', 'daily-production', ...wells, '--inline', '--config', config]);
  // Once, whichever day is the first of a well.
  const told =
    /all dates are midnight UTC, and the time zone is America\/Chicago: each counts for the day before its date\./g;
  expect(stdout.replaceAll(/\s+/g, ' ').match(told)).toHaveLength(1);
  expect(stdout).not.toContain('2024-01-01');
});

test('a well whose record changes its zone is an alert until a rezone, and never a silent change', async () => {
  const rows = ['A', 'B'].flatMap((uwi) => januaryRows(9, uwi));
  const evening = rows.map((row) => ({ ...row, date: String(row['date']).replace('T00:', 'T22:') }));
  const wells: Record<string, { body: object }> = { A: { body: { zone: 'Asia/Tokyo' } }, B: { body: {} } };
  await using server = await startTestingServer({ data: givenDaily(evening), assets: { wells } });
  await using home = await cliHome(server.url);
  const config = await home.write('wellsync.yaml', 'export: { wells: [A, B] }\nwells: { timeZoneField: zone }\n');
  const run = (...args: readonly string[]) => home.here([...args, '--config', config]);
  const night = () => run('export', 'daily-production', '--inline');
  const alerts = async () => {
    const { stdout } = await run('alerts', 'list', '--kind', 'zone-changed', ...everyState, '--json');
    const listed = (JSON.parse(stdout) as { alerts: ReadonlyArray<{ state: string; target: { id: string } }> }).alerts;
    return listed.map(({ state, target }) => `${target.id} ${state}`).toSorted();
  };
  await run('export', 'wells', '--well', 'A', '--well', 'B', '--inline');
  await night();
  expect(await asked(home, firstDays)).toMatchObject([{ first: '2024-01-02' }, { first: '2024-01-01' }]);
  expect(await alerts()).toEqual([]);

  wells['A'] = { body: {} };
  wells['B'] = { body: { zone: 'Asia/Tokyo' } };
  await run('export', 'wells', '--well', 'A', '--well', 'B', '--inline');
  const told = await night();
  expect(told.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'the time zone of the well is now Asia/Tokyo, and its rows are dated by UTC',
  );
  expect(await asked(home, firstDays)).toMatchObject([{ first: '2024-01-02' }, { first: '2024-01-01' }]);
  expect(await alerts()).toEqual(['A open', 'B open']);

  expect((await run('warehouse', 'rezone', '--yes')).code).toBe(0);
  expect(await asked(home, firstDays)).toMatchObject([{ first: '2024-01-01' }, { first: '2024-01-02' }]);
  expect((await night()).stdout).not.toContain('the time zone of the well is now');
  expect(await alerts()).toEqual(['A resolved', 'B resolved']);
});
