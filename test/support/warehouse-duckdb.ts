/** Owns DuckDB warehouses in temporary directories. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import type { WarehouseUnderTest } from './warehouse-under-test.ts';

export const settings = { now: Date.now, lockWaitMs: 10_000 } as const;

export async function openTemporaryDuckdb(): Promise<WarehouseUnderTest & { readonly path: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'wellsync-warehouse-'));
  const path = join(directory, 'warehouse.duckdb');
  const opened: Warehouse[] = [];
  const another = (): Warehouse => {
    const warehouse = createDuckdbWarehouse({ ...settings, path });
    opened.push(warehouse);
    return warehouse;
  };
  return {
    path,
    warehouse: another(),
    another,
    async dispose() {
      await Promise.all(opened.map((warehouse) => warehouse.close()));
      await rm(directory, { recursive: true });
    },
  };
}
