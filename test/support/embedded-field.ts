/** A field of wells at a slow service, and a home without Redis. */
import { readdir } from 'node:fs/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import { generatedDaily } from '../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../src/testing-server/testing-server.ts';
import { cliHome, type CliHome } from './cli.ts';

export const wells = 20;
export const data = generatedDaily({ seed: 5, wells, fromDay: '2024-01-01', toDay: '2024-03-01' });
/** Small chunks of a slow service: a command is at work for seconds. */
export const config = `
service: { concurrency: 2 }
export: { chunkWells: 2 }
queue: { baseDelayMs: 200, maxDelayMs: 1000 }
`;

export type EmbeddedField = Awaited<ReturnType<typeof field>>;

export async function field({
  latencyMs = 150,
  warehouseUrl,
  answers,
}: { readonly latencyMs?: number; readonly warehouseUrl?: string; readonly answers?: Promise<void> } = {}) {
  const server = await startTestingServer({ latencyMs, data, onRequest: () => answers?.then(() => undefined) });
  const home = await cliHome(server.url, {
    queue: 'embedded',
    config,
    ...(warehouseUrl === undefined ? {} : { warehouseUrl }),
  });
  const list = await home.write('wells.csv', ['uwi', ...data.uwis.map((uwi) => `"${uwi}"`)].join('\n'));
  return {
    server,
    home,
    exportAll: ['export', 'daily-production', '--wells', list, '--json'],
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

const reportSchema = z.object({ runId: z.string(), state: z.string(), exitCode: z.number() });
export const reportOf = (stdout: string) => reportSchema.parse(JSON.parse(stdout));

export async function rowsOf(home: CliHome, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { stdout, stderr } = await home.here(['query', sql, '--json']);
  expect(stdout, stderr).not.toBe('');
  return z.array(z.record(z.string(), z.unknown())).parse(JSON.parse(stdout));
}

export const stored = async (home: CliHome) =>
  (await rowsOf(home, 'SELECT count(*) AS rows, count(DISTINCT uwi) AS wells FROM daily_production'))[0];
export const all = { rows: data.uwis.reduce((sum, uwi) => sum + data.rowCount(uwi), 0), wells };

/** Waits until a run has settled some units, and lets the service take so long from then on that it comes to no end. */
export async function midway({ home, server }: EmbeddedField): Promise<void> {
  await expect
    .poll(async () => (await rowsOf(home, 'SELECT count(*) AS done FROM run_unit WHERE state = $$done$$'))[0], {
      timeout: 60_000,
    })
    .toEqual({ done: expect.toSatisfy((done: number) => done > 0) as number });
  server.state.setOptions({ latencyMs: 60_000 });
  const [left] = await rowsOf(home, `SELECT count(*) AS units FROM run_unit WHERE state = 'open'`);
  expect(left?.['units']).not.toBe(0);
}

/** The service answers at once again. */
export function quicken({ server }: EmbeddedField): void {
  server.state.setOptions({ latencyMs: 0 });
}

export const sockets = async (home: CliHome): Promise<readonly string[]> =>
  (await readdir(home.folder)).filter((name) => name.endsWith('.sock'));
