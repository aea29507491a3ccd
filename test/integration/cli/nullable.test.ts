/** Pressures that the configuration lets be null, from the service to the warehouse and the feed. */
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { inFolder, readFeed } from '../../support/feed.ts';
import { januaryRows, UWI } from '../../support/testing-server-requests.ts';
import { dayOf } from '../../support/warehouse-batches.ts';

test('a null in a field of export.nullable is an unknown value of a row, and one in any other is quarantined', async () => {
  const [first, second, third, fourth] = januaryRows(4);
  const rows = [
    { uwi: UWI, ...first, gasRate: 5, tubingPressure: null, casingPressure: 12.5 },
    { uwi: UWI, ...second, gasRate: 7, casingPressure: null },
    { uwi: UWI, ...third, gasRate: null },
    { uwi: UWI, ...fourth, tubingPressure: undefined, casingPressure: 7 },
  ];
  await using server = await startTestingServer({ data: givenDaily(rows) });
  await using home = await cliHome(server.url, { config: '' });
  const feed = path.join(home.folder, 'feed');
  await mkdir(feed);
  const settings = (more: string) => home.write('wellsync.yaml', `feed: { url: ${feed} }\n${more}`);
  const night = async () => {
    const args = ['--uwi', UWI, '--from', dayOf(1), '--to', dayOf(5), '--inline', '--json'];
    const { code, stdout } = await home.here(['export', 'daily-production', ...args]);
    const { counts, quarantine } = JSON.parse(stdout) as { readonly counts: unknown; readonly quarantine: unknown };
    return { code, counts, quarantine };
  };
  const ask = async (sql: string): Promise<unknown> => JSON.parse((await home.here(['query', sql, '--json'])).stdout);

  await settings('');
  expect(await night()).toMatchObject({
    code: 3,
    counts: { read: 4, inserted: 1, quarantined: 3, defaulted: 1 },
    quarantine: { records: 3, oil: 6, gas: 12, water: 0, unread: 1 },
  });

  await settings('export: { nullable: [tubingPressure, casingPressure] }');
  // The third record was told of by the first night.
  expect(await night()).toMatchObject({ code: 0, counts: { inserted: 2, unchanged: 1, quarantined: 1, defaulted: 1 } });
  const pressures = [
    { tubing_pressure: null, casing_pressure: 12.5 },
    { tubing_pressure: 0, casing_pressure: null },
    { tubing_pressure: 0, casing_pressure: 7 },
  ];
  expect(await ask('SELECT tubing_pressure, casing_pressure FROM daily_production ORDER BY date')).toEqual(pressures);
  expect(await ask('SELECT reason FROM quarantine')).toEqual([{ reason: 'gasRate is null, not a number' }]);

  const published = await readFeed(inFolder(feed));
  expect(
    published.rows.daily_production.map(({ tubing_pressure, casing_pressure }) => ({
      tubing_pressure,
      casing_pressure,
    })),
  ).toEqual(pressures);
  const described = JSON.parse(await readFile(path.join(feed, 'datapackage.json'), 'utf8')) as {
    readonly resources: readonly {
      readonly title: string;
      readonly schema: { readonly fields: readonly unknown[]; readonly missingValues: readonly string[] };
    }[];
  };
  // No constraint: null is a value of this column.
  expect(described.resources.find(({ title }) => title === 'daily_production')?.schema).toMatchObject({
    fields: expect.arrayContaining([
      {
        name: 'tubing_pressure',
        type: 'number',
        description: 'Tubing pressure; 0 where the service sent none',
        unit: 'psig',
      },
      {
        name: 'oil_rate',
        type: 'number',
        description: 'Oil rate; 0 where the service sent none',
        unit: 'bbl/d',
        constraints: { required: true },
      },
    ]),
    primaryKey: ['uwi', 'xid'],
    missingValues: [''],
  });
});
