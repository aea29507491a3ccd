/** `wellsync verify`: each class that it tells apart, planted at the service or in the warehouse, on both engines. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { DAY_MS } from '../../../src/core/time/window.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { databaseOfRole, postgresLack } from '../../support/postgres/database.ts';
import { xidOf } from '../../support/warehouse-batches.ts';

const lack = await postgresLack('newest');
const engines = [
  { name: 'duckdb', isLacking: false, url: async () => undefined },
  { name: 'postgres', isLacking: lack !== undefined, url: async () => (await databaseOfRole()).url },
];

const reportSchema = z.object({
  runId: z.string(),
  exitCode: z.number(),
  counts: z.record(z.string(), z.number()),
  notices: z.array(z.string()),
  sentence: z.string(),
  balance: z.object({ balanced: z.boolean() }),
  differences: z
    .object({ wells: z.number(), samples: z.array(z.record(z.string(), z.unknown())), backfills: z.array(z.unknown()) })
    .optional(),
});

/** A day so many days ago, at midnight UTC. */
const daysAgo = (days: number): string => new Date(Math.floor(Date.now() / DAY_MS - days) * DAY_MS).toISOString();
const dayAgo = (days: number): string => daysAgo(days).slice(0, 10);

let xids = 0;
const record = (uwi: string, days: number, fields: Readonly<Record<string, unknown>> = {}) => ({
  uwi,
  xid: xidOf((xids += 1)),
  date: daysAgo(days),
  oilRate: days,
  gasRate: 1,
  waterRate: 2,
  tubingPressure: 3,
  casingPressure: 4,
  ...fields,
});

/** A row of each of the days from 60 days ago to yesterday. */
const rowsOf = (uwi: string) => Array.from({ length: 60 }, (_, index) => record(uwi, 60 - index));

const uwis = ['NO 15/9-F-1 C', "O'Hara 2", 'C'] as const;

for (const { name, isLacking, url } of engines) {
  describe.skipIf(isLacking)(`verify: ${name}${isLacking ? ` (${lack})` : ''}`, () => {
    async function scene() {
      const rows = uwis.map(rowsOf);
      const server = await startTestingServer({ data: givenDaily(rows.flat()) });
      const warehouseUrl = await url();
      const home = await cliHome(server.url, {
        queue: 'embedded',
        ...(warehouseUrl === undefined ? {} : { warehouseUrl }),
      });
      const change = (...changes: readonly object[]): void =>
        void server.state.changeDaily(changes.map((each) => JSON.stringify(each)).join('\n'));
      const exportAll = (...flags: readonly string[]) =>
        home.here(['export', 'daily-production', ...uwis.flatMap((uwi) => ['--uwi', uwi]), ...flags]);
      expect(await exportAll()).toMatchObject({ code: 0 });
      return {
        server,
        home,
        rows,
        change,
        exportAll,
        verify: (...flags: readonly string[]) => verifyIn(home, ...flags),
        [Symbol.asyncDispose]: async () => {
          await home[Symbol.asyncDispose]();
          await server.close();
        },
      };
    }

    async function verifyIn(home: CliHome, ...flags: readonly string[]) {
      const { code, stdout, stderr } = await home.here(['verify', '--json', ...flags]);
      expect(stdout, stderr).not.toBe('');
      const report = reportSchema.parse(JSON.parse(stdout));
      expect(report.exitCode).toBe(code);
      expect(report.balance.balanced).toBe(true);
      return report;
    }

    /** Runs the commands that a report printed, without a shell. */
    async function backfillOf(home: CliHome, runId: string): Promise<void> {
      const { stdout } = await home.here(['runs', 'show', runId]);
      const commands = stdout.split('\n').filter((line) => line.startsWith('  wellsync export'));
      expect(commands.length).toBeGreaterThan(0);
      for (const command of commands) {
        const words = [...(command.split(/ {2,}reads the days/)[0]?.matchAll(/'((?:[^']|'\\'')*)'|\S+/g) ?? [])].map(
          ([word, quoted]) => (quoted === undefined ? word : quoted.replaceAll(String.raw`'\''`, "'")),
        );
        const { code, stderr } = await home.here(words.slice(1));
        expect([0, 3], stderr).toContain(code);
      }
    }

    test('what is the same ends with 0', async () => {
      await using given = await scene();
      const { verify, home } = given;
      const report = await verify();
      expect(report).toMatchObject({
        exitCode: 0,
        counts: { read: 180, same: 180, differing: 0, missingHere: 0, missingThere: 0, stored: 180 },
      });
      expect(report.differences).toBeUndefined();
      const { stdout } = await home.here(['runs', 'show', report.runId]);
      expect(stdout).toContain('verify daily-production');
    });

    test('each difference is counted in its class, and the printed backfill puts it right', async () => {
      await using given = await scene();
      const { verify, home, change, rows } = given;
      const [first = [], second = []] = rows;
      change({ ...first[10], oilRate: 777 }, { ...first[11], downtimeCode: 'ESP', isDualFlow: true });
      change({ uwi: uwis[0], remove: first[20]?.xid }, record(uwis[0], 35, { choke: 5 }));
      change({ uwi: uwis[1], remove: second[30]?.xid });
      change({ uwi: uwis[1], remove: second[41]?.xid }, { ...second[41], xid: xidOf(9_001) });
      change({ ...second[5], date: daysAgo(70) });
      const report = await verify();
      expect(report).toMatchObject({
        exitCode: 3,
        sentence: 'Done, with 4 records differing, 1 record missing here and 2 records missing there.',
        counts: { same: 174, differing: 4, missingHere: 1, missingThere: 2 },
        differences: { wells: 2 },
      });
      expect(report.differences?.samples).toEqual(
        expect.arrayContaining([
          { uwi: uwis[0], day: dayAgo(50), kind: 'differs', field: 'oil_rate', here: 50, there: 777 },
          { uwi: uwis[0], day: dayAgo(49), kind: 'differs', field: 'is_dual_flow', here: null, there: true },
          expect.objectContaining({ uwi: uwis[1], kind: 'differs', field: 'date', there: daysAgo(70) }),
          expect.objectContaining({ uwi: uwis[1], kind: 'replaced', field: 'xid', there: xidOf(9_001) }),
        ]),
      );
      await backfillOf(home, report.runId);
      expect(await verify()).toMatchObject({ exitCode: 0, counts: { differing: 0, missingHere: 0, missingThere: 0 } });
    });

    test('G4: a run is all that is written, whatever differs', async () => {
      await using given = await scene();
      const { verify, home, change, rows, server } = given;
      const [first = [], second = []] = rows;
      change({ ...first[10], oilRate: 777 }, { uwi: uwis[0], remove: first[20]?.xid }, record(uwis[0], 35));
      change({ ...first[12], oilRate: 'wrong' });
      change(...second.slice(5, 40).map(({ xid }) => ({ uwi: uwis[1], remove: xid })));
      const before = await contentOf(home);
      expect(Object.keys(before)).toEqual(expect.arrayContaining(['quarantine', 'watermark', 'coverage', 'alert']));
      expect(await verify()).toMatchObject({ exitCode: 3, counts: { differing: 1, missingHere: 2, missingThere: 36 } });
      expect(await verify('--all', '--uwi', 'unknown')).toMatchObject({
        exitCode: 0,
        notices: expect.arrayContaining(['nothing was compared: no record of these days was read, and none is stored']),
      });
      server.state.setOptions({
        pastEnd: 'not-found',
        maxLimit: 25,
        defaultLimit: 25,
        pageBase: 0,
        belowBase: 'not-found',
      });
      expect(await verify('--all')).toMatchObject({ exitCode: 3, counts: { differing: 1, missingThere: 36 } });
      server.state.setOptions({ paging: 'ignored', startBound: 'ignored', endBound: 'ignored' });
      expect(await verify()).toMatchObject({ exitCode: 1 });
      expect(await contentOf(home)).toEqual(before);
    });

    test('held rows, records in quarantine and accepted ones are no difference', async () => {
      await using given = await scene();
      const { verify, home, change, rows, exportAll } = given;
      const [first = [], second = []] = rows;
      change({ ...first[10], oilRate: 'wrong' }, { ...first[11], gasRate: null });
      change(...second.slice(5, 45).map(({ xid }) => ({ uwi: uwis[1], remove: xid })));
      expect(await verify()).toMatchObject({ exitCode: 3, counts: { missingHere: 2, missingThere: 40 } });
      expect(await exportAll('--lookback', '90')).toMatchObject({ code: 3 });
      expect(await verify()).toMatchObject({
        exitCode: 0,
        counts: { same: 138, quarantined: 2, held: 40, standing: 2, missingHere: 0, missingThere: 0 },
      });
      const { stdout } = await home.here(['alerts', 'list', '--kind', 'record-quarantined', '--json']);
      const { alerts } = z.object({ alerts: z.array(z.object({ id: z.string() })) }).parse(JSON.parse(stdout));
      await home.here(['alerts', 'accept', alerts[0]?.id ?? '', '--because', 'a test']);
      expect(await verify()).toMatchObject({ exitCode: 0, counts: { quarantined: 1, accepted: 1 } });
      change({ ...first[10], oilRate: 'otherwise' }, { ...first[11], gasRate: 'otherwise' });
      const changed = await verify();
      expect(changed).toMatchObject({ exitCode: 3, counts: { missingHere: 2 } });
      await backfillOf(home, changed.runId);
      expect(await verify()).toMatchObject({ exitCode: 0, counts: { quarantined: 2 } });
    });

    test('a record of a day behind the last read of its well is no difference', async () => {
      await using given = await scene();
      const { verify, change } = given;
      change(record(uwis[0], 0), record('unread', 5));
      expect(await verify('--uwi', uwis[0], '--uwi', 'unread')).toMatchObject({
        exitCode: 0,
        counts: { same: 60, notYetRead: 2, missingHere: 0 },
        notices: ['no export has ever read unread: nothing of them can be compared'],
      });
    });

    test('a well that answers 404 is missing there if it has rows, and no backfill is printed for it', async () => {
      await using given = await scene();
      const { verify, home } = given;
      await using other = await startTestingServer({ data: givenDaily(given.rows.slice(1).flat()) });
      expect(await home.here(['service', 'moved', given.server.url, other.url, '--yes'])).toMatchObject({ code: 0 });
      expect(await verify('--service-url', other.url)).toMatchObject({
        exitCode: 3,
        counts: { missingThere: 60, same: 120 },
        differences: { wells: 1, backfills: [] },
        notices: [expect.stringContaining(`the service does not know ${uwis[0]} (404)`)],
      });
      expect(await verify('--service-url', other.url, '--uwi', 'never heard of')).toMatchObject({
        exitCode: 0,
        counts: { read: 0, stored: 0 },
      });
    });

    test('a sample is chosen by its seed, which the report says', async () => {
      await using given = await scene();
      const { verify } = given;
      const one = await verify('--sample', '2', '--seed', '7');
      expect(one).toMatchObject({ counts: { read: 120 }, notices: ['a sample: 2 wells of 3, chosen by the seed 7'] });
      const random = await verify('--sample', '1');
      expect(random.notices).toEqual([expect.stringMatching(/^a sample: 1 well of 3, chosen by the seed \d+$/)]);
    });

    test('a dry run counts wells and requests, and sends none', async () => {
      await using given = await scene();
      const { home, server } = given;
      const before = server.state.requests().total;
      const { code, stdout } = await home.here([
        'verify',
        '--dry-run',
        '--json',
        '--from',
        dayAgo(60),
        '--to',
        dayAgo(30),
      ]);
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        wells: 3,
        from: daysAgo(60),
        to: daysAgo(30),
        chunks: 1,
        expectedRequests: 6,
      });
      expect(server.state.requests().total).toBe(before);
    });

    test('a service that cannot be reached ends with 5; one that hides a page of a well with 1', async () => {
      await using given = await scene();
      const { home, server, verify } = given;
      const bounds = { startBound: 'ignored', endBound: 'ignored' };
      server.state.setOptions({ paging: 'ignored', maxLimit: 20, defaultLimit: 20, ...bounds });
      expect(await verify('--all')).toMatchObject({
        exitCode: 1,
        sentence: 'Failed: 3 of 3 wells could not be read to the end.',
        counts: {},
      });
      await server.close();
      expect(await home.here(['verify'])).toMatchObject({ code: 5 });
    });
  });
}

test('a service that goes away while it is read ends with 5', async () => {
  let left = Infinity;
  await using server = await startTestingServer({
    data: givenDaily(uwis.flatMap(rowsOf)),
    onRequest: () => {
      left -= 1;
      return left < 0 ? 'reset' : undefined;
    },
  });
  const config = 'queue: { maxHoldMs: 1000, attempts: 2, baseDelayMs: 5, maxDelayMs: 10 }\n';
  await using home = await cliHome(server.url, { queue: 'embedded', config });
  expect(await home.here(['export', 'daily-production', ...uwis.flatMap((uwi) => ['--uwi', uwi])])).toMatchObject({
    code: 0,
  });
  left = 1;
  const { code, stdout, stderr } = await home.here(['verify']);
  expect(stdout + stderr).toContain('could not be read to the end');
  expect(code).toBe(5);
  left = Infinity;
  expect(await home.here(['verify'])).toMatchObject({ code: 0 });
});

test('workers on Redis verify as well, and a schedule does', async () => {
  const data = givenDaily(uwis.flatMap(rowsOf));
  await using server = await startTestingServer({ data });
  const job = 'verify daily-production';
  const entry = `{ cron: '0 0 1 1 *', timeZone: UTC, job: ${job}, parameters: { all: true, sample: 2, seed: 3 } }`;
  const config = `schedules: { revision: 1, entries: { weekly: ${entry} } }\n`;
  await using home = await cliHome(server.url, { config });
  await home.here(['export', 'daily-production', ...uwis.flatMap((uwi) => ['--uwi', uwi]), '--inline']);
  const worker = home.start(['worker', '--queues', 'export']);
  await worker.hears('Working export');
  const { code, stdout } = await home.here(['verify', '--wait', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ job, counts: { same: 180 } });
  expect(await home.here(['schedules', 'trigger', 'weekly'])).toMatchObject({ code: 0 });
  await expect
    .poll(
      async (): Promise<unknown> => JSON.parse((await home.here(['runs', 'list', '--job', job, '--json'])).stdout),
      {
        timeout: 60_000,
      },
    )
    .toMatchObject([{ state: 'done', counts: { same: 120 } }, { state: 'done' }]);
  worker.signal('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
});

/** The rows of every table but those of runs, and of what a queue needs. */
async function contentOf(home: CliHome): Promise<Readonly<Record<string, readonly string[]>>> {
  const query = async (sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    const { stdout, stderr } = await home.here(['query', sql, '--json']);
    expect(stdout, stderr).not.toBe('');
    return z.array(z.record(z.string(), z.unknown())).parse(JSON.parse(stdout));
  };
  const tables = await query(
    `SELECT table_schema || '.' || table_name AS name, table_name AS own FROM information_schema.tables
     WHERE table_schema IN (current_schema(), 'internal') ORDER BY 1`,
  );
  const kept = tables.filter(({ own }) => !ofQueue.has(String(own)));
  const rows = await query(
    kept
      .map(({ name, own }) => {
        const from = own === 'warehouse' ? `(SELECT ${columnsOfWarehouse} FROM warehouse)` : String(name);
        return `SELECT '${String(own)}' AS own, CAST(t AS VARCHAR) AS "row" FROM ${from} t`;
      })
      .join(' UNION ALL '),
  );
  const content: Record<string, readonly string[]> = {};
  for (const { own } of kept) {
    content[String(own)] = rows.flatMap((each) => (each['own'] === own ? [String(each['row'])] : [])).toSorted();
  }
  return content;
}

const ofQueue = new Set(['run', 'run_unit', 'run_target', 'queue_state', 'queue_beat']);
/** Each command without Redis is a queue of its own, which takes the warehouse: without its epoch and its queue. */
const columnsOfWarehouse = 'warehouse_id, service, created_at, pruned_at, history_horizon';
