/** A further list of records, of which nothing but its entry is written (docs/adding-a-job.md): what follows from it. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, expectTypeOf, test, vi } from 'vitest';
import { definitionExports } from '../../src/app/exports/definitions.ts';
import type { RecordOf, timeSeries, TimeSeriesRecord } from '../../src/core/definitions/record-list.ts';
import { recordsSchemaOf } from '../../src/service/contract.ts';
import { copyWarehouse } from '../../src/warehouse/two-warehouses.ts';
import { cliHome } from '../support/cli.ts';
import { openFeed } from '../support/feed.ts';
import { bareSample, fullSample, type SampledList, type SampledRecord, sampledList } from '../support/sampled-list.ts';
import { ask, committedAtMs, guard } from '../support/warehouse-batches.ts';
import { openNewDuckdb, settings } from '../support/warehouse-duckdb.ts';

vi.mock(import('../../src/core/definitions/record-list.ts'), async (original) => {
  const module = await original();
  const { sampledList: added } = await import('../support/sampled-list.ts');
  return { ...module, recordLists: [...module.recordLists, added] as unknown as typeof module.recordLists };
});

test('it is an export as the others are, with targets of its own column', () => {
  const found = definitionExports.find(({ name }) => name === sampledList.name);
  expect(found).toMatchObject({ job: 'export samples', member: 'well', targets: { setting: 'sampledWells' } });
});

test('its command takes a file by the option that the entry names', async () => {
  await using home = await cliHome('http://127.0.0.1:9');
  const { stdout } = await home.here(['export', 'samples', '--help']);
  expect(stdout).toMatch(/--well <id>/);
  expect(stdout).toMatch(/--wells <file> +wells from a CSV file with the column well/);
  const none = await home.here(['export', 'samples', '--wells', path.join(home.folder, 'none.csv')]);
  expect(none.code).toBe(2);
  expect(none.stderr).toContain('none.csv');
});

test('a record of two lists is one of either, with numbers, and null where it may be missing', () => {
  expectTypeOf<RecordOf<typeof timeSeries | SampledList>>().toEqualTypeOf<TimeSeriesRecord | SampledRecord>();
  expectTypeOf<SampledRecord['depthM']>().toEqualTypeOf<number>();
  expectTypeOf<SampledRecord['wasOpen']>().toEqualTypeOf<boolean | null>();
});

describe('its answer', () => {
  const schema = recordsSchemaOf(sampledList);

  test('is taken field by field; what may be missing is null', () => {
    const { depthOfTop, zonesOpen, wasOpen, parentId, remark, ...required } = bareSample;
    const absent = { depthOfTop, zonesOpen, wasOpen, parentId, remark };
    expect(schema.parse([fullSample, required, { ...required, ...absent }])).toEqual([
      fullSample,
      bareSample,
      bareSample,
    ]);
  });

  test.each([
    { depthM: null },
    { depthM: '1' },
    { depthOfTop: true },
    { zones: 1.5 },
    { isOpen: 'no' },
    { parentId: 'x' },
  ])('is refused with %j', (wrong) => {
    expect(schema.safeParse([{ ...fullSample, ...wrong }]).success).toBe(false);
  });
});

test('G2: a warehouse from before has its records, in the feed too, with the types of their fields; it can be copied before', async () => {
  const before = await openNewDuckdb();
  try {
    await before.warehouse.check();
    const older = await before.changed('DROP TABLE sample; DROP TABLE sample_history');
    await older.close();
    const to = `${before.path}.copy`;
    const ends = { from: `duckdb:${before.path}`, to: `duckdb:${to}` };
    const copied = await copyWarehouse(ends, settings, { onStep: () => undefined });
    expect(copied.find(({ table }) => table === 'sample')).toMatchObject({ rows: 0 });

    const warehouse = before.another();
    const { runs } = warehouse.ledger;
    const made = { runId: 'samples', job: 'export samples', params: {}, service: 'https://service.example' };
    await runs.create({ ...made, actor: 'tester@host', requestedAtMs: committedAtMs });
    await runs.savePlan('samples', [{ unit: 0, chunk: 0, target: 'A', spec: {} }], committedAtMs);
    const readings = [{ unit: 0, target: 'A', records: [fullSample, bareSample] }];
    await warehouse.records(sampledList).commit({ runId: 'samples', readings, shrink: guard, committedAtMs });

    await using feed = await openFeed(warehouse);
    await feed.publish();
    const { rows } = await feed.read();
    const found = (rows as Readonly<Record<string, typeof rows.well>>)['sample'];
    expect(found?.map((row) => Object.values(row).slice(0, 11))).toEqual([
      ['A', ...Object.values(fullSample)],
      ['A', ...Object.values(bareSample)],
    ]);
    const described = await readFile(path.join(feed.folder, 'datapackage.json'), 'utf8');
    expect(described.replaceAll(/\s/g, '')).toContain('"name":"depth_m","type":"number"');
    expect(await ask(warehouse, 'SELECT count(*) FROM sample_history')).toEqual([[0]]);
  } finally {
    await before.dispose();
  }
});
