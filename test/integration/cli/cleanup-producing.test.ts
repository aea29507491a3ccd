/** Wells that produce are not deleted, in whichever way a cleanup begins; nor are wells of which nobody knows. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { givenDaily } from '../../../src/testing-server/data/daily-source.ts';
import { cleanupBench, equipment, planIdOf, well, type CleanupBench } from '../../support/cleanup-cli.ts';
import { januaryRows } from '../../support/testing-server-requests.ts';

const yesterday = new Date(Date.now() - 86_400_000).toISOString();
const others = ['O 1', 'O 2'];
const csv = [
  'kind,well,equipment,source_id',
  ...[well, ...others].flatMap((id) => [`micro-strings,${id},,`, `wellbores,${id},,`]),
].join('\n');
const selection = (more = ''): string =>
  `  selections:\n    old: { file: targets.csv, maxTargets: 9, maxShareOfWellsPercent: 100${more} }`;

/** Rows of `uwi` of January 2024, with one of yesterday if it produces. */
function rowsOf(uwi: string, isProducing: boolean) {
  const [first] = januaryRows(1, uwi);
  const old = januaryRows(3, uwi).map((row) => ({ ...row, uwi }));
  return isProducing ? [...old, { ...first, uwi, date: yesterday }] : old;
}

/** `well` produces, and the others ended in January 2024; by other uwis, if `uwiOf` says so. */
async function fieldBench(uwiOf = (id: string): string => id): Promise<CleanupBench> {
  const rows = [...rowsOf(uwiOf(well), true), ...others.flatMap((id) => rowsOf(uwiOf(id), false))];
  const wells = [well, ...others].map((id) => [id, { body: { uwi: uwiOf(id) }, microStrings: 1, wellbores: 1 }]);
  const assets = { wells: Object.fromEntries(wells) };
  const bench = await cleanupBench({ data: givenDaily(rows), assets });
  await bench.home.write('targets.csv', csv);
  const named = [well, ...others].flatMap((id) => ['--uwi', uwiOf(id)]);
  expect((await bench.run('export', 'daily-production', ...named, '--inline')).code).toBe(0);
  return bench;
}

const deletedOwners = ({ server }: CleanupBench): readonly string[] =>
  [...new Set(server.state.deletions().map(({ ownerId }) => ownerId))].toSorted();

const planned = async (bench: CleanupBench, ...flags: readonly string[]): Promise<string> =>
  planIdOf(await bench.json('cleanup', '--file', `${bench.home.folder}/targets.csv`, ...flags));

describe('a well that produces', () => {
  test('G6: is refused by a plan that is applied, with words and exit code 3, and the others are deleted', async () => {
    await using bench = await fieldBench();
    const { stdout, code } = await bench.run('cleanup', '--yes', '--apply', await planned(bench), '--inline');
    expect(stdout).toContain('6 targets = 4 deleted + 0 already gone + 2 refused + 0 failed');
    expect(stdout).toContain(`not sent: the well produced on ${yesterday.slice(0, 10)}, within the last 30 days`);
    expect(code).toBe(3);
    expect(deletedOwners(bench)).toEqual(others);
    expect(await bench.json('audit', 'deletions', '--target', well)).toMatchObject([
      { outcome: 'refused', words: expect.stringContaining('not sent') },
      { outcome: 'refused' },
    ]);
    expect(await bench.json('audit', 'verify')).toMatchObject({ intact: true });
  });

  test('G6: is refused by a saved selection, whose own setting lifts that and is told in the report', async () => {
    await using bench = await fieldBench();
    await bench.configure(selection());
    const refused = await bench.run('cleanup', 'run', 'old', '--inline');
    expect(refused.stdout).toContain('4 deleted + 0 already gone + 2 refused');
    expect(refused.code).toBe(3);
    expect(deletedOwners(bench)).toEqual(others);

    expect(await bench.run('cleanup', 'run', 'old', '--include-producing')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Set includeProducing: true in the selection'),
    });
    await bench.configure(selection(', includeProducing: true'));
    const lifted = await bench.run('cleanup', 'run', 'old', '--inline');
    expect(lifted.stdout).toContain('2 deleted + 4 already gone + 0 refused');
    expect(lifted.stdout.replaceAll(/\s+/g, ' ')).toContain(
      `deleted although the well produces, or counts as producing: micro strings of well ${well}`,
    );
    expect(lifted.code).toBe(0);
  });

  test('G6: is deleted by a plan that was made with --include-producing, and says so', async () => {
    await using bench = await fieldBench();
    const planId = await planned(bench, '--include-producing');
    expect((await bench.run('cleanup', 'show', planId)).stdout).toContain(
      '2 targets belong to a well that produced lately: deleted all the same',
    );
    expect(await bench.run('cleanup', '--apply', planId, '--include-producing', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('A plan is applied as it is'),
    });
    const { stdout, code } = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
    expect(stdout).toContain('6 targets = 6 deleted');
    expect(code).toBe(0);
  });

  test('G6: is found by the uwi in its body, where the source id is another', async () => {
    await using bench = await fieldBench((id) => `UWI of ${id}`);
    await bench.configure(`${selection()}\nwells: { uwiField: uwi }`);
    const { stdout, code } = await bench.run('cleanup', 'run', 'old', '--inline');
    expect(stdout).toContain('4 deleted + 0 already gone + 2 refused');
    expect(code).toBe(3);
    expect(deletedOwners(bench)).toEqual(others);
  });

  test('G6: is refused where it began to produce only after the plan was made', async () => {
    await using bench = await fieldBench();
    const planId = await planned(bench);
    const [revived = ''] = others;
    bench.server.state.changeDaily(
      rowsOf(revived, true)
        .map((row) => JSON.stringify(row))
        .join('\n'),
    );
    expect((await bench.run('export', 'daily-production', '--uwi', revived, '--inline')).code).toBe(0);
    const { stdout, code } = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
    expect(stdout).toContain('2 deleted + 0 already gone + 4 refused');
    expect(code).toBe(3);
    expect(deletedOwners(bench)).toEqual(others.slice(1));
  });
});

describe('a well of which nobody knows whether it produces', () => {
  test('G6: is refused unattended where the warehouse knows no production under its id', async () => {
    await using bench = await fieldBench((id) => `UWI of ${id}`);
    await bench.configure(selection());
    const { stdout, code } = await bench.run('cleanup', 'run', 'old', '--inline');
    expect(stdout).toContain('0 deleted + 0 already gone + 6 refused');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('the warehouse knows no production under its id');
    expect(code).toBe(3);
    expect(bench.server.state.deletions()).toEqual([]);
  });

  test('G6: counts as producing where its production was not read lately', async () => {
    await using bench = await fieldBench();
    const reached = `SELECT max(to_day) FROM coverage WHERE uwi = '${others[0]}'`;
    expect(await bench.ask(reached)).toEqual([[expect.any(String)]]);
    const planId = await planned(bench);
    // As if the last export had been two months ago.
    await setBack(bench);
    const { stdout, code } = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('its production of the last 30 days was not read');
    expect(code).toBe(3);
    expect(bench.server.state.deletions()).toEqual([]);
  });
});

async function setBack({ home }: CleanupBench): Promise<void> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(home.warehouseFile);
  const connection = await instance.connect();
  try {
    await connection.run('UPDATE watermark SET watermark = watermark - INTERVAL 60 DAY');
    await connection.run('UPDATE coverage SET to_day = to_day - 60');
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

test('G6: a plan is not applied without a terminal and without --yes: nothing is touched', async () => {
  await using bench = await cleanupBench();
  const planId = await bench.plan();
  const result = await bench.run('cleanup', '--apply', planId, '--inline');
  expect(result.stderr).toContain('nobody can be asked here: nothing was deleted');
  expect(result.stderr).toContain('Give --yes');
  expect(result.code).toBe(2);
  expect(await bench.json('cleanup', 'show', planId)).toMatchObject({ state: 'planned' });
  expect(await bench.json('runs', 'list')).toEqual([]);
  expect((await bench.run('cleanup', '--apply', planId, '--dry-run')).code).toBe(0);
});

const runSchema = z.object({ runId: z.string() });

/** Queues a plan, takes its targets away at the service, and works the run. */
async function applyToNothing(bench: CleanupBench) {
  const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', await bench.plan()));
  const { assets } = bench.server.state;
  for (const { sourceId } of assets.timeSeries(equipment) ?? []) assets.deleteTimeSeries(equipment, sourceId);
  for (const kind of ['microStrings', 'wellbores'] as const) assets.deleteOfWell(well, kind);
  const result = await bench.run('runs', 'retry', runId, '--yes', '--inline');
  assets.reset();
  return { ...result, stdout: result.stdout.replaceAll(/\s+/g, ' ') };
}

test('G2: a cleanup of more than 3 targets has failed where each that its plan saw is answered by 404', async () => {
  await using bench = await cleanupBench();
  const { stdout, code } = await applyToNothing(bench);
  expect(stdout).toContain('Failed: the service answered 404 to every deletion (4)');
  expect(stdout).toContain('Is the address right');
  expect(code).toBe(1);
  expect(await bench.json('audit', 'verify')).toMatchObject({ intact: true });
  // By now the audit says that they are gone: one more 404 is no surprise.
  const again = await applyToNothing(bench);
  expect(again.stdout).toContain('4 targets = 0 deleted + 4 already gone');
  expect(again.code).toBe(0);
});
