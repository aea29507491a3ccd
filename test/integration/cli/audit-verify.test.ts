/** `wellsync audit verify` on an audit that another program changed. */
import { createHash } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from 'vitest';
import { chain, type AuditEntry } from '../../../src/core/cleanup/audit-chain.ts';
import { cleanupBench, type CleanupBench } from '../../support/cleanup-cli.ts';

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
    await bench.run('cleanup', '--yes', '--apply', await bench.plan(), '--inline');
    return () => bench[Symbol.asyncDispose]();
  });

  /** Verifies a copy of the audit after these statements. */
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
    ['that names a retry that was none', 3, ["UPDATE deletion_audit SET retried_by = 'anna' WHERE seq = 3"]],
    ['of an older digest version', 4, ['UPDATE deletion_audit SET digest_version = NULL WHERE seq = 4']],
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
  ])('G6: an audit row %s is found, with its number and exit code 1', async (_, row, statements) => {
    const { stdout, code } = await verify(...statements);
    expect(stdout).toMatch(new RegExp(`^The audit is broken: row ${row} `));
    if (row > 2) expect(stdout).toContain(`${row - 1} rows before it are right.`);
    expect(code).toBe(1);
  });

  test.each([
    ['another outcome', { outcome: 'refused' }],
    ['another target', { ownerId: 'somebody else' }],
    ['another plan', { planId: 'another' }],
  ] as const)('G6: a last audit row with %s and a matching hash is checked against its run', async (_, change) => {
    const [row = []] =
      await bench.ask(`SELECT epoch_ms(noted_at), event, run_id, plan_id, unit, requested_by, service_url,
      kind, owner_id, source_id, outcome, answer, words, verification, previous_hash FROM deletion_audit WHERE seq = 8`);
    const names = [
      'atMs',
      'event',
      'runId',
      'planId',
      'unit',
      'requestedBy',
      'serviceUrl',
      'kind',
      'ownerId',
      'sourceId',
    ];
    const rest = ['outcome', 'answer', 'words', 'verification', 'previousHash'];
    const entry = Object.fromEntries([...names, ...rest].map((name, place) => [name, row[place]]));
    const head = { rows: 7, hash: String(entry['previousHash']) };
    const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
    const [forged] = chain(head, [{ ...entry, ...change } as unknown as AuditEntry], hashOf);
    const { outcome, ownerId, planId, hash = '' } = forged ?? {};
    const { stdout, code } = await verify(
      `UPDATE deletion_audit SET outcome = '${outcome}', owner_id = '${ownerId}', plan_id = '${planId}', hash = '${hash}' WHERE seq = 8`,
      `UPDATE deletion_audit_head SET hash = '${hash}'`,
    );
    expect(stdout).toContain('The audit is broken: row 8 says otherwise than run');
    expect(code).toBe(1);
  });

  test('G6: an audit is verified against the hash of any of its rows, and no other hash', async () => {
    const [[early] = []] = await bench.ask('SELECT hash FROM deletion_audit WHERE seq = 3');
    expect(await bench.run('audit', 'verify', '--kept', String(early))).toMatchObject({ code: 0 });
    const { stdout, code } = await bench.run('audit', 'verify', '--kept', 'f'.repeat(64));
    expect(stdout).toContain('no row has the hash that was kept');
    expect(code).toBe(1);
    expect(await bench.run('audit', 'verify', '--kept', 'soon')).toMatchObject({ code: 2 });
  });
});
