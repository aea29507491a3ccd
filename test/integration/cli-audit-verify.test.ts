/** What `wellsync audit verify` says of an audit that somebody wrote to past wellsync. */
import { copyFile } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from 'vitest';
import { cleanupBench, type CleanupBench } from '../support/cleanup-cli.ts';

async function write(file: string, statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}

describe('an audit of 8 rows', () => {
  let bench: CleanupBench;
  beforeAll(async () => {
    bench = await cleanupBench();
    await bench.run('cleanup', '--apply', await bench.plan(), '--inline');
    return () => bench[Symbol.asyncDispose]();
  });

  /** Of a copy of the audit to which these statements were done. */
  async function verify(...statements: readonly string[]) {
    const file = `${bench.home.folder}/copy.duckdb`;
    await copyFile(bench.home.warehouseFile, file);
    await write(file, statements);
    return bench.run('audit', 'verify', '--warehouse', `duckdb:${file}`);
  }

  test('is whole as wellsync left it', async () => {
    expect(await verify()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^The audit is whole: 8 rows, /) });
  });

  const insertAs = (change: string, seq: number): string =>
    `INSERT INTO deletion_audit SELECT * REPLACE (${change}) FROM deletion_audit WHERE seq = ${seq}`;

  test.each([
    ['whose outcome was changed', 6, ["UPDATE deletion_audit SET outcome = 'refused' WHERE seq = 6"]],
    ['moved in time', 3, ['UPDATE deletion_audit SET noted_at = noted_at + INTERVAL 1 MICROSECOND WHERE seq = 3']],
    ['that was removed', 5, ['DELETE FROM deletion_audit WHERE seq = 5']],
    ['that was the first', 1, ['DELETE FROM deletion_audit WHERE seq = 1']],
    ['that was the last', 8, ['DELETE FROM deletion_audit WHERE seq = 8']],
    ['put in', 4, [insertAs("'somebody else' AS owner_id", 4)]],
    ['put in at the end', 9, [insertAs('9 AS seq', 8)]],
    ['in another order', 4, ['UPDATE deletion_audit SET seq = 9 - seq WHERE seq IN (4, 5)']],
    ['removed, where all were', 1, ['DELETE FROM deletion_audit']],
    [
      'removed with its head',
      7,
      ['DELETE FROM deletion_audit WHERE seq = 8', 'UPDATE deletion_audit_head SET rows = 7'],
    ],
    [
      'removed with all after it and a head that fits',
      5,
      [
        'DELETE FROM deletion_audit WHERE seq > 4',
        'UPDATE deletion_audit_head SET rows = 4, hash = (SELECT hash FROM deletion_audit WHERE seq = 4)',
      ],
    ],
    ['removed with the whole audit', 1, ['DELETE FROM deletion_audit', 'DELETE FROM deletion_audit_head']],
    ['before the first', 1, [insertAs('0 AS seq', 1)]],
    ['of a table that is gone', 1, ['DROP TABLE deletion_audit']],
    [
      'removed with all after it, whose plan is gone too',
      5,
      [
        'DELETE FROM deletion_audit WHERE seq > 4',
        'UPDATE deletion_audit_head SET rows = 4, hash = (SELECT hash FROM deletion_audit WHERE seq = 4)',
        'DELETE FROM cleanup_plan',
      ],
    ],
    ['that is named as the last one twice', 8, ['INSERT INTO deletion_audit_head FROM deletion_audit_head']],
    ['beside a second head', 8, ["INSERT INTO deletion_audit_head VALUES (7, 'forged')"]],
  ])('G6: a row %s is found, with its number, by exit code 1', async (_, row, statements) => {
    const { stdout, code } = await verify(...statements);
    expect(stdout).toMatch(new RegExp(`^The audit is broken: row ${row} `));
    if (row > 2) expect(stdout).toContain(`${row - 1} rows before it are right.`);
    expect(code).toBe(1);
  });

  test('G6: is held to a hash that was kept: that of any row of it, and no other', async () => {
    const [[early] = []] = await bench.ask('SELECT hash FROM deletion_audit WHERE seq = 3');
    expect(await bench.run('audit', 'verify', '--kept', String(early))).toMatchObject({ code: 0 });
    const { stdout, code } = await bench.run('audit', 'verify', '--kept', 'f'.repeat(64));
    expect(stdout).toContain('no row has the hash that was kept');
    expect(code).toBe(1);
    expect(await bench.run('audit', 'verify', '--kept', 'soon')).toMatchObject({ code: 2 });
  });
});
