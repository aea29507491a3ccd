/** Files of a feed, written by the engine: out of its own tables, or out of text that another one wrote. */
import { rm, stat } from 'node:fs/promises';
import type { DuckDBTypeId as TypeId } from '@duckdb/node-api';
import { OutageError, UsageError } from '../../core/base/errors.ts';
import { type FeedKind, feedTables } from '../feed/manifest.ts';
import type { FeedFile, FeedFileContent, FeedTable, FeedTables, ReadFeedFile } from '../port/feed.ts';
import { oneRow, type SqlSession } from '../sql/session.ts';
import { feedSelect, type MonthDays } from '../sql/ledger/feed-ledger.ts';
import type { DatabaseFile } from './file/database-file.ts';
import { DuckDBInstance, DuckDBTypeId, engineText, isDiskTrouble, messageOf } from './file/engine.ts';
import { literal, sessionOf, unitsMetadata } from './file/session.ts';

export function createFeedTables(file: DatabaseFile): FeedTables {
  const dailyRows = ({ from, to }: MonthDays): string =>
    `daily_production t WHERE t.production_day >= DATE '${from}' AND t.production_day < DATE '${to}'`;
  return {
    writeFile: (rows, target) =>
      file.transact((session) => copyTo(session, feedSelect(rows, dailyRows), rows.table, target)),
  };
}

const types: Readonly<Record<FeedKind, { readonly name: string; readonly id: TypeId }>> = {
  string: { name: 'VARCHAR', id: DuckDBTypeId.VARCHAR },
  double: { name: 'DOUBLE', id: DuckDBTypeId.DOUBLE },
  int32: { name: 'INTEGER', id: DuckDBTypeId.INTEGER },
  int64: { name: 'BIGINT', id: DuckDBTypeId.BIGINT },
  boolean: { name: 'BOOLEAN', id: DuckDBTypeId.BOOLEAN },
  instant: { name: 'TIMESTAMPTZ', id: DuckDBTypeId.TIMESTAMP_TZ },
  day: { name: 'DATE', id: DuckDBTypeId.DATE },
};

/** A row group is held in memory until it is written: bodies of wells are long (G8). Multiples of a vector. */
const rowsInGroup = (table: FeedTable): number => (table === 'well' ? 2_048 : 30 * 2_048);

/** Writes the rows of a statement with the columns of the table. Throws OutageError if the disk of the file is full. */
async function copyTo(
  session: SqlSession,
  select: string,
  table: FeedTable,
  { path, format, units }: FeedFile,
): Promise<void> {
  const options =
    format === 'csv'
      ? 'FORMAT csv, HEADER'
      : `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowsInGroup(table)}${unitsMetadata(units)}`;
  const shown = format === 'csv' ? `SELECT ${csvColumns(table)} FROM (${select})` : select;
  try {
    await session.run(`COPY (${shown}) TO ${literal(path)} (${options}, USE_TMP_FILE false)`);
  } catch (error) {
    throw isDiskTrouble(error) ? diskOutage(error, path) : error;
  }
}

function diskOutage(cause: unknown, path: string): OutageError {
  return new OutageError('disk', 'file-trouble', `${path} cannot be written: ${messageOf(cause)}`, {
    hint: 'Make room, or repair the disk: the work goes on then.',
    cause,
  });
}

function csvColumns(table: FeedTable): string {
  return feedTables[table].columns
    .map(({ name, kind }) => `${engineText(name, types[kind].id, 'csv')} AS ${name}`)
    .join(', ');
}

/** Far less than the engine's own default, 32 million bytes: it is taken whatever the size of the file (G8). */
const leastBuffer = 8_000_000;

/**
 * SQL of the rows of a CSV file with the columns of the table, in their order. An empty cell is null, and `""` the empty
 * text. `longestLine`: in bytes.
 */
function csvRows(
  table: FeedTable,
  path: string,
  { hasHeader, longestLine }: { readonly hasHeader: boolean; readonly longestLine: number },
): string {
  const columns = feedTables[table].columns.map(({ name, kind }) => `'${name}': '${types[kind].name}'`);
  const form = `auto_detect = false, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false`;
  const bounds = `parallel = false, max_line_size = ${longestLine}, buffer_size = ${Math.max(longestLine, leastBuffer)}`;
  return `read_csv(${literal(path)}, header = ${hasHeader}, columns = {${columns.join(', ')}}, ${form}, ${bounds})`;
}

// Files of a feed in an engine of their own, without a database: read back, and made of text.

/** Beside the engine of a warehouse in a file (G8): what is sorted comes sorted, so that one row group is held at a time. */
const memoryLimitMb = 64;

/** `spilled`: a folder for what does not fit; empty where the work must fit. */
async function inEngine<T>(spilled: string, work: (session: SqlSession) => Promise<T>): Promise<T> {
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
    const result = await work(sessionOf(connection));
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
  inEngine('', async (session) => {
    try {
      return await contentOf(session, table, await rowsIn(table, file));
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
async function contentOf(session: SqlSession, table: FeedTable, rows: string): Promise<FeedFileContent> {
  const { columns, written, unsummed } = feedTables[table];
  const summed = columns.filter(({ name }) => !unsummed.includes(name));
  // Signs that no value has: a null is no empty text, and no value runs into the next one.
  const values = summed.map(({ name }) => `coalesce(CAST(${name} AS VARCHAR), chr(30))`);
  const run = written === undefined ? 'NULL' : `arg_max(${written.run}, ${written.at})`;
  const content = await oneRow<{ rows: number; sum: string; run: string | null }>(
    session,
    `SELECT count(*) AS rows, CAST(coalesce(sum(md5_number_lower(concat_ws(chr(31), ${values.join(', ')}))), 0) AS VARCHAR) AS sum,
       CAST(${run} AS VARCHAR) AS run FROM ${rows}`,
  );
  const checksum = BigInt(content.sum)
    .toString(16)
    .padStart(2 * bytes, '0');
  return { rows: content.rows, checksum, run: content.run };
}

/** Makes a file of a feed out of text with its rows, in their order: CSV without a header. */
export async function convertCsv(
  table: FeedTable,
  csv: { readonly path: string; readonly longestLine: number },
  target: FeedFile,
): Promise<void> {
  const longestLine = Math.max(usualLine, csv.longestLine);
  const select = `SELECT * FROM ${csvRows(table, csv.path, { hasHeader: false, longestLine })}`;
  await inEngine(`${target.path}.tmp`, (session) => copyTo(session, select, table, target));
}
