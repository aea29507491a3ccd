/** A warehouse in PostgreSQL, for many hosts and many readers (docs/design.md section 7). */
import { UsageError } from '../../core/base/errors.ts';
import type { Ledger, Warehouse, WarehouseHandle } from '../port/warehouse.ts';
import type { StorageOrder } from '../port/table-order.ts';
import { createCleanupPlans } from '../sql/cleanup/cleanup-plans.ts';
import { createDeletionLedger } from '../sql/cleanup/deletion-ledger.ts';
import { createCoverageStore } from '../sql/coverage/coverage-store.ts';
import { createTimeSeriesStore } from '../sql/definitions/time-series-store.ts';
import { createWellStore } from '../sql/definitions/well-store.ts';
import { createFeedLedger } from '../sql/feed/feed-ledger.ts';
import { createOwnership } from '../sql/ownership/ownership-store.ts';
import { createPushStore } from '../sql/pushes/push-store.ts';
import { createRetention } from '../sql/retention/retention-store.ts';
import { createProfileStore } from '../sql/runs/profile-store.ts';
import { createScheduleStore } from '../sql/schedules/schedule-store.ts';
import { createHolds } from '../sql/runs/holds.ts';
import { createReadOrder } from '../sql/reads/read-order.ts';
import { createRunLedger } from '../sql/runs/run-ledger.ts';
import { createDailyProductionStore } from './daily/daily-production-store.ts';
import { createFeedTables } from './feed/feed-copy.ts';
import { refuseHalfCopy } from './half-copy.ts';
import { describeWarehouse, noWarehouse } from './describe-warehouse.ts';
import { BeatRow } from './ownership/beat-row.ts';
import { copyQuery } from './query/copy.ts';
import { runQuery } from './query/query.ts';
import { migrate, readKnownVersion, schemaVersion } from './schema/migrations.ts';
import { PostgresDatabase, type PostgresSettings } from './server/postgres-database.ts';
import type { PostgresSession } from './server/postgres-session.ts';

export type PostgresWarehouseSettings = Omit<PostgresSettings, 'prepare'>;

/** Creates the handle. Connects with the first call. */
export function createPostgresWarehouse(settings: PostgresWarehouseSettings): WarehouseHandle {
  const { location } = settings.address;
  let isRequired = false;
  const prepare = async (session: PostgresSession): Promise<void> => {
    if (isRequired) await requireWarehouse(session, location);
    else await refuseHalfCopy(session, location);
    await migrate(session, location);
  };
  const database = new PostgresDatabase({ ...settings, prepare });
  const requireStored = (): void => {
    isRequired = true;
  };
  return { ...warehouseOf(database), requireStored, ledger: ledgerOf(database), close: () => database.close() };
}

function warehouseOf(database: PostgresDatabase): Omit<Warehouse, 'requireStored'> {
  const { location } = database.address;
  return {
    location,
    readOrder: createReadOrder(database),
    dailyProduction: createDailyProductionStore(database),
    coverage: createCoverageStore(database),
    timeSeries: createTimeSeriesStore(database),
    wells: createWellStore(database),
    feedTables: createFeedTables(database),
    describe: () =>
      database.read(async (session) => {
        await refuseHalfCopy(session, location);
        return describeWarehouse(session, location);
      }),
    copyTo: () => Promise.reject(noFile('is copied by PostgreSQL itself', `Run pg_dump on ${location}.`)),
    foldLog: () => Promise.resolve(),
    isAt: () => false,
    isStored: () => database.read(async (session) => (await readKnownVersion(session, location)) > 0),
    check: () =>
      database.transact(async (session) => {
        const [row] = await session.rows<{ version: string; rows: number }>(
          `SELECT current_setting('server_version') AS version, (SELECT count(*) FROM internal.daily_production) AS rows`,
        );
        return { engine: `PostgreSQL ${row?.version ?? ''}`, schemaVersion, dailyProductionRows: row?.rows ?? 0 };
      }),
    tryMaking: () => database.onTrial((session) => makeOnTrial(session, location)),
    tryWriting: () => database.onTrial(writeOnTrial),
    query: (sql, use, signal) =>
      database.readOnce(async (session) => {
        await requireWarehouse(session, location);
        return runQuery(database, session, { sql, signal }, use);
      }),
    copyQuery: (sql, target, signal) =>
      database.readOnce(async (session) => {
        await requireWarehouse(session, location);
        return copyQuery(database, session, { sql, signal }, target);
      }),
  };
}

async function requireWarehouse(session: PostgresSession, location: string): Promise<void> {
  await refuseHalfCopy(session, location);
  if ((await readKnownVersion(session, location)) === 0) throw noWarehouse(location);
}

function noFile(what: string, hint: string): UsageError {
  return new UsageError(`a warehouse in PostgreSQL ${what}`, { hint });
}

/** Every merge makes such tables, which takes a right of its own. */
const temporaryTable = 'CREATE TEMP TABLE made_on_trial (n INTEGER) ON COMMIT DROP';

async function makeOnTrial(session: PostgresSession, location: string): Promise<void> {
  await refuseHalfCopy(session, location);
  await migrate(session, location);
  await session.run(temporaryTable);
}

async function writeOnTrial(session: PostgresSession): Promise<void> {
  await session.run(`INSERT INTO run_target VALUES ('written on trial', 0, 'none')`);
  await session.run(temporaryTable);
}

function ledgerOf(database: PostgresDatabase): Ledger {
  return {
    ownership: createOwnership(database, new BeatRow(database)),
    runs: createRunLedger(database),
    pushes: createPushStore(database),
    cleanupPlans: createCleanupPlans(database),
    deletions: createDeletionLedger(database),
    profiles: createProfileStore(database),
    schedules: createScheduleStore(database),
    retention: createRetention(database),
    order: createStorageOrder(database),
    feed: createFeedLedger(database, 'internal.feed_touch'),
    holds: createHolds(database),
  };
}

/** Rows are found by indexes, whatever their place: nothing is to be put in order. */
function createStorageOrder(database: PostgresDatabase): StorageOrder {
  const noTail = { tailNights: 0, isUnderWay: false };
  return {
    tail: () => Promise.resolve(noTail),
    measure: () =>
      database.transact(async (session) => {
        const [row] = await session.rows<{ rows: number; wells: number }>(
          'SELECT count(*) AS rows, count(DISTINCT well_id) AS wells FROM internal.daily_production',
        );
        return { rows: 0, wells: 0, ...row, looseRows: 0, ...noTail };
      }),
    step: () => Promise.resolve(undefined),
  };
}
