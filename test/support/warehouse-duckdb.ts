import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { ServiceIdentity } from '../../src/core/base/service-key.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';
import { askedWhileOpen } from './warehouse-batches.ts';
import type { WarehouseUnderTest } from './warehouse-under-test.ts';

export const settings = { now: Date.now, lockWaitMs: 10_000 } as const;

type DuckdbUnderTest = WarehouseUnderTest & { readonly path: string };

/** A warehouse in a file of its own, empty as its first use makes it. */
export async function openTemporaryDuckdb(): Promise<DuckdbUnderTest> {
  const opened = await openNewDuckdb();
  await writeFile(opened.path, await (emptyFile ??= makeEmptyFile()));
  return opened;
}

/** A warehouse whose file is not there before its first use. */
export async function openNewDuckdb(): Promise<DuckdbUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'wellsync-warehouse-'));
  const path = join(directory, 'warehouse.duckdb');
  const opened: WarehouseHandle[] = [];
  const another = (service?: ServiceIdentity): WarehouseHandle => {
    const warehouse = askedWhileOpen(createDuckdbWarehouse({ ...settings, path, service }), path);
    opened.push(warehouse);
    return warehouse;
  };
  return {
    path,
    warehouse: another(),
    another,
    async changed(statement) {
      await Promise.all(opened.map((warehouse) => warehouse.close()));
      const instance = await DuckDBInstance.create(path);
      const connection = await instance.connect();
      await connection.run(statement);
      connection.closeSync();
      instance.closeSync();
      return another();
    },
    async dispose() {
      await Promise.all(opened.map((warehouse) => warehouse.close()));
      await rm(directory, { recursive: true });
    },
  };
}

/** What the first use writes: made once in a process, since it takes longer than most tests. */
let emptyFile: Promise<Buffer> | undefined;

async function makeEmptyFile(): Promise<Buffer> {
  const { path, warehouse, dispose } = await openNewDuckdb();
  await warehouse.check();
  await warehouse.close();
  const content = await readFile(path);
  await dispose();
  return content;
}
