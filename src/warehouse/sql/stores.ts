/** The stores that are written once for both engines, with what an engine gives them. */
import type { StorageOrder } from '../port/daily-production.ts';
import type { Presence } from '../../core/run/warehouse-queue.ts';
import type { Ledger, Warehouse } from '../port/warehouse.ts';
import { createCheckStore } from './daily/check-commit.ts';
import { createCoverageStore } from './daily/coverage-survey.ts';
import { createDailyProductionStore, type DailyEngine } from './daily/daily-production-store.ts';
import { createMonthStore } from './daily/months.ts';
import { createReadOrder } from './daily/read-order.ts';
import { createRecordStore, createWellStore } from './daily/record-stores.ts';
import { createZoneStore } from './daily/rezone.ts';
import { createAlertStore } from './alerts/alert-store.ts';
import { createCleanupPlans } from './ledger/cleanup-plans.ts';
import { createDeletionLedger } from './ledger/deletion-ledger.ts';
import { createFeedLedger } from './ledger/feed-ledger.ts';
import { createHolds } from './ledger/holds.ts';
import { type Beat, createOwnership, createQueueStateStore } from './ledger/ownership-store.ts';
import { createProfileStore } from './ledger/service-claim.ts';
import { createPushStore } from './ledger/push-store.ts';
import { createRetention } from './ledger/retention-store.ts';
import { createRunLedger } from './ledger/run-ledger.ts';
import { createScheduleStore } from './ledger/schedule-store.ts';
import type { SqlDatabase } from './session.ts';

type Stores = Pick<
  Warehouse,
  'open' | 'readOrder' | 'dailyProduction' | 'zones' | 'months' | 'coverage' | 'checks' | 'records' | 'wells'
>;

/** Whoever may not read the rows is told before any work. Not their number, which a server finds by reading them all. */
const anyRow = 'SELECT 1 FROM internal.daily_production LIMIT 1';

export function createStores(database: SqlDatabase, engine: DailyEngine): Stores {
  return {
    open: () => database.transact(async (session) => void (await session.rows(anyRow))),
    readOrder: createReadOrder(database),
    dailyProduction: createDailyProductionStore(database, engine),
    zones: createZoneStore(database, engine),
    months: createMonthStore(database),
    coverage: createCoverageStore(database),
    checks: createCheckStore(database, engine),
    records: (list) => createRecordStore(database, list),
    wells: createWellStore(database),
  };
}

interface LedgerParts {
  readonly beat: Beat;
  readonly presence: Presence;
  readonly order: StorageOrder;
  /** The table with the marks of months for a feed. */
  readonly marks: string;
}

export function createLedger(database: SqlDatabase, { beat, presence, order, marks }: LedgerParts): Ledger {
  return {
    presence,
    ownership: createOwnership(database, beat),
    runs: createRunLedger(database),
    pushes: createPushStore(database),
    cleanupPlans: createCleanupPlans(database),
    deletions: createDeletionLedger(database),
    profiles: createProfileStore(database),
    schedules: createScheduleStore(database),
    retention: createRetention(database),
    order,
    feed: createFeedLedger(database, marks),
    holds: createHolds(database),
    alerts: createAlertStore(database),
    queueState: createQueueStateStore(database),
  };
}
