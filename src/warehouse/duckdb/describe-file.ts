import type { DuckDBConnection } from '@duckdb/node-api';
import type { WarehouseDescription } from '../port/warehouse.ts';
import { measureOrder } from './daily/table-order.ts';
import { readRows } from './file/sql.ts';
import { schemaVersion as currentVersion, readKnownVersion } from './schema.ts';

/** What a DuckDB file holds, of this schema version or the one that a copy takes over: read only. */
export async function describeFile(
  connection: DuckDBConnection,
  location: string,
): Promise<Omit<WarehouseDescription, 'location' | 'bytes'>> {
  const schemaVersion = await readKnownVersion(connection, location);
  const tables = await readTables(connection);
  const hasDays = tables.some(({ name }) => name === 'daily_production');
  const days = hasDays ? await readDays(connection) : { oldestDay: null, newestDay: null };
  const isEmpty = schemaVersion === 0;
  const identity = isEmpty ? noIdentity : await readIdentity(connection);
  const order = isEmpty ? null : await measureOrder(connection);
  return { schemaVersion, isCurrent: schemaVersion === currentVersion, ...identity, ...days, order, tables };
}

const noIdentity = { warehouseId: null, service: null, historyHorizonMs: null };

async function readIdentity(connection: DuckDBConnection) {
  const [row] = await readRows<{ id: string; service: string | null; horizon: number | null }>(
    connection,
    'SELECT warehouse_id AS id, service, epoch_ms(history_horizon) AS horizon FROM warehouse',
  );
  return { warehouseId: row?.id ?? null, service: row?.service ?? null, historyHorizonMs: row?.horizon ?? null };
}

async function readDays(connection: DuckDBConnection) {
  const [row] = await readRows<{ oldestDay: string | null; newestDay: string | null }>(
    connection,
    `SELECT min(production_day)::VARCHAR AS "oldestDay", max(production_day)::VARCHAR AS "newestDay"
     FROM daily_production`,
  );
  return row ?? { oldestDay: null, newestDay: null };
}

/** The tables that readers see, a view among them, with the number of their rows. */
async function readTables(connection: DuckDBConnection): Promise<WarehouseDescription['tables']> {
  const names = await readRows<{ name: string }>(
    connection,
    `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal
     UNION SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal ORDER BY name`,
  );
  const tables: { name: string; rows: number }[] = [];
  for (const { name } of names) {
    const [row] = await readRows<{ rows: number }>(connection, `SELECT count(*) AS rows FROM "${name}"`);
    tables.push({ name, rows: row?.rows ?? 0 });
  }
  return tables;
}
