import { describe } from 'vitest';
import { postgresLack } from '../../support/postgres/database.ts';
import { temporaryPostgres } from '../../support/postgres/warehouse.ts';
import { describeFeed } from './suites/feed.ts';

const lack = await postgresLack('newest');

describe.skipIf(lack !== undefined)(`the newest PostgreSQL${lack === undefined ? '' : ` (${lack})`}`, () => {
  describeFeed(temporaryPostgres('newest'), [1, 2, 3, 4, 5]);
});
