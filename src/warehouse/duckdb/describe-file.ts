import type { WarehouseDescription } from '../port/warehouse.ts';
import { measureOrder } from './daily/table-order.ts';
import { countOf, oneRow, type SqlSession } from '../sql/session.ts';
import { schemaVersion as currentVersion, readKnownVersion } from './schema.ts';

/** What a DuckDB file holds, of this schema version or the one that a copy takes over: read only. */
export async function describeFile(
  session: SqlSession,
  location: string,
): Promise<Omit<WarehouseDescription, 'location' | 'bytes'>> {
  const schemaVersion = await readKnownVersion(session, location);
  const tables = await readTables(session);
  const hasDays = tables.some(({ name }) => name === 'daily_production');
  const days = hasDays ? await readDays(session) : noDays;
  const isEmpty = schemaVersion === 0;
  const identity = isEmpty ? noIdentity : await readIdentity(session);
  const order = isEmpty ? null : await measureOrder(session);
  return { schemaVersion, isCurrent: schemaVersion === currentVersion, ...identity, ...days, order, tables };
}

type Described<Name extends keyof WarehouseDescription> = Pick<WarehouseDescription, Name>;

const noDays: Described<'oldestDay' | 'newestDay'> = { oldestDay: null, newestDay: null };
const noIdentity: Described<'warehouseId' | 'service' | 'historyHorizonMs'> = {
  warehouseId: null,
  service: null,
  historyHorizonMs: null,
};

function readIdentity(session: SqlSession): Promise<typeof noIdentity> {
  const horizon = 'epoch_ms(history_horizon) AS "historyHorizonMs"';
  return oneRow(session, `SELECT warehouse_id AS "warehouseId", service, ${horizon} FROM warehouse`);
}

function readDays(session: SqlSession): Promise<typeof noDays> {
  const days = 'min(production_day)::VARCHAR AS "oldestDay", max(production_day)::VARCHAR AS "newestDay"';
  return oneRow(session, `SELECT ${days} FROM daily_production`);
}

/** The tables that readers see, a view among them, with the number of their rows. */
async function readTables(session: SqlSession): Promise<WarehouseDescription['tables']> {
  const names = await session.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal
     UNION SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal ORDER BY name`,
  );
  const tables: { name: string; rows: number }[] = [];
  for (const { name } of names) tables.push({ name, rows: await countOf(session, `"${name}"`) });
  return tables;
}
