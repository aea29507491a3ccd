/** Moves a warehouse from a DuckDB file to a PostgreSQL database. */
import { UsageError } from '../../core/base/errors.ts';
import { beatTimes } from '../../core/run/queue-claim.ts';
import { duckdbPath, postgresSettings, type WarehouseSettings } from '../create-warehouse.ts';
import { createDuckdbWarehouse } from '../duckdb/duckdb-warehouse.ts';
import { databaseOf, shareDatabaseFile } from '../duckdb/file/database-file.ts';
import { migrate } from '../postgres/schema/migrations.ts';
import { isPostgresAddress } from '../postgres/server/postgres-address.ts';
import { PostgresDatabase } from '../postgres/server/postgres-database.ts';
import { type CopiedRows, copyTables, type CopyWatch } from './copy-tables.ts';

/** Addresses as `createWarehouse` takes them. */
export interface CopyEnds {
  readonly from: string;
  readonly to: string;
}

/**
 * Copies all tables, and compares them. The database becomes a warehouse with the id of the file, which is unchanged but for
 * a schema of this version. Throws UsageError if the addresses are not of a file and a database, if workers work on the file,
 * if the database is not empty, or if the two differ in the end; AbortedError if it was stopped.
 */
export async function copyWarehouse(
  { from, to }: CopyEnds,
  settings: WarehouseSettings,
  watch: CopyWatch,
): Promise<readonly CopiedRows[]> {
  if (!isPostgresAddress(to)) {
    throw new UsageError('a warehouse is copied to PostgreSQL alone', {
      hint: 'Write postgres://USER@HOST:PORT/DATABASE. A copy in a file is made by wellsync warehouse backup.',
    });
  }
  const path = duckdbPath(from);
  const { address, ...connection } = postgresSettings(to, settings);
  const file = shareDatabaseFile({ ...settings, path });
  const prepare: ConstructorParameters<typeof PostgresDatabase>[0]['prepare'] = (session) =>
    migrate(session, address.location);
  const database = new PostgresDatabase({ ...connection, address, prepare });
  try {
    file.requireStored();
    await refuseWorked(path, settings);
    return await copyTables(databaseOf(file), database, watch);
  } finally {
    await Promise.all([file.release(), database.close()]);
  }
}

/** Rows that are written meanwhile would be left out, and only the comparison at the end would tell. */
async function refuseWorked(path: string, settings: WarehouseSettings): Promise<void> {
  const warehouse = createDuckdbWarehouse({ ...settings, path });
  try {
    const beatAgeMs = await warehouse.ledger.ownership.beatAgeMs();
    if (beatAgeMs === undefined || beatAgeMs >= beatTimes.staleAfterMs) return;
    throw new UsageError(`workers work on ${warehouse.location}: nothing was copied`, {
      hint: 'Stop them. Start them again with WELLSYNC_WAREHOUSE set to the database.',
    });
  } finally {
    await warehouse.close();
  }
}
