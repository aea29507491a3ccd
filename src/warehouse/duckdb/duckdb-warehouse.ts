import { noPresence } from '../../core/run/warehouse-queue.ts';
import { existsSync, statSync } from 'node:fs';
import type { WarehouseHandle, WarehouseDescription } from '../port/warehouse.ts';
import { countOf, type SqlSession, oneRow } from '../sql/session.ts';
import { monthlyProduction, readRateBasis } from '../sql/daily/months.ts';
import { describeZone, noZone } from '../sql/daily/rezone.ts';
import { createLedger, createStores } from '../sql/stores.ts';
import { dailyEngineOf } from './daily/daily-engine.ts';
import { createStorageOrder, measureOrder } from './daily/table-order.ts';
import { createFeedTables } from './feed-copy.ts';
import { type DatabaseFile, type HandleSettings, shareDatabaseFile } from './file/database-file.ts';
import { version } from './file/engine.ts';
import { copyFiles, type FileSettings, isSameFile } from './file/open-file.ts';
import { createBeatFile } from './beat-file.ts';
import { copyQuery, runQuery } from './query.ts';
import { firstVersion } from '../sql/schema.ts';
import { readKnownVersion, schemaVersion } from './schema.ts';

export type DuckdbSettings = FileSettings & HandleSettings;

/**
 * Creates the handle. Opens nothing before the first call. Several handles of one path in a process share one open
 * file.
 */
export function createDuckdbWarehouse(settings: DuckdbSettings): WarehouseHandle {
  const file = shareDatabaseFile(settings);
  const { location, path } = file;
  const beat = createBeatFile(path, settings.now);
  return {
    ...createStores(file, dailyEngineOf(file)),
    ledger: createLedger(file, { beat, presence: noPresence, order: createStorageOrder(file), marks: 'feed_month' }),
    location,
    feedTables: createFeedTables(file),
    describe: async () => {
      const described = await file.read((session) => describeFile(session, location));
      return { location, bytes: statSync(path).size, ...described };
    },
    copyTo: (target) => file.read(() => copyFiles(path, target)),
    foldLog: () => file.foldLog(),
    isAt: (other) => isSameFile(path, other),
    requireStored: () => file.requireStored(),
    isStored: async () => existsSync(path),
    check: () => file.transact(check),
    tryMaking: () => Promise.resolve(),
    tryWriting: () => tryWriting(file),
    query: (sql, use, signal) =>
      file.read(async (session) => {
        await readKnownVersion(session, location);
        return runQuery(session.connection, sql, use, signal);
      }),
    copyQuery: (sql, target, signal) =>
      file.read(async (session) => {
        await readKnownVersion(session, location);
        return copyQuery(session.connection, sql, target, signal);
      }),
    close: () => file.release(),
  };
}

async function check(session: SqlSession): ReturnType<WarehouseHandle['check']> {
  const dailyProductionRows = await countOf(session, 'daily_production');
  return { engine: `DuckDB ${version()}`, schemaVersion, dailyProductionRows };
}

/** The error rolls the transaction back. */
async function tryWriting(file: DatabaseFile): Promise<void> {
  const rolledBack = new Error('written, and rolled back');
  try {
    await file.transact(async (session) => {
      await session.run('CREATE TABLE internal.written_on_trial AS SELECT range AS n FROM range(10000)');
      throw rolledBack;
    });
  } catch (error) {
    if (error !== rolledBack) throw error;
  }
}

// What a file holds, for operators.

/** What a DuckDB file holds, of any schema version from the first on or the one that a copy takes over: read only. */
async function describeFile(
  session: SqlSession,
  location: string,
): Promise<Omit<WarehouseDescription, 'location' | 'bytes'>> {
  const storedVersion = await readKnownVersion(session, location);
  const tables = await readTables(session);
  const hasDays = tables.some(({ name }) => name === 'daily_production');
  const days = hasDays ? await readDays(session) : noDays;
  const isEmpty = storedVersion === 0;
  const isWhole = storedVersion >= firstVersion;
  const identity = isEmpty ? noIdentity : await readIdentity(session);
  const order = isEmpty ? null : await measureOrder(session);
  return {
    schemaVersion: storedVersion,
    isCurrent: storedVersion === schemaVersion,
    ...identity,
    rateBasis: isWhole ? await readRateBasis(session) : null,
    ...(isWhole ? await describeZone(session) : noZone),
    ...days,
    order,
    tables,
  };
}

type Described<Name extends keyof WarehouseDescription> = Pick<WarehouseDescription, Name>;

const noDays: Described<'oldestDay' | 'newestDay'> = { oldestDay: null, newestDay: null };
const noIdentity: Described<'warehouseId' | 'service' | 'historyHorizonMs'> = {
  warehouseId: null,
  service: null,
  historyHorizonMs: null,
};

function readIdentity(session: SqlSession): Promise<typeof noIdentity> {
  const horizon = 'epoch_ms(history_horizon) AS "historyHorizonMs"';
  return oneRow(session, `SELECT warehouse_id AS "warehouseId", service, ${horizon} FROM warehouse`);
}

function readDays(session: SqlSession): Promise<typeof noDays> {
  const days = 'min(production_day)::VARCHAR AS "oldestDay", max(production_day)::VARCHAR AS "newestDay"';
  return oneRow(session, `SELECT ${days} FROM daily_production`);
}

/** The tables that readers see, views among them, with the number of their rows. Counting months would compute them all. */
async function readTables(session: SqlSession): Promise<WarehouseDescription['tables']> {
  const names = await session.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal
     UNION SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal ORDER BY name`,
  );
  const tables: { name: string; rows: number }[] = [];
  for (const { name } of names.filter(({ name: each }) => each !== monthlyProduction))
    tables.push({ name, rows: await countOf(session, `"${name}"`) });
  return tables;
}
