/** What a PostgreSQL warehouse holds: read only, so that nothing is migrated. */
import { UnreachableError } from '../../core/base/errors.ts';
import type { WarehouseDescription } from '../port/warehouse.ts';
import { epochMs, type SqlSession } from '../sql/session.ts';
import { readKnownVersion, schemaVersion as currentVersion } from './schema/migrations.ts';

/** Throws UnreachableError if the database has no tables of a warehouse yet. */
export async function describeWarehouse(session: SqlSession, location: string): Promise<WarehouseDescription> {
  const schemaVersion = await readKnownVersion(session, location);
  if (schemaVersion === 0) throw noWarehouse(location);
  const [row] = await session.rows<Omit<WarehouseDescription, 'location' | 'isCurrent' | 'order' | 'tables'>>(
    `SELECT pg_database_size(current_database()) AS bytes, ${schemaVersion} AS "schemaVersion",
       warehouse_id AS "warehouseId", service, ${epochMs('history_horizon')} AS "historyHorizonMs",
       (SELECT min(production_day) FROM internal.daily_production) AS "oldestDay",
       (SELECT max(production_day) FROM internal.daily_production) AS "newestDay"
     FROM warehouse`,
  );
  if (row === undefined) throw new Error('the table warehouse has no row');
  const isCurrent = schemaVersion === currentVersion;
  return { ...row, location, isCurrent, order: null, tables: await readTables(session) };
}

/** For a command that only reads a database in which no job has written yet. */
export function noWarehouse(location: string): UnreachableError {
  return new UnreachableError('warehouse', `there is no warehouse in ${location} yet`, {
    hint: 'If it is in another database, set WELLSYNC_WAREHOUSE to it.',
    action: { kind: 'first-export' },
  });
}

/** The tables that readers see, a view among them, with the number of their rows. */
async function readTables(session: SqlSession): Promise<WarehouseDescription['tables']> {
  const names = await session.rows<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name COLLATE "C"`,
  );
  const tables: Array<{ readonly name: string; readonly rows: number }> = [];
  for (const { name } of names) {
    const [counted] = await session.rows<{ rows: number }>(
      `SELECT count(*) AS rows FROM "${name.replaceAll('"', '""')}"`,
    );
    tables.push({ name, rows: counted?.rows ?? 0 });
  }
  return tables;
}
