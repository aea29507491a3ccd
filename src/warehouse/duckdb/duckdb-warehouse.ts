import { existsSync, statSync } from 'node:fs';
import type { Ledger, Warehouse, WarehouseHandle } from '../port/warehouse.ts';
import { createCleanupPlans } from '../sql/ledger/cleanup-plans.ts';
import { createDeletionLedger } from '../sql/ledger/deletion-ledger.ts';
import { createCoverageStore } from '../sql/daily/coverage-survey.ts';
import { createRecordStore } from '../sql/daily/record-store.ts';
import { createWellStore } from '../sql/daily/well-store.ts';
import { createFeedLedger } from '../sql/ledger/feed-ledger.ts';
import { createOwnership } from '../sql/ledger/ownership-store.ts';
import { createPushStore } from '../sql/ledger/push-store.ts';
import { createReadOrder } from '../sql/daily/read-order.ts';
import { createRetention } from '../sql/ledger/retention-store.ts';
import { createHolds } from '../sql/ledger/holds.ts';
import { createProfileStore } from '../sql/ledger/profile-store.ts';
import { createRunLedger } from '../sql/ledger/run-ledger.ts';
import { createScheduleStore } from '../sql/ledger/schedule-store.ts';
import { createDailyProductionStore } from './daily/daily-production-store.ts';
import { createStorageOrder } from './daily/table-order.ts';
import { describeFile } from './describe-file.ts';
import { createFeedTables } from './feed-copy.ts';
import { type DatabaseFile, databaseOf, type HandleSettings, shareDatabaseFile } from './file/database-file.ts';
import { version } from './file/engine.ts';
import { copyFiles, type FileSettings, isSameFile } from './file/open-file.ts';
import { readRows } from './file/sql.ts';
import { BeatFile } from './beat-file.ts';
import { copyQuery } from './query/copy.ts';
import { runQuery } from './query/query.ts';
import { readKnownVersion, schemaVersion } from './schema.ts';

export type DuckdbSettings = FileSettings & HandleSettings;

/**
 * Creates the handle. Opens nothing before the first call. Several handles of one path in a process share one open
 * file.
 */
export function createDuckdbWarehouse(settings: DuckdbSettings): WarehouseHandle {
  const file = shareDatabaseFile(settings);
  return { ...warehouseOf(file), ledger: ledgerOf(file, settings.now), close: () => file.release() };
}

function warehouseOf(file: DatabaseFile): Warehouse {
  const database = databaseOf(file);
  return {
    location: file.location,
    readOrder: createReadOrder(database),
    dailyProduction: createDailyProductionStore(file),
    coverage: createCoverageStore(database),
    records: (list) => createRecordStore(database, list),
    wells: createWellStore(database),
    feedTables: createFeedTables(file),
    describe: async () => {
      const described = await file.read((connection) => describeFile(connection, file.location));
      return { location: file.location, bytes: statSync(file.path).size, ...described };
    },
    copyTo: (target) => file.read(() => copyFiles(file.path, target)),
    foldLog: () => file.foldLog(),
    isAt: (path) => isSameFile(file.path, path),
    requireStored: () => file.requireStored(),
    isStored: async () => existsSync(file.path),
    check: () =>
      file.transact(async (connection) => {
        const [row] = await readRows<{ rows: number }>(connection, 'SELECT count(*) AS rows FROM daily_production');
        return { engine: `DuckDB ${version()}`, schemaVersion, dailyProductionRows: row?.rows ?? 0 };
      }),
    tryMaking: () => Promise.resolve(),
    tryWriting: () => tryWriting(file),
    query: (sql, use, signal) =>
      file.read(async (connection) => {
        await readKnownVersion(connection, file.location);
        return runQuery(connection, sql, use, signal);
      }),
    copyQuery: (sql, target, signal) =>
      file.read(async (connection) => {
        await readKnownVersion(connection, file.location);
        return copyQuery(connection, sql, target, signal);
      }),
  };
}

/** The error rolls the transaction back. */
async function tryWriting(file: DatabaseFile): Promise<void> {
  const rolledBack = new Error('written, and rolled back');
  try {
    await file.transact(async (connection) => {
      await connection.run('CREATE TABLE internal.written_on_trial AS SELECT range AS n FROM range(10000)');
      throw rolledBack;
    });
  } catch (error) {
    if (error !== rolledBack) throw error;
  }
}

function ledgerOf(file: DatabaseFile, now: () => number): Ledger {
  const database = databaseOf(file);
  return {
    ownership: createOwnership(database, new BeatFile(file.path, now)),
    runs: createRunLedger(database),
    pushes: createPushStore(database),
    cleanupPlans: createCleanupPlans(database),
    deletions: createDeletionLedger(database),
    profiles: createProfileStore(database),
    schedules: createScheduleStore(database),
    retention: createRetention(database),
    order: createStorageOrder(file),
    feed: createFeedLedger(database, 'feed_month'),
    holds: createHolds(database),
  };
}
