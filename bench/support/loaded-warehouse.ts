/** What benchmarks of commits share: a run that they belong to, and the bare INSERT that they are measured by. */
import { DuckDBInstance } from '@duckdb/node-api';
import type { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { Sample } from '../report/measurement.ts';
import { measureWork } from './measured-work.ts';

export type Warehouse = ReturnType<typeof createDuckdbWarehouse>;

/** Stores a run with so many units, whose windows can be committed. */
export async function planRun(warehouse: Warehouse, runId: string, units: number): Promise<void> {
  await warehouse.ledger.runs.create({
    runId,
    job: 'bench',
    params: {},
    service: 'https://service.example',
    actor: 'tester@host',
    requestedAtMs: Date.now(),
  });
  const planned = Array.from({ length: units }, (_, unit) => ({ unit, chunk: 0, target: `well ${unit}`, spec: {} }));
  await warehouse.ledger.runs.savePlan(runId, planned, Date.now());
}

/**
 * The rows of a loaded and closed warehouse, staged before, into a table of the same columns in a file of its own: an
 * INSERT and a COMMIT for each batch, nothing compared.
 */
export async function bareInsert(file: string, rows: number, batchRows: number): Promise<Sample> {
  const instance = await DuckDBInstance.create(`${file}.bare`, { threads: '1' });
  const connection = await instance.connect();
  await connection.run(`ATTACH '${file}' AS loaded (READ_ONLY)`);
  await connection.run('CREATE TEMP TABLE staged AS FROM loaded.daily_production');
  await connection.run('CREATE TABLE bare AS FROM staged LIMIT 0');
  const sample = await measureWork(rows, async (counted) => {
    for (let from = 0; from < rows; from += batchRows) {
      await counted(async () => {
        await connection.run('BEGIN');
        await connection.run(`INSERT INTO bare FROM staged WHERE rowid >= ${from} AND rowid < ${from + batchRows}`);
        await connection.run('COMMIT');
      });
    }
  });
  connection.closeSync();
  instance.closeSync();
  return sample;
}
