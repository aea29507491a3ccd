import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDuckdbWarehouse } from '../../src/warehouse/duckdb/duckdb-warehouse.ts';
import type { ServiceIdentity } from '../../src/core/base/service-key.ts';
import type { WarehouseHandle } from '../../src/warehouse/port/warehouse.ts';
import type { WarehouseUnderTest } from './warehouse-under-test.ts';

export const settings = { now: Date.now, lockWaitMs: 10_000 } as const;

export async function openTemporaryDuckdb(): Promise<WarehouseUnderTest & { readonly path: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'wellsync-warehouse-'));
  const path = join(directory, 'warehouse.duckdb');
  const opened: WarehouseHandle[] = [];
  const another = (service?: ServiceIdentity): WarehouseHandle => {
    const warehouse = createDuckdbWarehouse({ ...settings, path, service });
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
