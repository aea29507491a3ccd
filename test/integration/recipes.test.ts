/** The recipes of docs/recipes.md: the script by its work against a server and a receiver, the sources by the contract. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configSchema } from '../../config/schema.ts';
import { contractTables, defaultContract } from '../../src/core/contract/tables.ts';
import { startScriptedServer } from '../support/scripted-server.ts';
import { serveInstallation } from '../support/served-install.ts';
import { UWI } from '../support/testing-server-requests.ts';

const run = promisify(execFile);
const script = path.resolve('deploy/openlineage/send-runs.mjs');

const facet = z.looseObject({
  _producer: z.url(),
  _schemaURL: z.string().regex(/^https:\/\/openlineage\.io\/spec\/facets\/\d-\d-\d\/\w+\.json#\/\$defs\/\w+$/),
});
const facets = z.record(z.string(), facet);
const dataset = z.object({
  namespace: z.string(),
  name: z.string(),
  facets: facets.optional(),
  inputFacets: facets.optional(),
  outputFacets: facets.optional(),
});
/** What the specification 2-0-2 asks of an event. */
const event = z.object({
  eventType: z.enum(['START', 'COMPLETE', 'FAIL', 'ABORT']),
  eventTime: z.iso.datetime(),
  producer: z.url(),
  schemaURL: z.literal('https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent'),
  run: z.object({ runId: z.uuid({ version: 'v5' }), facets }),
  job: z.object({ namespace: z.string(), name: z.string(), facets }),
  inputs: z.array(dataset),
  outputs: z.array(dataset),
});

test('sends each run that ended once, with what it wrote and whether it is sound, and what failed as failed', async () => {
  let status = 201;
  await using receiver = await startScriptedServer(() => ({ status }));
  await using served = await serveInstallation({ works: false });
  const { home, server } = served;
  const state = path.join(home.folder, 'lineage.json');
  const env = {
    PATH: process.env['PATH'],
    WELLSYNC: server.url,
    WELLSYNC_TOKEN: 'read',
    OPENLINEAGE_URL: receiver.baseUrl,
    OPENLINEAGE_API_KEY: 'key',
  };
  const send = () => run(process.execPath, [script, state], { env });
  const exportOf = (...uwis: string[]) =>
    home.here([
      'export',
      'daily-production',
      ...uwis.flatMap((uwi) => ['--uwi', uwi]),
      '--to',
      '2024-02-01',
      '--inline',
    ]);
  await exportOf(UWI);
  status = 503;
  await expect(send()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('answered with 503') });
  status = 201;
  const before = receiver.requests.length;
  expect((await send()).stdout).toBe('1 runs sent\n');
  // All wells of the run are unknown: the address is probably wrong.
  expect((await exportOf('another', 'third')).code).toBe(1);
  expect((await send()).stdout).toBe('1 runs sent\n');
  expect((await send()).stdout).toBe('0 runs sent\n');

  const sent = receiver.requests.slice(before);
  expect(sent.map(({ method, url, headers }) => [method, url, headers.authorization])).toEqual(
    sent.map(() => ['POST', '/api/v1/lineage', 'Bearer key']),
  );
  const [start, complete, , fail] = sent.map(({ body }) => event.parse(JSON.parse(body)));
  expect(start).toMatchObject({ eventType: 'START', run: { runId: complete?.run.runId } });
  expect(complete).toMatchObject({
    eventType: 'COMPLETE',
    job: { namespace: 'wellsync', name: 'export daily-production' },
    inputs: [
      {
        namespace: expect.stringContaining('127.0.0.1'),
        name: 'daily-production',
        inputFacets: {
          dataQualityAssertions: {
            assertions: [
              { name: 'reconciled', success: true },
              { name: 'quarantined', success: true, expected: '0', actual: '0' },
              { name: 'heldRows', success: true },
            ],
          },
        },
      },
    ],
    outputs: [
      {
        namespace: `duckdb:${home.warehouseFile}`,
        name: 'main.daily_production',
        outputFacets: { outputStatistics: { rowCount: 10 } },
      },
    ],
  });
  const { fields } = z
    .looseObject({ fields: z.array(z.looseObject({ name: z.string(), type: z.string() })) })
    .parse(complete?.outputs[0]?.facets?.['schema']);
  expect(fields).toContainEqual(expect.objectContaining({ name: 'oil_rate', type: 'number' }));
  expect(fail).toMatchObject({ eventType: 'FAIL', run: { facets: { errorMessage: { message: expect.any(String) } } } });
  expect(fail?.run.runId).not.toBe(complete?.run.runId);
  expect(z.array(z.string()).parse(JSON.parse(await readFile(state, 'utf8')))).toHaveLength(2);
});

test('says what it needs', async () => {
  const env = { PATH: process.env['PATH'] };
  await expect(run(process.execPath, [script], { env })).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('set WELLSYNC and OPENLINEAGE_URL'),
  });
});

const period = z.strictObject({ count: z.number(), period: z.enum(['minute', 'hour', 'day']) });
const config = z.strictObject({
  freshness: z.strictObject({ warn_after: period, error_after: period }).nullable(),
});
const sources = z.strictObject({
  version: z.literal(2),
  sources: z.tuple([
    z.strictObject({
      name: z.literal('wellsync'),
      description: z.string(),
      schema: z.string(),
      loaded_at_field: z.string(),
      config,
      tables: z.array(
        z.strictObject({
          name: z.string(),
          description: z.string(),
          loaded_at_field: z.string().optional(),
          config: config.optional(),
          columns: z.array(z.strictObject({ name: z.string(), data_tests: z.array(z.literal('not_null')) })).optional(),
        }),
      ),
    }),
  ]),
});

test('the sources of dbt are tables of the contract, stale after as long as wellsync says', () => {
  const [source] = sources.parse(parse(readFileSync('deploy/dbt/sources.yml', 'utf8'))).sources;
  expect(source.config.freshness?.warn_after).toEqual({
    count: configSchema.parse({}).freshness.warnAfterDays,
    period: 'day',
  });
  const known = new Map(contractTables(defaultContract).map((table) => [table.name, table]));
  for (const { name, description, columns = [], loaded_at_field: loadedAt, config: own } of source.tables) {
    const table = known.get(name);
    expect([name, description]).toEqual([name, expect.stringContaining(String(table?.description).slice(0, 25))]);
    const names = table?.columns.map((column) => column.name) ?? [];
    for (const column of columns) expect(names).toContain(column.name);
    if (own?.freshness === null) continue;
    const field = loadedAt ?? source.loaded_at_field;
    expect(names).toContain(/^cast\((\w+) as timestamp\)$/.exec(field)?.[1] ?? field);
  }
});
