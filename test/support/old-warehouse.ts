/** The warehouse of schema version 8, in a temporary folder. test/fixtures/README.md describes it. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { z } from 'zod';
import { copyWarehouse } from '../../src/warehouse/two-warehouses.ts';
import { settings } from './warehouse-duckdb.ts';

const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url));

/** The folder in which the fixture was created: runs of pushes name files under it. */
const folderOfMaking = '/tmp/wellsync-fixture';

const count = z.int();
const contentSchema = z.object({
  runs: z.array(z.object({ job: z.string(), state: z.string(), units: count, open: count })),
  warehouse: z.record(z.string(), count),
  audit: z.object({ intact: z.literal(true), rows: count, head: z.string(), broken: z.null() }),
  service: z.object({ pipes: count, deletions: count }),
});
const expectedSchema = z.object({
  /** The unfinished push. */
  pushRunId: z.string(),
  /** The generated field of the service. */
  field: z.object({ seed: z.int(), wells: count, fromDay: z.string(), toDay: z.string() }),
  asMade: contentSchema,
  /** The state after every unfinished run has ended. */
  finished: contentSchema,
});

/** The content of expected.json: runs in the order of their requests. */
export async function readExpected(): Promise<z.output<typeof expectedSchema>> {
  return expectedSchema.parse(JSON.parse(await readFile(path.join(fixtures, 'expected.json'), 'utf8')));
}

export interface OldWarehouse extends AsyncDisposable {
  /** For WELLSYNC_DATA_DIR: holds `warehouse.duckdb` and the rejects of pushes. */
  readonly dataDir: string;
  readonly warehouseFile: string;
  /** Holds the pushed file as well. */
  readonly folder: string;
}

/**
 * Unpacks the fixture into a temporary folder, and changes the paths in its runs to the files there. With `serviceUrl`
 * the pushes, the plans and the profile name that address in place of http://127.0.0.1:4010; the audit is unchanged.
 */
export async function unpackOldWarehouse({ serviceUrl }: { readonly serviceUrl?: string } = {}): Promise<OldWarehouse> {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-old-'));
  const dataDir = path.join(folder, 'data');
  const warehouseFile = path.join(dataDir, 'warehouse.duckdb');
  await mkdir(dataDir);
  await cp(path.join(fixtures, 'pipes.csv'), path.join(folder, 'pipes.csv'));
  await cp(path.join(fixtures, 'rejects'), path.join(dataDir, 'rejects'), { recursive: true });
  const packed = await readFile(path.join(fixtures, 'warehouse-schema-8.duckdb.gz'));
  await writeFile(warehouseFile, gunzipSync(packed));
  await relocate(warehouseFile, folder, serviceUrl);
  return { folder, dataDir, warehouseFile, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** Bypasses the program, which opens no warehouse of that version for writing. */
async function relocate(file: string, folder: string, serviceUrl: string | undefined): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run('UPDATE run SET params = replace(params::VARCHAR, $1, $2)::JSON', [folderOfMaking, folder]);
  if (serviceUrl !== undefined) {
    for (const table of ['push', 'push_body_limit', 'cleanup_plan']) {
      await connection.run(`UPDATE ${table} SET service_url = $1`, [serviceUrl]);
    }
    await connection.run('UPDATE service_profile SET base_url = $1', [serviceUrl]);
  }
  connection.closeSync();
  instance.closeSync();
}

/** The statements that make the same warehouse in PostgreSQL. */
export async function oldDatabase(): Promise<string> {
  return gunzipSync(await readFile(path.join(fixtures, 'postgres-schema-8.sql.gz'))).toString();
}

/** Takes the fixture over into a new file; returns its path. */
export async function copyOfOld({ warehouseFile }: OldWarehouse): Promise<string> {
  const file = `${warehouseFile}.new`;
  await copyWarehouse({ from: `duckdb:${warehouseFile}`, to: `duckdb:${file}` }, settings, { onStep: () => undefined });
  return file;
}

/**
 * Moves its wells to where a night before this one leaves them. The fixture is of one day: later nobody has read the last days
 * of its wells, which then count as producing.
 */
export async function asOfLastNight(file: string): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  await connection.run('UPDATE watermark SET watermark = now()');
  connection.closeSync();
  instance.closeSync();
}

const requestSchema = z.object({ method: z.string(), path: z.string(), body: z.string().optional() });

/** Starts a testing server with the field of expected.json, at the address of the fixture's service. */
export async function restoreService(serviceUrl: string): Promise<void> {
  const lines = (await readFile(path.join(fixtures, 'service-requests.ndjson'), 'utf8')).trimEnd().split('\n');
  const headers = { 'content-type': 'application/json' };
  for (const line of lines) {
    const { method, path: to, body = null } = requestSchema.parse(JSON.parse(line));
    const answer = await fetch(serviceUrl + to, { method, body, headers });
    if (!answer.ok) throw new Error(`${method} ${to} was answered ${answer.status}: ${await answer.text()}`);
  }
}

/** Every run, in the order of the requests, with its units and its open units. */
const runsQuery = `
  SELECT job, run.state, count(unit)::INTEGER AS units, count(unit) FILTER (WHERE u.state = 'open')::INTEGER AS open
  FROM run LEFT JOIN run_unit u USING (run_id)
  GROUP BY run_id, job, run.state, requested_at ORDER BY requested_at, run_id`;

const tables = [
  'daily_production',
  'daily_production_history',
  'quarantine',
  'coverage',
  'watermark',
  'time_series',
  'time_series_history',
  'well',
  'service_profile',
  'cleanup_plan',
  'push_ledger',
  'deletion_audit',
];

/**
 * The runs of a warehouse and the rows of its tables, in the form of expected.json; `ask` returns the rows of a query.
 */
export async function contentOf(ask: (sql: string) => Promise<readonly (readonly unknown[])[]>) {
  const runs = (await ask(runsQuery)).map(([job, state, units, open]) => ({ job, state, units, open }));
  const counts = tables.map((table) => `SELECT '${table}' AS name, count(*)::INTEGER AS rows FROM ${table}`);
  return { runs, warehouse: Object.fromEntries(await ask(counts.join(' UNION ALL '))) as Record<string, number> };
}
