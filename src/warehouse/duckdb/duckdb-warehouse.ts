/** Composes the DuckDB warehouse: one file, its tables, and the ports that src/warehouse/warehouse.ts states. */
import { version } from '@duckdb/node-api';
import type { Warehouse } from '../warehouse.ts';
import { createCleanupPlans } from './cleanup-plans.ts';
import { readKnownDays, surveyCoverage } from './coverage-survey.ts';
import { createDailyProductionStore } from './daily-production-store.ts';
import { shareDatabaseFile } from './database-file.ts';
import { createDeletionLedger } from './deletion-ledger.ts';
import { schemaVersion } from './migrations.ts';
import type { FileSettings } from './open-file.ts';
import { createPushStore } from './push-store.ts';
import { runQuery } from './query.ts';
import { createRunLedger } from './run-ledger.ts';
import { createProfileStore } from './profile-store.ts';
import { readRows } from './sql.ts';
import { createTimeSeriesStore } from './time-series-store.ts';
import { createWellStore } from './well-store.ts';

export type DuckdbSettings = FileSettings;

/** Nothing is opened before the first call. Several warehouses of one path in a process share one handle. */
export function createDuckdbWarehouse(settings: DuckdbSettings): Warehouse {
  const file = shareDatabaseFile(settings);
  return {
    location: file.location,
    runs: createRunLedger(file),
    dailyProduction: createDailyProductionStore(file),
    coverage: {
      survey: (question, use) => file.transact(async (connection) => use(await surveyCoverage(connection, question))),
      knownDays: async (uwis) =>
        uwis.length === 0 ? new Map() : file.transact((connection) => readKnownDays(connection, uwis)),
    },
    timeSeries: createTimeSeriesStore(file),
    wells: createWellStore(file),
    profiles: createProfileStore(file),
    pushes: createPushStore(file),
    cleanupPlans: createCleanupPlans(file),
    deletions: createDeletionLedger(file),
    requireStored: () => file.requireStored(),
    check: () =>
      file.transact(async (connection) => {
        const [row] = await readRows<{ rows: number }>(connection, 'SELECT count(*) AS rows FROM daily_production');
        return { engine: `DuckDB ${version()}`, schemaVersion, dailyProductionRows: row?.rows ?? 0 };
      }),
    query: (sql, use, signal) => file.read((connection) => runQuery(connection, sql, use, signal)),
    close: () => file.release(),
  };
}
