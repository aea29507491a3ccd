import { describe } from 'vitest';
import { postgresLack } from '../../support/postgres/database.ts';
import { temporaryPostgres } from '../../support/postgres/warehouse.ts';
import { describeWarehouse } from './suite.ts';

const lack = await postgresLack('newest');

describe.skipIf(lack !== undefined)(`the newest PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  describeWarehouse('PostgreSQL', temporaryPostgres('newest'), ['ledger']);
});
