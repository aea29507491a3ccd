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

    test('what is the same ends with 0, and a run is all that is written', async () => {
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
  });
}
