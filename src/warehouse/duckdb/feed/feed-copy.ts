/** Files of a feed, written by the engine: out of its own tables, or out of text that another one wrote. */
import type { DuckDBConnection, DuckDBTypeId as TypeId } from '@duckdb/node-api';
import { OutageError } from '../../../core/base/errors.ts';
import { type FeedKind, feedTables } from '../../feed/tables.ts';
import type { FeedFile, FeedTable, FeedTables } from '../../port/feed.ts';
import { feedSelect } from '../../sql/feed/feed-select.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { isDiskTrouble, messageOf } from '../file/engine-fault.ts';
import { DuckDBTypeId } from '../file/engine.ts';
import { engineText } from '../query/engine-text.ts';
import { literal } from '../file/sql.ts';

export function createFeedTables(file: DatabaseFile): FeedTables {
  const dailyRows = ({ from, to }: { readonly from: string; readonly to: string }): string =>
    `internal.daily_production t WHERE t.production_day >= DATE '${from}' AND t.production_day < DATE '${to}'`;
  return {
    writeFile: (rows, target) =>
      file.transact((connection) => copyTo(connection, feedSelect(rows, dailyRows), rows.table, target)),
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
export async function copyTo(
  connection: DuckDBConnection,
  select: string,
  table: FeedTable,
  { path, format }: FeedFile,
): Promise<void> {
  const options =
    format === 'csv' ? 'FORMAT csv, HEADER' : `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowsInGroup(table)}`;
  const shown = format === 'csv' ? `SELECT ${csvColumns(table)} FROM (${select})` : select;
  try {
    await connection.run(`COPY (${shown}) TO ${literal(path)} (${options}, USE_TMP_FILE false)`);
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
export function csvRows(
  table: FeedTable,
  path: string,
  { hasHeader, longestLine }: { readonly hasHeader: boolean; readonly longestLine: number },
): string {
  const columns = feedTables[table].columns.map(({ name, kind }) => `'${name}': '${types[kind].name}'`);
  const form = `auto_detect = false, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false`;
  const bounds = `parallel = false, max_line_size = ${longestLine}, buffer_size = ${Math.max(longestLine, leastBuffer)}`;
  return `read_csv(${literal(path)}, header = ${hasHeader}, columns = {${columns.join(', ')}}, ${form}, ${bounds})`;
}
