/** Empty PostgreSQL warehouses for the conformance suites: copies of one that was made once. */
import { Client } from 'pg';
import { afterAll } from 'vitest';
import type { ServiceIdentity } from '../../../src/core/base/service-key.ts';
import { createPostgresWarehouse } from '../../../src/warehouse/postgres/postgres-warehouse.ts';
import { parsePostgresAddress } from '../../../src/warehouse/postgres/server/connections.ts';
import type { WarehouseHandle } from '../../../src/warehouse/port/warehouse.ts';
import type { OpenWarehouse, WarehouseUnderTest } from '../warehouse-under-test.ts';
import { createDatabase, type FreshDatabase } from './database.ts';
import type { PostgresRelease } from './postgres-program.ts';
import { sharedPostgres } from './shared-postgres.ts';

/**
 * To be called where a file's tests are described: what it makes ends with them. `through` gives the address that the
 * handles use, where a pooler stands before the server.
 */
export function temporaryPostgres(
  release: PostgresRelease,
  through: (databaseUrl: string) => string = (databaseUrl) => databaseUrl,
): OpenWarehouse {
  let template: Promise<FreshDatabase> | undefined;
  afterAll(async () => (await template)?.drop());
  return async () => {
    const server = await sharedPostgres(release);
    if ('lack' in server) throw new Error(server.lack);
    const { name } = await (template ??= madeWarehouse(server.adminUrl));
    return openWarehouse(await createDatabase(server.adminUrl, name), through);
  };
}

/** A database with the tables of a warehouse, which nobody is connected to: one to copy. */
async function madeWarehouse(adminUrl: string): Promise<FreshDatabase> {
  const database = await createDatabase(adminUrl);
  const warehouse = handleOf(database.url);
  await warehouse.check();
  await warehouse.close();
  return database;
}

function openWarehouse(database: FreshDatabase, through: (databaseUrl: string) => string): WarehouseUnderTest {
  const opened: WarehouseHandle[] = [];
  const another = (service?: ServiceIdentity): WarehouseHandle => {
    const warehouse = handleOf(through(database.url), service);
    opened.push(warehouse);
    return warehouse;
  };
  return {
    warehouse: another(),
    another,
    async changed(statement) {
      await Promise.all(opened.map((warehouse) => warehouse.close()));
      const client = new Client({ connectionString: database.url });
      await client.connect();
      await client.query(statement);
      await client.end();
      return another();
    },
    async dispose() {
      await Promise.all(opened.map((warehouse) => warehouse.close()));
      await database.drop();
    },
  };
}

export function handleOf(url: string, service?: ServiceIdentity): WarehouseHandle {
  return createPostgresWarehouse({
    address: parsePostgresAddress(url),
    password: () => Promise.resolve(undefined),
    retryMs: 20_000,
    service,
  });
}
