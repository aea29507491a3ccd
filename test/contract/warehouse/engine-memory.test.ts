/** A warehouse whose engine has too little memory: never taken for a fault of the disk, which would be tried again. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { PermanentError } from '../../../src/core/base/errors.ts';
import { createDuckdbWarehouse } from '../../../src/warehouse/duckdb/duckdb-warehouse.ts';
import { shareDatabaseFile, type DatabaseFile } from '../../../src/warehouse/duckdb/file/database-file.ts';
import { committedAtMs, guard, planned, reading, row } from '../../support/warehouse-batches.ts';

const columns = Array.from({ length: 40 }, (_, place) => `hash(i, ${place})::VARCHAR AS c${place}`).join(', ');

/** Inserts random rows, in one transaction a batch. The engine brings them into the file by itself, as narrow ones would be. */
async function fill(file: DatabaseFile, batches: number, rows: number): Promise<void> {
  await file.transact((connection) => connection.run("SET checkpoint_threshold = '30MB'"));
  await file.transact((connection) => connection.run(`CREATE TABLE wide AS SELECT ${columns} FROM range(0) t(i)`));
  for (let first = 0; first < batches * rows; first += rows) {
    const range = `range(${first}, ${first + rows}) t(i)`;
    await file.transact((connection) => connection.run(`INSERT INTO wide SELECT ${columns} FROM ${range}`));
  }
}

test.each([
  { step: 'a statement', memoryLimitMb: 16, rows: 5_000, message: 'Out of Memory Error: ' },
  { step: 'a commit', memoryLimitMb: 24, rows: 5_000, message: 'TransactionContext Error: Failed to commit: ' },
  { step: 'a checkpoint', memoryLimitMb: 40, rows: 2_000, message: 'FATAL Error: Failed to create checkpoint ' },
])(
  'G8: $step that lacks memory fails for good, and the setting to raise is named',
  async ({ memoryLimitMb, rows, message }) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-memory-'));
    const file = shareDatabaseFile({ path: path.join(folder, 'w.duckdb'), memoryLimitMb, now: () => 0 });
    try {
      const error: unknown = await fill(file, 240, rows).catch((fault: unknown) => fault);
      expect(error).toBeInstanceOf(PermanentError);
      expect(error).toMatchObject({
        code: 'warehouse-memory',
        message: expect.stringContaining(message) as string,
        hint: expect.stringContaining('worker.memoryMb') as string,
      });
    } finally {
      await file.release();
      await rm(folder, { recursive: true });
    }
  },
);

test('G8: an append of first rows that lacks memory fails for good, and says so', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-memory-'));
  const warehouse = createDuckdbWarehouse({ path: path.join(folder, 'w.duckdb'), memoryLimitMb: 14, now: () => 0 });
  try {
    const rows = Array.from({ length: 40_000 }, (_, index) =>
      row(index, new Date(Date.UTC(1910, 0, 1 + index)).toISOString().slice(0, 10), { downtimeCode: `cause ${index}` }),
    );
    const windows = [reading(rows, { from: '1900-01-01', to: '2030-01-01' })];
    const runId = await planned(warehouse, windows);
    const commit = warehouse.dailyProduction.commit({ runId, windows, shrink: guard, committedAtMs });
    await expect(commit).rejects.toMatchObject({ code: 'warehouse-memory' });
  } finally {
    await warehouse.close();
    await rm(folder, { recursive: true });
  }
});
