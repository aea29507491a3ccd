/** The dump of both engines, for warehouses that the program has filled with the same records. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { startTestingServer, type TestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome } from '../../support/cli.ts';
import { databaseOfTest, postgresLack } from '../../support/postgres/database.ts';
import { startByteProxy } from './proxy.ts';
import { dumpDuckdb, dumpPostgres, type Tables } from './tables.ts';
import type { TableRow } from '../evidence.ts';

const lack = await postgresLack('newest');
const wells = ['15/9-F-1 C', '15/9-F-5'] as const;
const dayMs = 86_400_000;
const firstMs = Math.floor(Date.now() / dayMs) * dayMs - 40 * dayMs;

function recordOf(uwi: string, index: number, oilRate: unknown = index + 0.25) {
  const date = new Date(firstMs + index * dayMs).toISOString();
  return {
    uwi,
    date,
    oilRate,
    gasRate: 1,
    waterRate: 2,
    tubingPressure: 3,
    casingPressure: 4,
    more: { b: [1, 'ø'], a: null },
  };
}

/** Two exports: the second one finds a restated record, a late one, and one that breaks the contract. */
async function fill(warehouseUrl?: string): Promise<Tables> {
  const records = wells.flatMap((uwi) => Array.from({ length: 30 }, (_, index) => recordOf(uwi, index)));
  await using server = await startTestingServer({ data: givenDaily(records) });
  // One address for both warehouses, so that what they keep of the service is the same.
  await using home = await cliHome(server.url, {
    queue: 'embedded',
    config: `export: { historyFrom: ${new Date(firstMs).toISOString().slice(0, 10)} }\n`,
    ...(warehouseUrl === undefined ? {} : { warehouseUrl }),
  });
  const args = ['export', 'daily-production', ...wells.flatMap((uwi) => ['--uwi', uwi]), '--json'];
  const first = await home.here(args);
  expect(first.code, first.stdout + first.stderr).toBe(0);
  change(server, [recordOf(wells[0], 29, 1e-7), recordOf(wells[0], 30), recordOf(wells[1], 28, 'much')]);
  const second = await home.here(args);
  expect(second.code, second.stderr).toBe(3);
  return await (warehouseUrl === undefined ? dumpDuckdb(home.warehouseFile) : dumpPostgres(warehouseUrl));
}

function change(server: TestingServer, records: readonly object[]): void {
  server.state.changeDaily(records.map((record) => JSON.stringify(record)).join('\n'));
}

/** What the two cannot have alike: ids of runs, and the times of their own clocks. */
const ownColumn =
  /run_id$|^(?:noticed_at|changed_at|known_from|verified_at|touched_at|mark|watermark|window_from|window_to)$/;

function shared(rows: readonly TableRow[] = []): readonly TableRow[] {
  return rows
    .map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !ownColumn.test(name))))
    .toSorted((left, right) => JSON.stringify(left).localeCompare(JSON.stringify(right)));
}

const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe.skipIf(lack !== undefined)(`the tables of both engines${lack === undefined ? '' : ` (${lack})`}`, () => {
  it('come in one form, and are equal where the engines agree', async () => {
    const { url } = await databaseOfTest();
    const [duckdb, postgres] = [await fill(), await fill(url)];
    const names = [
      'daily_production',
      'daily_production_history',
      'watermark',
      'coverage',
      'quarantine',
      'feed_month',
      'well_key',
    ];
    for (const name of names) {
      expect(shared(duckdb[name]), name).toEqual(shared(postgres[name]));
      expect(duckdb[name], name).not.toEqual([]);
    }
    expect(duckdb['daily_production']).toHaveLength(61);
    for (const tables of [duckdb, postgres]) {
      const restated = tables['daily_production']?.find(({ oil_rate }) => oil_rate === 1e-7);
      expect(restated).toMatchObject({
        uwi: wells[0],
        xid: expect.stringMatching(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/),
        date: `${new Date(firstMs + 29 * dayMs).toISOString().slice(0, -1)}000Z`,
        production_day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        changed_at: expect.stringMatching(instant),
        oil_rate: 1e-7,
        extras: { more: { b: [1, 'ø'], a: null } },
        counts: true,
      });
      expect(tables['run']).toEqual([
        expect.objectContaining({ requested_at: expect.stringMatching(instant), report: expect.any(Object) }),
        expect.objectContaining({ params: expect.any(Object), target_count: 2, state: 'done' }),
      ]);
      expect(tables['internal.read_begun']).toBeDefined();
      expect(tables['alert']).toContainEqual(expect.objectContaining({ kind: 'record-quarantined', size: 1 }));
    }
    const engineOwn = new Set(['internal.feed_touch', 'queue_beat', 'writer_turn']);
    expect(
      Object.keys(postgres)
        .filter((name) => !engineOwn.has(name))
        .toSorted(),
    ).toEqual(Object.keys(duckdb).toSorted());
  });
});

/** Makes a file with a table, and holds it until its standard input ends. */
const holder = `
const { DuckDBInstance } = await import('@duckdb/node-api');
const instance = await DuckDBInstance.create(process.argv[1], { threads: '1' });
const connection = await instance.connect();
await connection.run("CREATE TABLE t AS SELECT 9007199254740991::BIGINT AS n, TIMESTAMPTZ '1969-12-31 23:59:59.999999+00' AS at");
process.stdout.write('held');
process.stdin.resume().on('end', () => process.exit());
`;

describe('a dump', () => {
  it('waits for a DuckDB file that another process holds', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-dump-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, 'held.duckdb');
    const child = spawn(process.execPath, ['--input-type=module', '-e', holder, file], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    const endedEarly = ended.then((how) => Promise.reject(new Error(`the holder ended with ${String(how)}`)));
    endedEarly.catch(() => undefined);
    await Promise.race([once(child.stdout, 'data'), endedEarly]);
    const events: string[] = [];
    const dumped = dumpDuckdb(file).finally(() => events.push('dumped'));
    // Time for its first tries, all of which fail.
    await sleep(300);
    events.push('released');
    child.stdin.end();
    expect(await dumped).toEqual({ t: [{ n: 9_007_199_254_740_991, at: '1969-12-31T23:59:59.999999Z' }] });
    expect(events).toEqual(['released', 'dumped']);
  });

  it('rejects where there is no file, or no server', async () => {
    await expect(dumpDuckdb('/nowhere/warehouse.duckdb')).rejects.toThrow(/nowhere/);
    await using proxy = await startByteProxy({ target: { host: '127.0.0.1', port: 1 }, name: 'away' });
    await expect(dumpPostgres(`postgres://postgres@127.0.0.1:${proxy.port}/none`)).rejects.toThrow(
      /ECONNRESET|terminated/,
    );
  });
});
