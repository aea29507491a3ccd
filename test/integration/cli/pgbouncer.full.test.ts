/** The commands on a PostgreSQL warehouse behind PgBouncer, which gives each transaction another connection. */
import { describe, expect, test } from 'vitest';
import { generatedDaily } from '../../../src/testing-server/data/generated-daily.ts';
import { startTestingServer } from '../../../src/testing-server/testing-server.ts';
import { equipment, planIdOf, smallField, targetsCsv } from '../../support/cleanup-cli.ts';
import { deletedAt } from '../../support/cleanup-field.ts';
import { cliHome, type CliHome } from '../../support/cli.ts';
import { databaseOfRole, postgresLack } from '../../support/postgres/database.ts';
import { pgbouncerLack, startPgbouncer } from '../../support/postgres/pgbouncer.ts';
import { pushedNetwork } from '../../support/pushed-network.ts';

const lack = (await postgresLack('newest')) ?? pgbouncerLack();
const [fromDay, toDay] = ['2023-01-01', '2024-01-01'];
const wellCount = 40;

/** Many chunks and commits, so that two workers take turns. */
const config = `
service: { concurrency: 4 }
export: { chunkWells: 2, batchRows: 400 }
push: { chunkItems: 100, checkpointMs: 100 }
cleanup: { maxShareOfWellsPercent: 100 }
`;

interface Report {
  readonly runId: string;
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** The document of a command that has to succeed. */
async function json(home: CliHome, ...args: readonly string[]): Promise<Report> {
  const { code, stdout, stderr } = await home.run([...args, '--json']);
  expect([args, code], stderr + stdout).toEqual([args, 0]);
  return JSON.parse(stdout) as Report;
}

/** Starts a run for the workers, and returns its report. */
async function worked(home: CliHome, ...args: readonly string[]): Promise<Report> {
  const { runId } = await json(home, ...args);
  return json(home, 'runs', 'show', runId, '--wait');
}

async function contentOf(home: CliHome): Promise<readonly string[]> {
  const queries = [
    'SELECT * FROM daily_production ORDER BY uwi, date, xid',
    'SELECT uwi, from_day, to_day FROM coverage ORDER BY uwi, from_day',
  ];
  const answers: string[] = [];
  for (const sql of queries) {
    const { code, stdout, stderr } = await home.run(['query', sql, '--ndjson']);
    expect(code, stderr).toBe(0);
    // Runs have ids of their own, and times.
    answers.push(stdout.replaceAll(/,"(?:inserted_run_id|changed_run_id|changed_at)":"[^"]*"/g, ''));
  }
  return answers;
}

describe.skipIf(lack !== undefined)(`a warehouse behind PgBouncer${lack === undefined ? '' : ` (${lack})`}`, () => {
  test('G1, G2, G5, G6: takes exports of two workers, queries, a push and a cleanup', async () => {
    const network = pushedNetwork({ rows: 2_000, wrong: 0, refused: 0, repeated: 20 });
    await using server = await startTestingServer({
      data: generatedDaily({ seed: 31, wells: wellCount, fromDay, toDay }),
      assets: smallField(),
    });
    const database = await databaseOfRole();
    const { username, password, origin } = new URL(database.url.replace(/^postgres:/, 'http:'));
    await using pooler = await startPgbouncer(`postgres:${origin.slice('http:'.length)}`, { [username]: password });
    await using home = await cliHome(server.url, { config, warehouseUrl: pooler.through(database.url) });
    await using inFile = await cliHome(server.url, { config });
    const state = await fetch(`${server.url}/testing/state`);
    const { wells } = (await state.json()) as { wells: readonly string[] };
    const list = ['uwi', ...wells.map((uwi) => `"${uwi}"`)].join('\n');
    const asked = (of: CliHome) => [
      'export',
      'daily-production',
      '--wells',
      `${of.folder}/wells.csv`,
      '--from',
      fromDay,
    ];
    for (const each of [home, inFile]) await each.write('wells.csv', list);

    const workers = [home.start(['worker']), home.start(['worker'])];
    await Promise.all(workers.map((worker) => worker.hears('Working ')));
    const exported = await worked(home, ...asked(home), '--to', toDay);
    const calm = await json(inFile, ...asked(inFile), '--to', toDay, '--inline');
    expect(exported).toMatchObject({ state: 'done', balance: { balanced: true } });
    expect(exported.counts['inserted']).toBe(calm.counts['inserted']);
    const content = await contentOf(home);
    expect(content[0]?.split('\n').length).toBeGreaterThan(wellCount * 300);
    expect(content).toEqual(await contentOf(inFile));
    const again = await worked(home, ...asked(home), '--to', toDay);
    expect(again.counts).toMatchObject({ inserted: 0, updated: 0, removed: 0 });

    const pipes = await home.write('pipes.csv', network.text);
    const pushed = await worked(home, 'push', 'network-pipes', pipes);
    expect(pushed).toMatchObject({ state: 'done', counts: { rows: network.rowCount } });
    expect(new Map(server.state.pipes().map(({ sourceId, raw }) => [sourceId, raw]))).toEqual(network.lastBodies);

    const targets = await home.write('targets.csv', targetsCsv);
    const planId = planIdOf(await json(home, 'cleanup', '--file', targets));
    const cleaned = await worked(home, 'cleanup', '--yes', '--apply', planId);
    expect(cleaned).toMatchObject({ state: 'done' });
    expect(deletedAt(server.state.deletions())).toHaveLength(4);
    expect(deletedAt(server.state.deletions()).join('\n')).toContain(equipment);
    await json(home, 'audit', 'verify');

    for (const worker of workers) worker.signal('SIGTERM');
    for (const worker of workers) expect(await worker.ended).toMatchObject({ code: 0 });
    expect(await pooler.transactions()).toBeGreaterThan(wellCount);
  });
});
