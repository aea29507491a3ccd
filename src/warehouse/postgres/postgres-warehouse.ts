/** A warehouse in PostgreSQL, for many hosts and many readers (docs/design.md section 7). */
import { UnreachableError, UsageError } from '../../core/base/errors.ts';
import type { StorageOrder } from '../port/daily-production.ts';
import type { WarehouseDescription, WarehouseHandle } from '../port/warehouse.ts';
import { monthlyProduction, readRateBasis } from '../sql/daily/months.ts';
import { describeZone, noZone } from '../sql/daily/rezone.ts';
import { createLedger, createStores } from '../sql/stores.ts';
import { countOf, epochMs, oneRow, type SqlSession } from '../sql/session.ts';
import { dailyEngineOf } from './daily-engine.ts';
import { createBeatRow, createPresence } from './presence.ts';
import { copyQuery, runQuery } from './query.ts';
import { firstVersion } from '../sql/schema.ts';
import { migrate, readKnownVersion, schemaVersion as currentVersion } from './schema.ts';
import { PostgresDatabase, type PostgresSession, type PostgresSettings } from './server/postgres-database.ts';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { onDisk } from '../../core/base/file-fault.ts';
import type { FeedRows, FeedTables } from '../port/feed.ts';
import { conflictOfRecord, counts } from '../sql/daily/row-fields.ts';
import { feedSelect, type MonthDays } from '../sql/ledger/feed-ledger.ts';

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
  const order = createStorageOrder(database);
  return {
    ...createStores(database, dailyEngineOf(database)),
    ledger: createLedger(database, {
      beat: createBeatRow(database),
      presence: createPresence(database),
      order,
      marks: 'internal.feed_touch',
    }),
    location,
    feedTables: createFeedTables(database),
    describe: () =>
      database.read(async (session) => {
        await refuseHalfCopy(session, location);
        return describeWarehouse(session, location);
      }),
    copyTo: () =>
      Promise.reject(
        new UsageError('a warehouse in PostgreSQL is copied by PostgreSQL itself', {
          hint: `Run pg_dump on ${location}.`,
        }),
      ),
    foldLog: () => Promise.resolve(),
    isAt: () => false,
    requireStored: () => {
      isRequired = true;
    },
    isStored: () => database.read(async (session) => (await readKnownVersion(session, location)) > 0),
    check: () => database.transact(check),
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
    close: () => database.close(),
  };
}

async function check(session: SqlSession): ReturnType<WarehouseHandle['check']> {
  const version = `SELECT current_setting('server_version') AS version`;
  const engine = `PostgreSQL ${(await oneRow<{ version: string }>(session, version)).version}`;
  const dailyProductionRows = await countOf(session, 'internal.daily_production');
  return { engine, schemaVersion: currentVersion, dailyProductionRows };
}

async function requireWarehouse(session: PostgresSession, location: string): Promise<void> {
  await refuseHalfCopy(session, location);
  if ((await readKnownVersion(session, location)) === 0) throw noWarehouse(location);
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

/** Rows are found by indexes, whatever their place: nothing is to be put in order. */
function createStorageOrder(database: PostgresDatabase): StorageOrder {
  const noTail = { tailNights: 0, isUnderWay: false };
  return {
    tail: () => Promise.resolve(noTail),
    measure: () =>
      database.transact(async (session) => {
        const size = 'SELECT count(*) AS rows, count(DISTINCT well_id) AS wells FROM internal.daily_production';
        return { ...(await oneRow<{ rows: number; wells: number }>(session, size)), looseRows: 0, ...noTail };
      }),
    step: () => Promise.resolve(undefined),
  };
}

// A database that a copy has not filled to its end: it looks like a warehouse, and lacks rows (G1, G11).

/**
 * The table with how far a copy came (../copy.ts), which is dropped when all tables are equal; by the catalog, which a
 * role without rights on the schema `internal` reads as well.
 */
const isThere = `SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'internal' AND c.relname = 'copied_table'`;

/** Throws UnreachableError while a copy into the database is unfinished. */
async function refuseHalfCopy(session: SqlSession, location: string): Promise<void> {
  if ((await session.rows(isThere)).length === 0) return;
  throw new UnreachableError('warehouse', `a copy into ${location} is unfinished: it is no warehouse yet`, {
    hint: 'Run the same wellsync warehouse copy again, which goes on where it was; or copy to a new database.',
  });
}

// What a PostgreSQL warehouse holds: read only, so that nothing is migrated.

/** Throws UnreachableError if the database has no tables of a warehouse yet. */
async function describeWarehouse(session: SqlSession, location: string): Promise<WarehouseDescription> {
  const schemaVersion = await readKnownVersion(session, location);
  if (schemaVersion === 0) throw noWarehouse(location);
  const row = await oneRow<
    Omit<WarehouseDescription, 'location' | 'isCurrent' | 'rateBasis' | 'timeZone' | 'rezoneTo' | 'order' | 'tables'>
  >(
    session,
    `SELECT pg_database_size(current_database()) AS bytes, ${schemaVersion} AS "schemaVersion",
       warehouse_id AS "warehouseId", service, ${epochMs('history_horizon')} AS "historyHorizonMs",
       (SELECT min(production_day) FROM internal.daily_production) AS "oldestDay",
       (SELECT max(production_day) FROM internal.daily_production) AS "newestDay"
     FROM warehouse`,
  );
  const isCurrent = schemaVersion === currentVersion;
  const isWhole = schemaVersion >= firstVersion;
  const rateBasis = isWhole ? await readRateBasis(session) : null;
  const zone = isWhole ? await describeZone(session) : noZone;
  return { ...row, location, isCurrent, rateBasis, ...zone, order: null, tables: await readTables(session) };
}

/** For a command that only reads a database in which no job has written yet. */
function noWarehouse(location: string): UnreachableError {
  return new UnreachableError('warehouse', `there is no warehouse in ${location} yet`, {
    hint: 'If it is in another database, set WELLSYNC_WAREHOUSE to it.',
    action: { kind: 'first-export' },
  });
}

/** The tables that readers see, views among them, with the number of their rows. Counting months would compute them all. */
async function readTables(session: SqlSession): Promise<WarehouseDescription['tables']> {
  const names = await session.rows<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name COLLATE "C"`,
  );
  const tables: Array<{ readonly name: string; readonly rows: number }> = [];
  for (const { name } of names.filter(({ name: each }) => each !== monthlyProduction))
    tables.push({ name, rows: await countOf(session, `"${name.replaceAll('"', '""')}"`) });
  return tables;
}

// Files of a feed out of PostgreSQL. The server sends its rows as CSV, in order, into a file beside the one that is to be
// written; DuckDB's engine makes a file of the feed of it.

function createFeedTables(database: PostgresDatabase): FeedTables {
  return {
    async writeFile(rows, target) {
      const csv = `${target.path}.csv`;
      try {
        const longestLine = await database.transact((session) => writeCsv(session, rows, csv));
        const { convertCsv } = await import('../duckdb/feed-copy.ts');
        await convertCsv(rows.table, { path: csv, longestLine }, target);
      } finally {
        await rm(csv, { force: true });
      }
    },
  };
}

/** Returns a bound of the length of a line, in bytes; 0 where lines are short. */
async function writeCsv(session: PostgresSession, rows: FeedRows, path: string): Promise<number> {
  const sql = `COPY (${feedSelect(rows, dailyRows)}) TO STDOUT (FORMAT csv)`;
  await onDisk(path, () => session.copyOut(sql, createWriteStream(path)));
  if (rows.table !== 'well') return 0;
  const [row] = await session.rows<{ longest: number }>(
    'SELECT CAST(coalesce(max(octet_length(body)), 0) AS BIGINT) AS longest FROM well',
  );
  // Each quote within a cell is doubled.
  return 2 * (row?.longest ?? 0) + otherCells;
}

const otherCells = 100_000;

/**
 * The day of a row in its zone is at most one from its day in UTC. Each well is looked up by its key: an index by day would
 * be written with every row, and read once a night.
 */
const dailyRows = ({ from, to }: MonthDays): string => `well_key k CROSS JOIN LATERAL (
  SELECT k.uwi, d.*, ${counts} FROM internal.daily_production d
    ${conflictOfRecord}
  WHERE d.well_id = k.well_id AND d.date >= TIMESTAMPTZ '${from}' - INTERVAL '2 days'
    AND d.date < TIMESTAMPTZ '${to}' + INTERVAL '2 days'
    AND d.production_day >= DATE '${from}' AND d.production_day < DATE '${to}' OFFSET 0) t`;
