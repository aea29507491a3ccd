import { describe } from 'vitest';
import { postgresLack } from '../../support/postgres/database.ts';
import { temporaryPostgres } from '../../support/postgres/warehouse.ts';
import { describeHistory, describeWarehouse } from './suite.ts';

const lack = await postgresLack('14');

describe.skipIf(lack !== undefined)(`PostgreSQL 14${lack === undefined ? '' : ` (${lack})`}`, () => {
  describeWarehouse('PostgreSQL 14', temporaryPostgres('14'));
  describeHistory('PostgreSQL 14', temporaryPostgres('14'));
});
