/** A warehouse of schema 5 with unfinished runs of every job opens, and holds the data of the version that made it. */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { readExpected, contentOf, unpackOldWarehouse } from '../../support/old-warehouse.ts';
import { migrate, readKnownVersion, schemaVersion } from '../../../src/warehouse/duckdb/schema/migrations.ts';
import { allOf, ask } from '../../support/warehouse-batches.ts';
import { settings } from '../../support/warehouse-duckdb.ts';

test('a warehouse that an earlier version made opens with its runs, their open units, its rows and its audit', async () => {
  const { asMade, pushRunId } = await readExpected();
  await using old = await unpackOldWarehouse();
  const warehouse = createDuckdbWarehouse({ ...settings, path: old.warehouseFile });
  try {
    const { runs: ledger, deletions } = warehouse.ledger;
    const { runs: listed } = await ledger.list({ limit: 100 });
    expect(listed.map(({ job, state }) => [job, state]).toReversed()).toEqual(
      asMade.runs.map(({ job, state }) => [job, state]),
    );
    const unfinished = listed.filter(({ state }) => state === 'queued' || state === 'running');
    for (const { runId, unitCount, targetCount, settled } of unfinished) {
      const chunks = await ledger.openChunks(runId);
      const open = chunks.reduce((units, { openUnits }) => units + openUnits, 0);
      const sums = await ledger.totals(runId);
      expect([sums.units.open, sums.units.total, settled]).toEqual([open, unitCount ?? 0, undefined]);
      const targets = (await allOf(ledger.targets(runId))).flat();
      expect(targets).toHaveLength(unitCount === undefined ? (targetCount ?? -1) : 0);
    }
    for (const { runId, state, settled } of listed) {
      if (unfinished.some((run) => run.runId === runId)) continue;
      const report = (await ledger.read(runId))?.report;
      expect(report).toMatchObject({ runId, state });
      expect(settled).toEqual({ units: report?.units, counts: report?.counts });
    }
    expect(
      await ask(warehouse, `FROM run WHERE json_exists(params, '$.uwis') OR json_exists(params, '$.targets')`),
    ).toEqual([]);
    const { runs, warehouse: rows } = await contentOf((sql) => ask(warehouse, sql));
    expect(runs).toEqual(asMade.runs);
    expect(rows).toEqual(asMade.warehouse);
    const { head, broken } = await deletions.verify(asMade.audit.head);
    expect({ broken, ...head }).toEqual({ broken: undefined, rows: asMade.audit.rows, hash: asMade.audit.head });
    expect(await ledger.read(pushRunId)).toMatchObject({
      params: { file: `${old.folder}/pipes.csv`, rejectsFolder: `${old.dataDir}/rejects` },
    });
  } finally {
    await warehouse.close();
  }
});

test('the fixture has an unfinished run of each job, and one that no worker has planned', async () => {
  const { asMade } = await readExpected();
  const unfinished = asMade.runs.filter(({ state }) => state === 'queued' || state === 'running');
  expect(unfinished.map(({ job, state, units, open }) => [job, state, open > 0 && open < units])).toEqual([
    ['push network-pipes', 'running', false],
    ['cleanup', 'running', true],
    ['export daily-production', 'running', true],
    ['export daily-production --gaps', 'running', true],
    ['export time-series', 'running', true],
    ['export wells', 'running', true],
    ['export daily-production', 'queued', false],
  ]);
  await using old = await unpackOldWarehouse();
  const warehouse = createDuckdbWarehouse({ ...settings, path: old.warehouseFile });
  try {
    const [push] = await ask(
      warehouse,
      `SELECT checkpoint IS NOT NULL, completed_at IS NULL, count(chunk) > 1
       FROM run JOIN push USING (run_id) JOIN push_ledger USING (run_id) WHERE state = 'running' GROUP BY ALL`,
    );
    expect(push).toEqual([true, true, true]);
    const audited = `SELECT event, count(*)::INTEGER FROM run JOIN deletion_audit USING (run_id) WHERE state = 'running' GROUP BY ALL ORDER BY 1`;
    expect(await ask(warehouse, audited)).toEqual([
      ['intent', 8],
      ['outcome', 4],
    ]);
    const plans = await warehouse.ledger.cleanupPlans.list(10);
    expect(plans.filter(({ applied }) => applied === undefined)).toHaveLength(1);
    expect(plans.filter(({ applied }) => applied?.by === 'operator@example')).toHaveLength(2);
  } finally {
    await warehouse.close();
  }
});

test.each(['of the version before', 'of the first use'])(
  'G2: the log of a migration %s is read back after a kill, before any of it is in the file',
  async (which) => {
    await using old = await unpackOldWarehouse();
    const path = which === 'of the first use' ? join(old.folder, 'new.duckdb') : old.warehouseFile;
    const killed = `${path}.killed`;
    const instance = await DuckDBInstance.create(path, { checkpoint_threshold: '1GB' });
    const connection = await instance.connect();
    await migrate(connection, path, Date.now());
    for (const suffix of ['', '.wal']) await copyFile(`${path}${suffix}`, `${killed}${suffix}`);
    connection.closeSync();
    instance.closeSync();
    const again = await DuckDBInstance.create(killed);
    const reader = await again.connect();
    expect(await readKnownVersion(reader, killed)).toBe(schemaVersion);
    reader.closeSync();
    again.closeSync();
  },
);
