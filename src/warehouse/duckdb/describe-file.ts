import type { WarehouseDescription } from '../port/warehouse.ts';
import { measureOrder } from './daily/table-order.ts';
import type { SqlSession } from '../sql/session.ts';
import { schemaVersion as currentVersion, readKnownVersion } from './schema.ts';

/** What a DuckDB file holds, of this schema version or the one that a copy takes over: read only. */
export async function describeFile(
  session: SqlSession,
  location: string,
): Promise<Omit<WarehouseDescription, 'location' | 'bytes'>> {
  const schemaVersion = await readKnownVersion(session, location);
  const tables = await readTables(session);
  const hasDays = tables.some(({ name }) => name === 'daily_production');
  const days = hasDays ? await readDays(session) : { oldestDay: null, newestDay: null };
  const isEmpty = schemaVersion === 0;
  const identity = isEmpty ? noIdentity : await readIdentity(session);
  const order = isEmpty ? null : await measureOrder(session);
  return { schemaVersion, isCurrent: schemaVersion === currentVersion, ...identity, ...days, order, tables };
}

const noIdentity = { warehouseId: null, service: null, historyHorizonMs: null };

async function readIdentity(session: SqlSession) {
  const [row] = await session.rows<{ id: string; service: string | null; horizon: number | null }>(
    'SELECT warehouse_id AS id, service, epoch_ms(history_horizon) AS horizon FROM warehouse',
  );
  return { warehouseId: row?.id ?? null, service: row?.service ?? null, historyHorizonMs: row?.horizon ?? null };
}

async function readDays(session: SqlSession) {
  const [row] = await session.rows<{
    oldestDay: string | null;
    newestDay: string | null;
  }>(`SELECT min(production_day)::VARCHAR AS "oldestDay", max(production_day)::VARCHAR AS "newestDay"
     FROM daily_production`);
  return row ?? { oldestDay: null, newestDay: null };
}

/** The tables that readers see, a view among them, with the number of their rows. */
async function readTables(session: SqlSession): Promise<WarehouseDescription['tables']> {
  const names = await session.rows<{
    name: string;
  }>(`SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal
     UNION SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal ORDER BY name`);
  const tables: { name: string; rows: number }[] = [];
  for (const { name } of names) {
    const [row] = await session.rows<{ rows: number }>(`SELECT count(*) AS rows FROM "${name}"`);
    tables.push({ name, rows: row?.rows ?? 0 });
  }
  return tables;
}
