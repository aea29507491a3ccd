import { existsSync, statSync } from 'node:fs';
import type { WarehouseHandle } from '../port/warehouse.ts';
import { countOf, type SqlSession } from '../sql/session.ts';
import { createLedger, createStores } from '../sql/stores.ts';
import { dailyEngineOf } from './daily/daily-engine.ts';
import { createStorageOrder } from './daily/table-order.ts';
import { describeFile } from './describe-file.ts';
import { createFeedTables } from './feed-copy.ts';
import { type DatabaseFile, type HandleSettings, shareDatabaseFile } from './file/database-file.ts';
import { version } from './file/engine.ts';
import { copyFiles, type FileSettings, isSameFile } from './file/open-file.ts';
import { createBeatFile } from './beat-file.ts';
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
  const { location, path } = file;
  const beat = createBeatFile(path, settings.now);
  return {
    ...createStores(file, dailyEngineOf(file)),
    ledger: createLedger(file, { beat, order: createStorageOrder(file), marks: 'feed_month' }),
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
