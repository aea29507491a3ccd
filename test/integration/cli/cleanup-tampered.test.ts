/** Plans that another program changed in the warehouse: none of them is applied, whenever it was changed. */
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { cleanupBench, type CleanupBench } from '../../support/cleanup-cli.ts';

const runSchema = z.object({ runId: z.string() });

async function write(bench: CleanupBench, statement: string): Promise<void> {
  const instance = await DuckDBInstance.create(bench.home.warehouseFile);
  const connection = await instance.connect();
  await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}

const added = (ordinal: string): string =>
  `INSERT INTO cleanup_target SELECT * REPLACE (${ordinal} AS ordinal, 'spared' AS owner_id) FROM cleanup_target WHERE ordinal = 3`;

const changes = [
  ['another target', "UPDATE cleanup_target SET owner_id = 'spared' WHERE ordinal = 3"],
  ['a target more', added('4')],
  ['a target without a number', added('NULL')],
  ['a target before the first', added('-1')],
  ['other numbers', 'UPDATE cleanup_target SET ordinal = ordinal + 10'],
  ['a target less', 'DELETE FROM cleanup_target WHERE ordinal = 3'],
  ['other counts', `UPDATE cleanup_plan SET counts = json_merge_patch(counts, '{"targets": 1, "wellbores": 0}')`],
  ['another count of wells', `UPDATE cleanup_plan SET counts = json_merge_patch(counts, '{"knownWells": 99999}')`],
  ['another time', 'UPDATE cleanup_plan SET created_at = created_at + INTERVAL 1 HOUR'],
] as const;

describe('a plan that was given', () => {
  test.each(changes)('G6: a tampered plan with %s is refused before any deletion', async (_, statement) => {
    await using bench = await cleanupBench();
    const planId = await bench.plan();
    await write(bench, statement);
    const { stderr, code } = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
    expect(stderr).toContain(`plan ${planId} is not as it was made`);
    expect(code).toBe(2);
    expect(bench.server.state.deletions()).toEqual([]);
  });

  test.each(changes)('G6: a plan with %s while it waited for a worker is refused by its run', async (_, statement) => {
    await using bench = await cleanupBench();
    const { runId } = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', await bench.plan()));
    await write(bench, statement);
    const { stdout, code } = await bench.run('runs', 'retry', runId, '--yes', '--inline');
    expect(stdout).toContain('is not as it was made');
    expect(code).toBe(1);
    expect(bench.server.state.deletions()).toEqual([]);
  });
});

test('G6: the audit shows that a plan was applied, even when the plan is reset', async () => {
  await using bench = await cleanupBench();
  const planId = await bench.plan();
  const first = runSchema.parse(await bench.json('cleanup', '--yes', '--apply', planId, '--inline'));
  // The service shows everything as planned: only the audit knows of the deletions.
  bench.server.state.reset();
  await write(bench, 'UPDATE cleanup_plan SET run_id = NULL, applied_at = NULL, applied_by = NULL');
  const { stdout, stderr, code } = await bench.run('cleanup', '--yes', '--apply', planId, '--inline');
  expect(code).not.toBe(0);
  expect(`${stdout}${stderr}`).toContain(`was applied by run ${first.runId}`);
  expect(bench.server.state.deletions()).toEqual([]);
});
