/** Saved selections: planned and applied by one run, within caps of their own, from the list of the request. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cleanupBench, targetsCsv, well, type CleanupBench } from '../../support/cleanup-cli.ts';

/** The two time series, without the targets of a well. */
const timeSeriesCsv = targetsCsv
  .split('\r\n')
  .filter((line) => !line.includes(well))
  .join('\n');

const enough = 'maxTargets: 9, maxShareOfWellsPercent: 100';
const selection = (caps = enough, file = 'targets.csv'): string => `  selections:\n    old: { file: ${file}, ${caps} }`;

const runSchema = z.object({ runId: z.string() });

async function withList(csv: string, configuration = selection()): Promise<CleanupBench> {
  const bench = await cleanupBench();
  await bench.home.write('targets.csv', csv);
  await bench.configure(configuration);
  return bench;
}

test('is planned and applied in one run, and refuses when its own caps are exceeded', async () => {
  await using bench = await withList(timeSeriesCsv, selection('maxTargets: 1, maxShareOfWellsPercent: 1'));
  const refused = await bench.run('cleanup', 'run', 'old', '--inline');
  expect(refused.stdout).toContain('2 targets are more than the 1 that one run may delete');
  expect(refused.code).toBe(1);
  expect(bench.server.state.deletions()).toEqual([]);

  await bench.configure(selection('maxTargets: 2, maxShareOfWellsPercent: 1'));
  expect((await bench.run('cleanup', 'run', 'old', '--dry-run')).stdout).toContain('Dry run');
  const done = await bench.run('cleanup', 'run', 'old', '--inline');
  expect(done.stdout).toContain('2 targets = 2 deleted');
  expect(await bench.json('cleanup', 'plans')).toMatchObject([{ selection: 'old', state: 'applied' }]);
});

test('is refused where nobody can say which share of the wells it is, where its name is not known, and without caps', async () => {
  await using bench = await withList(targetsCsv);
  const { stdout } = await bench.run('cleanup', 'run', 'old', '--inline');
  expect(stdout).toContain('the warehouse knows no wells');
  expect(await bench.run('cleanup', 'run', 'odl')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/saves no selection odl[^]*Do you mean old\?/),
  });
  await bench.configure(selection('maxTargets: 9'));
  expect(await bench.run('cleanup', 'run', 'old')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cleanup.selections.old.maxShareOfWellsPercent'),
  });
  expect(bench.server.state.deletions()).toEqual([]);
});

test('takes its path from the folder of the configuration file, and its plan keeps the SHA-256 of the file', async () => {
  await using bench = await withList(timeSeriesCsv, selection(enough, 'lists/retired.csv'));
  await mkdir(`${bench.home.folder}/lists`);
  await bench.home.write('lists/retired.csv', timeSeriesCsv);
  expect((await bench.run('cleanup', 'run', 'old', '--inline')).stdout).toContain('2 targets = 2 deleted');
  const sha256 = createHash('sha256').update(timeSeriesCsv).digest('hex');
  expect(await bench.json('cleanup', 'plans')).toMatchObject([{ selection: 'old', selectionSha256: sha256 }]);
  const [[planId] = []] = await bench.ask('SELECT plan_id FROM cleanup_plan');
  expect((await bench.run('cleanup', 'show', String(planId))).stdout).toContain(`SHA-256 ${sha256}`);
});

test('G6: is refused by a worker that reads another file under its path than the run was requested with', async () => {
  await using bench = await withList(timeSeriesCsv);
  const { runId } = runSchema.parse(await bench.json('cleanup', 'run', 'old'));
  await bench.home.write('targets.csv', targetsCsv);
  const { stdout, code } = await bench.run('runs', 'retry', runId, '--yes', '--inline');
  expect(stdout).toContain('the file of the selection old differs from the one that the run was requested with');
  expect(code).toBe(1);
  expect(bench.server.state.deletions()).toEqual([]);
});

test('G6: is never read from standard input', async () => {
  await using bench = await withList(timeSeriesCsv, selection(enough, '"-"'));
  const ending = await bench.run('cleanup', 'run', 'old', '--inline');
  expect(ending.stderr).toContain('cleanup.selections.old.file');
  expect(ending.stderr).toContain('a saved selection is not read from standard input');
  expect(ending.code).toBe(2);
});
