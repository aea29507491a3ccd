/** The conformance suite by way of PgBouncer, which gives each transaction another connection. */
import { afterAll, beforeAll, describe } from 'vitest';
import { postgresLack } from '../../support/postgres/database.ts';
import { type Pgbouncer, pgbouncerLack, startPgbouncer } from '../../support/postgres/pgbouncer.ts';
import { sharedPostgres } from '../../support/postgres/shared-postgres.ts';
import { temporaryPostgres } from '../../support/postgres/warehouse.ts';
import { describeWarehouse } from './suite.ts';

const lack = (await postgresLack('newest')) ?? pgbouncerLack();

describe.skipIf(lack !== undefined)(`PostgreSQL behind PgBouncer${lack === undefined ? '' : ` (${lack})`}`, () => {
  let pooler: Pgbouncer | undefined;
  beforeAll(async () => {
    const server = await sharedPostgres('newest');
    if ('lack' in server) throw new Error(server.lack);
    pooler = await startPgbouncer(server.adminUrl);
  });
  afterAll(async () => pooler?.[Symbol.asyncDispose]());
  const through = (databaseUrl: string): string => {
    if (pooler === undefined) throw new Error('the pooler runs only while the tests do');
    return pooler.through(databaseUrl);
  };
  describeWarehouse('PostgreSQL behind PgBouncer', temporaryPostgres('newest', through), ['ledger']);
});
