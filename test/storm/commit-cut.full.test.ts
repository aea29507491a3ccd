/**
 * An export whose connection to its server is cut behind a message: at messages all over its conversation with PostgreSQL
 * as the warehouse, and with Redis as the queue. Whatever was cut, the command ends well, by itself or repeated, and the
 * warehouse is that of the undisturbed one. WELLSYNC_TEST_CUTS=all cuts behind every message, which takes ten minutes.
 */
import { copyFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { givenDaily } from '../../src/testing-server/data/daily-source.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from '../support/cli.ts';
import { createDatabase, databaseOfTest, postgresLack } from '../support/postgres/database.ts';
import { sharedRedisUrl } from '../support/redis.ts';
import type { TableRow } from './evidence.ts';
import { type ByteProxy, startByteProxy } from './world/proxy.ts';
import { dumpDuckdb, dumpPostgres, type Tables } from './world/tables.ts';

const lack = await postgresLack('newest');
const known = '15/9-F-4';
const wells = ['15/9-F-1 C', '15/9-F-5'] as const;
const dayMs = 86_400_000;
const days = 30;
const firstMs = Math.floor(Date.now() / dayMs) * dayMs - 40 * dayMs;

const records = [known, ...wells].flatMap((uwi) =>
  Array.from({ length: days }, (_, index) => {
    const date = new Date(firstMs + index * dayMs).toISOString();
    return { uwi, date, oilRate: index, gasRate: 1, waterRate: 2, tubingPressure: 3, casingPressure: 4 };
  }),
);

/** Two chunks, so that one may be committed while the other one is not. */
const config = `
export: { historyFrom: ${new Date(firstMs).toISOString().slice(0, 10)}, chunkWells: 1 }
queue: { baseDelayMs: 20, maxDelayMs: 200 }
`;

/** A command may end with an error for each connection that it lost; one is cut. */
const mostRepeats = 3;

interface Field {
  serviceUrl: string;
  /** Called when the service gets a request. */
  onRead: () => void;
}

async function withService(work: (field: Field) => Promise<void>): Promise<void> {
  const field: Field = { serviceUrl: '', onRead: () => undefined };
  await using server = await startTestingServer({
    data: givenDaily(records),
    onRequest() {
      field.onRead();
      return undefined;
    },
  });
  field.serviceUrl = server.url;
  await work(field);
}

/** A fresh warehouse with the profile of the service, and how its tables are read. */
interface Fresh extends AsyncDisposable {
  readonly home: CliHome;
  tables(): Promise<Tables>;
}

/** Exports the wells, repeated until it is done; returns what it printed in the end. */
async function exportAll(home: CliHome): Promise<unknown> {
  const args = ['export', 'daily-production', ...wells.flatMap((uwi) => ['--uwi', uwi]), '--inline', '--json'];
  for (let repeats = 0; ; repeats += 1) {
    const { code, stdout, stderr } = await home.here(args);
    if (code === 0) return JSON.parse(stdout);
    expect([1, 5], stdout + stderr).toContain(code);
    expect(repeats, stdout + stderr).toBeLessThan(mostRepeats);
  }
}

/** A cut at messages all over a conversation; each with what it was expected to be the same as. */
async function expectSameWherever(proxy: ByteProxy, field: Field, fresh: () => Promise<Fresh>): Promise<void> {
  const calm = await outcomeOf(proxy, field, fresh);
  expect(calm).toMatchObject({ cuts: 0, rows: { length: days * (wells.length + 1) }, history: [] });
  const { messages: once, firstRead, cuts: _, ...undisturbed } = calm;
  const { messages: again, firstRead: _first, cuts: _none, ...same } = await outcomeOf(proxy, field, fresh);
  expect(same).toEqual(undisturbed);
  // Beats are messages as well: where the machine is slow, one conversation has more than another.
  const messages = Math.min(once, again);
  const tried = [...every(stepBefore, 1, firstRead), ...every(stepAfter, firstRead, messages)];
  let cuts = 0;
  for (const message of tried) {
    const {
      messages: _messages,
      firstRead: _read,
      cuts: cut,
      ...disturbed
    } = await outcomeOf(proxy, field, fresh, message);
    expect(disturbed, `cut behind message ${message} of ${messages}`).toEqual(undisturbed);
    cuts += cut;
  }
  // The last ones of a conversation that is shorter yet may not come.
  expect(cuts, `cuts behind ${tried.join(', ')} of ${once} and ${again} messages`).toBeGreaterThan(tried.length * 0.9);
}

/** Before the first read, and from it on. Odd, so that requests and answers take turns. */
const [stepBefore, stepAfter] = process.env['WELLSYNC_TEST_CUTS'] === 'all' ? [1, 1] : [31, 7];
const spread = `one in ${stepAfter} from the first read on, one in ${stepBefore} before it`;

function every(step: number, from: number, to: number): readonly number[] {
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step);
}

async function outcomeOf(proxy: ByteProxy, field: Field, fresh: () => Promise<Fresh>, message?: number) {
  await using made = await fresh();
  const before = proxy.counts.cuts;
  let firstRead: number | undefined;
  field.onRead = () => (firstRead ??= proxy.messages);
  proxy.arm();
  if (message !== undefined) proxy.cutBehindMessage(message);
  const report = (await exportAll(made.home)) as Report;
  const [messages, cuts] = [proxy.messages, proxy.counts.cuts - before];
  await proxy.calm();
  return { messages, firstRead: firstRead ?? 0, cuts, ...contentOf(await made.tables(), report) };
}

interface Report {
  readonly runId: string;
  readonly state: string;
  readonly balance: { readonly balanced: boolean };
  readonly counts: Readonly<Record<string, number>>;
}

function orderOf({ uwi, date, xid }: TableRow): string {
  return JSON.stringify([uwi, date, xid]);
}

/** What has to be the same, whatever was cut. */
function contentOf(tables: Tables, { runId, state, balance, counts }: Report) {
  const of = (name: string): readonly TableRow[] => tables[name] ?? [];
  const runs = of('run') as ReadonlyArray<{
    run_id: string;
    state: string;
    params: { nowMs: number };
    report: Report | null;
  }>;
  const nowOf = new Map(
    runs.map((run) => [run.run_id, `${new Date(run.params.nowMs).toISOString().slice(0, -1)}000Z`]),
  );
  const sum = (names: readonly string[]): number => names.reduce((total, name) => total + (counts[name] ?? 0), 0);
  return {
    rows: of('daily_production')
      .map(({ inserted_run_id: _inserted, changed_run_id: _changed, changed_at: _at, ...row }) => row)
      .toSorted((left, right) => orderOf(left).localeCompare(orderOf(right))),
    history: of('daily_production_history'),
    coverage: of('coverage'),
    // Up to the request of the run that is done.
    watermarks: of('watermark').map(({ uwi, last_day, watermark }) => ({
      uwi,
      last_day,
      isOfRun: uwi === known || watermark === nowOf.get(runId),
    })),
    state,
    isBalanced: balance.balanced,
    isSummed:
      counts['read'] ===
      sum(['inserted', 'updated', 'unchanged', 'repeated', 'outsideWindow', 'quarantined', 'accepted']),
    inserted: runs.reduce((total, run) => total + (run.report?.counts['inserted'] ?? 0), 0),
    changed: runs.reduce(
      (total, run) => total + (run.report?.counts['updated'] ?? 0) + (run.report?.counts['removed'] ?? 0),
      0,
    ),
    unfinished: runs.filter((run) => !['done', 'failed'].includes(run.state)),
    openUnits: of('run_unit').filter(({ run_id, ...unit }) => run_id === runId && unit['state'] !== 'done'),
    held: [...of('held_month'), ...of('quarantine')],
  };
}

/** Of a well beside those that are exported, so that the tables are there, and the service is known. */
async function prepare(home: CliHome): Promise<void> {
  const { code, stderr } = await home.here(['export', 'daily-production', '--uwi', known, '--inline']);
  expect(code, stderr).toBe(0);
}

describe.skipIf(lack !== undefined)(`a PostgreSQL warehouse${lack === undefined ? '' : ` (${lack})`}`, () => {
  it(`G1, G2, G3: is the same, whatever message its connection is cut behind (${spread})`, () =>
    withService(async (field) => {
      const template = await databaseOfTest();
      const { hostname: host, port } = new URL(template.url);
      const homeAt = (warehouseUrl: string) => cliHome(field.serviceUrl, { config, warehouseUrl, queue: 'embedded' });
      await using first = await homeAt(template.url);
      await prepare(first);
      await template.run(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${template.name}' AND pid <> pg_backend_pid()`,
      );
      await using proxy = await startByteProxy({ target: { host, port: Number(port) }, name: 'postgres' });
      await expectSameWherever(proxy, field, async () => {
        const database = await createDatabase(`postgres://postgres@${host}:${port}`, template.name);
        const home = await homeAt(database.url.replace(/:\d+\//, `:${proxy.port}/`));
        return {
          home,
          tables: () => dumpPostgres(database.url),
          async [Symbol.asyncDispose]() {
            await home[Symbol.asyncDispose]();
            await database.drop();
          },
        };
      });
    }));
});

describe('a queue at Redis, with a DuckDB warehouse', () => {
  it(`G1, G2, G3: leaves the same warehouse, whatever message its connection is cut behind (${spread})`, () =>
    withService(async (field) => {
      await using first = await cliHome(field.serviceUrl, { config });
      await prepare(first);
      const { hostname: host, port } = new URL(sharedRedisUrl());
      await using proxy = await startByteProxy({ target: { host, port: Number(port) }, name: 'redis' });
      await expectSameWherever(proxy, field, async () => {
        const home = await cliHome(field.serviceUrl, { config, redisUrl: `redis://${proxy.host}:${proxy.port}` });
        await copyFile(first.warehouseFile, home.warehouseFile);
        return { home, tables: () => dumpDuckdb(home.warehouseFile), [Symbol.asyncDispose]: home[Symbol.asyncDispose] };
      });
    }));
});
