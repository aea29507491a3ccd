/** Moves a warehouse to a new one: to the other engine, or from a schema of before the first release. */
import { existsSync, renameSync } from 'node:fs';
import { UnreachableError, UsageError } from '../core/base/errors.ts';
import { beatTimes } from '../core/run/warehouse-queue.ts';
import { duckdbPath, postgresSettings, type WarehouseSettings } from './create-warehouse.ts';
import { shareDatabaseFile } from './duckdb/file/database-file.ts';
import { readKnownVersion as readFileVersion } from './duckdb/schema.ts';
import { createBeatFile } from './duckdb/beat-file.ts';
import { readBeatAgeMs } from './postgres/presence.ts';
import { isPostgresAddress } from './postgres/server/connections.ts';
import { PostgresDatabase } from './postgres/server/postgres-database.ts';
import { migrate, readKnownVersion as readDatabaseVersion } from './postgres/schema.ts';
import type { SqlSession } from './sql/session.ts';
import { type CopiedRows, copyTables, type CopyTarget, type CopyWatch, endedByOther } from './copy.ts';

/** Addresses as `createWarehouse` takes them. */
export interface CopyEnds {
  readonly from: string;
  readonly to: string;
}

/**
 * Copies all tables, and compares them. The target becomes a warehouse with the id of the source, which stays as it is.
 * Throws UsageError if a database would be copied to a file, if workers work on the source, if the target is not empty, or
 * if the two differ in the end; AbortedError if it was stopped.
 */
export async function copyWarehouse(
  { from, to }: CopyEnds,
  settings: WarehouseSettings,
  watch: CopyWatch,
): Promise<readonly CopiedRows[]> {
  if (isPostgresAddress(from) && !isPostgresAddress(to)) {
    throw new UsageError('a warehouse in PostgreSQL is copied to PostgreSQL alone', {
      hint: 'Write postgres://USER@HOST:PORT/DATABASE, an empty database.',
    });
  }
  if (!isPostgresAddress(to) && duckdbPath(from) === halfOf(duckdbPath(to))) {
    throw new UsageError(`${from} is what an earlier copy to ${to} left`, {
      hint: 'Copy from the warehouse that it was copied from: the copy goes on.',
    });
  }
  await using source = isPostgresAddress(from) ? databaseToCopy(from, settings) : fileToCopy(from, settings);
  await source.requireIdle();
  await using target = isPostgresAddress(to) ? newDatabase(to, settings) : newFile(to, settings);
  const copied = await source.copyTo(target, watch);
  await target.finish();
  return copied;
}

interface OpenSource extends AsyncDisposable {
  /**
   * Throws UnreachableError if there is no warehouse that can be copied, and UsageError if workers work on it: rows that are
   * written meanwhile would be left out.
   */
  requireIdle(): Promise<void>;
  /** A file stays open meanwhile: it is opened once, and nobody writes to it. */
  copyTo(target: CopyTarget, watch: CopyWatch): Promise<readonly CopiedRows[]>;
}

interface OpenTarget extends CopyTarget, AsyncDisposable {
  /** Gives the copy its name, once it is whole. */
  finish(): Promise<void>;
}

function fileToCopy(from: string, settings: WarehouseSettings): OpenSource {
  const file = shareDatabaseFile({ ...settings, path: duckdbPath(from) });
  return {
    requireIdle: async () => {
      file.requireStored();
      const version = await file.read((session) => readFileVersion(session, file.location));
      requireWarehouse(version, file.location);
      refuseWorked(file.location, await createBeatFile(file.path, settings.now).ageMs());
      // Else the copy would read the log into memory with the file.
      await file.foldLog();
    },
    copyTo: (target, watch) =>
      file.read(async (session) => {
        // From here on nobody can claim it.
        refuseWorked(file.location, await createBeatFile(file.path, settings.now).ageMs());
        return copyTables({ engine: 'duckdb', read: (work) => work(session) }, target, watch);
      }),
    [Symbol.asyncDispose]: () => file.release(),
  };
}

function databaseToCopy(from: string, settings: WarehouseSettings): OpenSource {
  const { address, ...connection } = postgresSettings(from, settings);
  const database = new PostgresDatabase({ ...connection, address, prepare: () => Promise.resolve() });
  return {
    requireIdle: async () => {
      const beatAgeMs = await database.read(async (session) => {
        requireWarehouse(await readDatabaseVersion(session, address.location), address.location);
        return readBeatAgeMs(session);
      });
      refuseWorked(address.location, beatAgeMs);
    },
    copyTo: (target, watch) => copyTables({ engine: 'postgres', read: (work) => database.read(work) }, target, watch),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

/** `version`: of its schema; 0 for none. */
function requireWarehouse(version: number, location: string): void {
  if (version > 0) return;
  throw new UnreachableError('warehouse', `there is no warehouse in ${location}`, {
    hint: 'Check the address to copy from.',
  });
}

function refuseWorked(location: string, beatAgeMs: number | undefined): void {
  if (beatAgeMs === undefined || beatAgeMs >= beatTimes.staleAfterMs) return;
  throw new UsageError(`workers work on ${location}: nothing was copied`, {
    hint: 'Stop them, and start them again with WELLSYNC_WAREHOUSE set to the copy. One that was killed counts for 45 s at most.',
  });
}

/** The name of a copy until it is whole: half a copy is no warehouse. */
function halfOf(path: string): string {
  return `${path}.copying`;
}

function newFile(to: string, settings: WarehouseSettings): OpenTarget {
  const path = duckdbPath(to);
  const refuseTaken = (): void => {
    const taken = [path, `${path}.wal`].find((name) => existsSync(name));
    if (taken === undefined) return;
    throw new UsageError(`there is a file ${taken} already`, {
      hint: 'Name another file. Where a copy to it was killed, it may be that copy, whole: see wellsync warehouse info.',
    });
  };
  refuseTaken();
  const half = halfOf(path);
  const file = shareDatabaseFile({ ...settings, path: half });
  return {
    engine: 'duckdb',
    database: file,
    finish: async () => {
      // The engine would make a new file.
      if (!existsSync(half)) throw endedByOther('the same file');
      await file.foldLog();
      await file.release();
      refuseTaken();
      renameSync(half, path);
    },
    [Symbol.asyncDispose]: () => file.release(),
  };
}

function newDatabase(to: string, settings: WarehouseSettings): OpenTarget {
  const { address, ...connection } = postgresSettings(to, settings);
  const prepare = (session: SqlSession): Promise<void> => migrate(session, address.location);
  const database = new PostgresDatabase({ ...connection, address, prepare });
  return {
    engine: 'postgres',
    database,
    finish: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => database.close(),
  };
}
