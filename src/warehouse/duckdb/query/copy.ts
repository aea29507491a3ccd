/**
 * Writes the rows of an operator's read-only statement to a file. The engine writes it where it can: 700,000 rows of 40
 * columns take it seconds, and a conversion in JavaScript most of a minute.
 */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import { PermanentError } from '../../../core/base/errors.ts';
import { writeReason } from '../../../core/base/file-fault.ts';
import { distinctNames } from '../../../core/base/text.ts';
import type { CopyTarget, QueryResult } from '../../port/query.ts';
import { headOf } from '../../sql/session.ts';
import { messageOf } from '../file/engine.ts';
import { literal, unitsMetadata } from '../file/sql.ts';
import { engineText } from './engine-text.ts';
import { asUsage, interruptible, prepareReading, useRows } from './query.ts';

const options: Readonly<Record<CopyTarget['format'], string>> = {
  csv: 'FORMAT csv, HEADER',
  ndjson: 'FORMAT json',
  parquet: 'FORMAT parquet, COMPRESSION zstd',
};

/**
 * Returns the number of rows. The statement is checked as `runQuery` checks it, and becomes a subquery of one COPY.
 * Throws PermanentError('output') if the file cannot be written.
 */
export async function copyQuery(
  connection: DuckDBConnection,
  sql: string,
  target: CopyTarget,
  signal?: AbortSignal,
): Promise<number> {
  return interruptible(connection, signal, async () => {
    const statement = await asUsage(() => prepareReading(connection, sql, target.path));
    const shown = shownColumns(statement, target);
    if (shown === undefined) return useRows(statement, (result) => writtenRows(result, target));
    statement.destroySync();
    const text = copyText(await withoutEnd(connection, sql), shown, target);
    try {
      return (await connection.run(text)).rowsChanged;
    } catch (error) {
      if (messageOf(error).startsWith('IO Error')) throw unwritable(error);
      return asUsage(() => Promise.reject(error as Error));
    }
  });
}

/** What the engine writes for each column; undefined if it has no form for one of them. Parquet has types of its own. */
function shownColumns(statement: DuckDBPreparedStatement, target: CopyTarget): readonly string[] | undefined {
  const { format } = target;
  const indexes = Array.from({ length: statement.columnCount }, (_, index) => index);
  const names = distinctNames(indexes.map((index) => statement.columnName(index)));
  const shown = names.flatMap((name, index) => {
    const column = `c${index}`;
    const text = format === 'parquet' ? column : engineText(column, statement.columnTypeId(index), format);
    return text === undefined ? [] : [`${text} AS ${quoted(format === 'csv' ? headOf(name, target) : name)}`];
  });
  return shown.length === names.length ? shown : undefined;
}

/** A line end before the bracket, since the statement may end in a comment. */
function copyText(sql: string, shown: readonly string[], { path, format, isGzip, units }: CopyTarget): string {
  const given = shown.map((_, index) => `c${index}`);
  const compression = isGzip && format !== 'parquet' ? ', COMPRESSION gzip' : '';
  return (
    `COPY (SELECT ${shown.join(', ')} FROM (\n${sql}\n) AS given(${given.join(', ')})) ` +
    `TO ${literal(path)} (${options[format]}${compression}${format === 'parquet' ? unitsMetadata(units) : ''}, USE_TMP_FILE false)`
  );
}

async function writtenRows(result: QueryResult, target: CopyTarget): Promise<number> {
  const { writeRows } = await import('../../sql/session.ts');
  try {
    return await writeRows(result, target);
  } catch (error) {
    throw writeReason(error) === undefined ? error : unwritable(error);
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The statement up to the semicolon that ends it, if any: what follows can only be a comment. */
async function withoutEnd(connection: DuckDBConnection, sql: string): Promise<string> {
  const end = sql.lastIndexOf(';');
  if (end < 0) return sql;
  // What is left before a semicolon within a text or a comment is no statement, or what follows is none.
  const isEnd =
    (await isStatement(connection, sql.slice(0, end))) && (await isStatement(connection, `SELECT 1${sql.slice(end)}`));
  return isEnd ? sql.slice(0, end) : sql;
}

async function isStatement(connection: DuckDBConnection, sql: string): Promise<boolean> {
  return connection.extractStatements(sql).then(
    ({ count }) => count === 1,
    () => false,
  );
}

function unwritable(cause: unknown): PermanentError {
  const message = writeReason(cause) ?? messageOf(cause);
  const reason = /No space left/.test(message) ? 'the disk is full' : message.replace(/^IO Error: /, '');
  return new PermanentError('output', `the file could not be written: ${reason}`, { cause });
}
