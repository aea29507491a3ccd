/** Chooses the implementation of the warehouse by the scheme of its address (DESIGN.md section 7). */
import { UsageError } from '../core/errors.ts';
import { createDuckdbWarehouse, type DuckdbSettings } from './duckdb/duckdb-warehouse.ts';
import type { Warehouse } from './warehouse.ts';

export type WarehouseSettings = Omit<DuckdbSettings, 'path'>;

/** `address` is `duckdb:PATH`; a relative path counts from the working directory. Throws UsageError for anything else. */
export function createWarehouse(address: string, settings: WarehouseSettings): Warehouse {
  const colon = address.indexOf(':');
  const scheme = address.slice(0, Math.max(0, colon));
  const path = address.slice(colon + 1);
  if (scheme === 'duckdb' && path !== '') return createDuckdbWarehouse({ ...settings, path });
  // Only the scheme is shown: the rest of a server's address may hold a password (G10).
  const what =
    scheme === 'duckdb'
      ? 'the path is missing after duckdb:'
      : `${scheme || 'an address without a scheme'} is not supported`;
  throw new UsageError(`the warehouse's address is not usable: ${what}`, {
    hint: 'Write duckdb:PATH, for example duckdb:./data/warehouse.duckdb.',
  });
}
