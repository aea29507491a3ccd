/** Runs cleanups by the command line against a testing server with a small field. */
import { z } from 'zod';
import type { GivenAssets } from '../../src/testing-server/data/assets.ts';
import {
  startTestingServer,
  type TestingServer,
  type TestingServerSetup,
} from '../../src/testing-server/testing-server.ts';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { timeSeriesRecord } from './cleanup-field.ts';
import { type CliHome, cliHome } from './cli.ts';
import type { CommandResult } from './command-result.ts';
import { runHere } from './cli-here.ts';
import { ask } from './warehouse-batches.ts';
import { settings } from './warehouse-duckdb.ts';

/** An id with slashes, spaces, percent signs and non-ASCII letters. */
export const equipment = 'EQ 15/9 Å%2F';
export const well = '15/9-F-1 Ø 100%';

/** Equipment with three records, and two wells; the server serves changes that a test makes to it. */
export function smallField() {
  return {
    equipment: { [equipment]: ['a b', 'ø/1', 'spared'].map((sourceId) => timeSeriesRecord(sourceId)) },
    wells: {
      [well]: { body: { sourceId: well, status: 'ACTIVE', depth: 2_000 }, microStrings: 2, wellbores: 1 },
      spared: { microStrings: 1, wellbores: 1 },
    },
  } satisfies GivenAssets;
}

export const targetsCsv = [
  'kind,well,equipment,source_id',
  `wellbores,${well},,`,
  `time-series,,${equipment},a b`,
  `micro-strings,${well},,`,
  `TIME-SERIES,,"${equipment}", ø/1 `,
].join('\r\n');

/** Quick retries, and caps above a small field. */
const config = `
service: { retry: { attempts: 2, baseDelayMs: 5, maxDelayMs: 10 } }
queue: { attempts: 2, baseDelayMs: 5, maxDelayMs: 10 }
cleanup:
  maxShareOfWellsPercent: 100
`;

export interface CleanupBench extends AsyncDisposable {
  readonly server: TestingServer;
  readonly home: CliHome;
  readonly field: ReturnType<typeof smallField>;
  /** Sets the configuration below `cleanup:`, indented by two. */
  configure(cleanup: string): Promise<void>;
  run(...args: readonly string[]): Promise<CommandResult>;
  /** At a terminal, with the input `typed`. */
  runAtTerminal(typed: string, ...args: readonly string[]): Promise<CommandResult>;
  json(...args: readonly string[]): Promise<unknown>;
  /** The rows of a query on the warehouse, run in this process. */
  ask(sql: string): Promise<readonly (readonly unknown[])[]>;
  /** Plans the targets of {@link targetsCsv} or of another file's content; returns the plan's id. */
  plan(csv?: string): Promise<string>;
}

export async function cleanupBench(setup: TestingServerSetup = {}): Promise<CleanupBench> {
  const field = smallField();
  const server = await startTestingServer({ assets: field, ...setup });
  const home = await cliHome(server.url);
  const configure = async (cleanup: string): Promise<void> => {
    await home.write('wellsync.yaml', `${config}${cleanup}\n`);
  };
  await configure('');
  const file = `${home.folder}/wellsync.yaml`;
  const run = (...args: readonly string[]) => runHere(args, { ...home.env, WELLSYNC_CONFIG: file });

  async function json(...args: readonly string[]): Promise<unknown> {
    const { stdout, stderr } = await run(...args, '--json');
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  }

  return {
    server,
    home,
    field,
    configure,
    run,
    runAtTerminal: (typed, ...args) => runHere(args, { ...home.env, WELLSYNC_CONFIG: file }, typed),
    json,
    async ask(sql) {
      const warehouse = createDuckdbWarehouse({ ...settings, path: home.warehouseFile });
      try {
        return await ask(warehouse, sql);
      } finally {
        await warehouse.close();
      }
    },
    async plan(csv = targetsCsv) {
      const path = await home.write('targets.csv', csv);
      return planIdOf(await json('cleanup', '--file', path));
    },
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

export function planIdOf(document: unknown): string {
  return z.object({ planId: z.string() }).parse(document).planId;
}
