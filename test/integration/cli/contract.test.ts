/** The contract of a warehouse, by the schema of its standard and by the warehouse itself. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { cliHome } from '../../support/cli.ts';
import { startWithTenDays, UWI } from '../../support/testing-server-requests.ts';

const schema = JSON.parse(readFileSync('test/fixtures/odcs-3.1.0.schema.json', 'utf8')) as object;
// Formats of texts are not checked by Ajv without another package.
const validate = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(schema);

const quality = z.object({ name: z.string(), type: z.string(), query: z.string().optional() });
const contract = z.looseObject({
  id: z.string(),
  servers: z.array(z.looseObject({ server: z.string(), type: z.string() })),
  schema: z.array(
    z.looseObject({
      name: z.string(),
      properties: z.array(
        z.looseObject({
          name: z.string(),
          required: z.boolean(),
          primaryKey: z.boolean().optional(),
          customProperties: z.array(z.object({ property: z.string(), value: z.string() })).optional(),
        }),
      ),
      quality: z.array(quality).optional(),
    }),
  ),
  slaProperties: z.array(z.looseObject({ property: z.string(), value: z.number() })),
});

const exportAll = ['export', 'daily-production', '--uwi', UWI, '--to', '2024-02-01', '--inline'];

test('is valid by the schema of the standard, and true of the tables that it names', async () => {
  const config =
    'units: { oilRate: m3/d, choke: unknown }\nfreshness: { warnAfterDays: 9 }\nexport: { nullable: [tubingPressure] }\nfeed: { url: /mnt/feed }\n';
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url, { config });
  await home.here(exportAll);
  const ask = async (sql: string): Promise<unknown> =>
    JSON.parse((await home.here(['query', sql, '--json'])).stdout) as unknown;
  const { stdout, code } = await home.here(['contract']);
  expect(code).toBe(0);
  const document: unknown = parse(stdout);
  validate(document);
  expect(validate.errors ?? []).toEqual([]);
  expect(JSON.parse((await home.here(['contract', '--json'])).stdout)).toEqual(document);

  const found = contract.parse(document);
  expect(found.servers).toMatchObject([
    { server: 'warehouse', type: 'duckdb', database: home.warehouseFile },
    { server: 'feed', type: 'custom', location: 'file:///mnt/feed/manifest.json', format: 'parquet' },
  ]);
  expect(found.slaProperties).toMatchObject([{ property: 'freshness', value: 9, unit: 'd' }]);
  for (const { name, properties, quality: rules = [] } of found.schema) {
    const described = (await ask(`DESCRIBE ${name}`)) as ReadonlyArray<{ readonly column_name: string }>;
    expect([name, properties.map((each) => each.name).toSorted()]).toEqual([
      name,
      described.map((each) => each.column_name).toSorted(),
    ]);
    const required = properties.filter((each) => each.required).map((each) => `${each.name} IS NULL`);
    expect([name, await ask(`SELECT count(*) AS n FROM ${name} WHERE ${required.join(' OR ')}`)]).toEqual([
      name,
      [{ n: 0 }],
    ]);
    const key = properties.filter((each) => each.primaryKey === true).map((each) => each.name);
    expect(key.length).toBeGreaterThan(0);
    for (const { name: rule, query } of rules) {
      if (query === undefined) continue;
      const [answer = {}] = (await ask(query)) as ReadonlyArray<Readonly<Record<string, unknown>>>;
      const [count] = Object.values(answer);
      // The ten rows have no pressure, which the service calls 0.
      expect([rule, count]).toEqual([rule, rule === 'maybe-missing-zero' ? 10 : 0]);
    }
  }
  const unitsOf = (table: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      (found.schema.find(({ name }) => name === table)?.properties ?? []).flatMap(({ name, customProperties = [] }) =>
        customProperties.filter(({ property }) => property === 'unit').map(({ value }) => [name, value] as const),
      ),
    );
  expect(unitsOf('daily_production')).toMatchObject({ oil_rate: 'm3/d', gas_rate: 'Mscf/d', choke: 'unknown' });
  expect(unitsOf('monthly_production')).toEqual({
    hours_on: 'h',
    oil: 'm3',
    gas: 'Mscf',
    water: 'bbl',
    water_injected: 'bbl',
    gas_injected: 'Mscf',
    downtime_hours: 'h',
  });
});

test('is written to a file whole, and over none that is there', async () => {
  await using server = await startWithTenDays();
  await using home = await cliHome(server.url);
  const missing = await home.here(['contract']);
  expect([missing.code, missing.stdout]).toEqual([5, '']);
  await home.here(exportAll);
  const file = path.join(home.folder, 'wellsync.odcs.yaml');
  const write = (...args: string[]) => home.here(['contract', '--output', file, ...args]);
  expect((await write()).code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe((await home.here(['contract'])).stdout);
  expect(await write()).toMatchObject({ code: 2, stderr: expect.stringContaining('exists: nothing was written') });
  expect((await write('--overwrite')).code).toBe(0);
  expect((await home.here(['contract', '--overwrite'])).stderr).toContain('--overwrite needs --output');
  const nowhere = await home.here(['contract', '--output', path.join(home.folder, 'no/folder.yaml')]);
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining('there is no folder')]);
});
