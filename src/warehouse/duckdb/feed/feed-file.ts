/** Files of a feed in an engine of their own, without a database: read back, and made of text. */
import { rm, stat } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { UsageError } from '../../../core/base/errors.ts';
import { feedTables } from '../../feed/tables.ts';
import type { FeedFile, FeedFileContent, FeedTable, ReadFeedFile } from '../../port/feed.ts';
import { messageOf } from '../file/engine-fault.ts';
import { DuckDBInstance } from '../file/engine.ts';
import { literal, readRows } from '../file/sql.ts';
import { copyTo, csvRows } from './feed-copy.ts';

/** Beside the engine of a warehouse in a file (G8): what is sorted comes sorted, so that one row group is held at a time. */
const memoryLimitMb = 64;

/** `spilled`: a folder for what does not fit; empty where the work must fit. */
async function inEngine<T>(spilled: string, work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${memoryLimitMb}MB`,
    threads: '1',
    temp_directory: spilled,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
  });
  try {
    const connection = await instance.connect();
    await connection.run("SET GLOBAL TimeZone = 'UTC'");
    const result = await work(connection);
    connection.closeSync();
    return result;
  } finally {
    instance.closeSync();
    if (spilled !== '') await rm(spilled, { recursive: true, force: true });
  }
}

/** In bytes. The body of a well makes a longer one. */
const usualLine = 2_000_000;
const mostLine = 32_000_000;

export const readFeedFile: ReadFeedFile = (table, file) =>
  inEngine('', async (connection) => {
    try {
      return await contentOf(connection, table, await rowsIn(table, file));
    } catch (error) {
      throw new UsageError(`it cannot be read: ${messageOf(error)}`, { cause: error });
    }
  });

async function rowsIn(table: FeedTable, { path, format }: FeedFile): Promise<string> {
  if (format === 'parquet') return `read_parquet(${literal(path)})`;
  const { size } = await stat(path);
  const longestLine = table === 'well' ? Math.min(Math.max(usualLine, size), mostLine) : usualLine;
  return csvRows(table, path, { hasHeader: true, longestLine });
}

const bytes = 16;

/** The sum of half of the MD5 of each row's values as text. */
async function contentOf(connection: DuckDBConnection, table: FeedTable, rows: string): Promise<FeedFileContent> {
  const { columns, written, unsummed } = feedTables[table];
  const summed = columns.filter(({ name }) => !unsummed.includes(name));
  // Signs that no value has: a null is no empty text, and no value runs into the next one.
  const values = summed.map(({ name }) => `coalesce(CAST(${name} AS VARCHAR), chr(30))`);
  const run = written === undefined ? 'NULL' : `arg_max(${written.run}, ${written.at})`;
  const [row] = await readRows<{ rows: number; sum: string; run: string | null }>(
    connection,
    `SELECT count(*) AS rows, CAST(coalesce(sum(md5_number_lower(concat_ws(chr(31), ${values.join(', ')}))), 0) AS VARCHAR) AS sum,
       CAST(${run} AS VARCHAR) AS run FROM ${rows}`,
  );
  const checksum = BigInt(row?.sum ?? 0)
    .toString(16)
    .padStart(2 * bytes, '0');
  return { rows: row?.rows ?? 0, checksum, run: row?.run ?? null };
}

/** Makes a file of a feed out of text with its rows, in their order: CSV without a header. */
export async function convertCsv(
  table: FeedTable,
  csv: { readonly path: string; readonly longestLine: number },
  target: FeedFile,
): Promise<void> {
  const longestLine = Math.max(usualLine, csv.longestLine);
  const select = `SELECT * FROM ${csvRows(table, csv.path, { hasHeader: false, longestLine })}`;
  await inEngine(`${target.path}.tmp`, (connection) => copyTo(connection, select, table, target));
}
