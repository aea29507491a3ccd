/**
 * Runs an operator's read-only statement and streams its rows. The server itself keeps it to reading: the transaction is
 * READ ONLY, which cannot be changed once a query has run, a cursor takes only a statement that gives rows, and the
 * transaction ends in ROLLBACK, which takes back large objects and notifications. What functions may do outside of the
 * transaction, as ending another session, is for the rights of the role to say (docs/postgres.md).
 */
import { AbortedError, PermanentError, UsageError } from '../../core/base/errors.ts';
import { writeReason } from '../../core/base/file-fault.ts';
import type { CopyTarget, QueryResult } from '../port/query.ts';
import { writeRows } from '../sql/session.ts';
import type { PostgresDatabase, PostgresSession } from './server/postgres-database.ts';
import { isLostConnection, sqlStateOf } from './server/server-fault.ts';

interface AskedQuery {
  readonly sql: string;
  readonly signal: AbortSignal | undefined;
}

/** Few rows are in memory at one time (G8). */
const rowsAtOnce = 1_000;
const cursor = 'asked';

/** To be called within a transaction that reads, after a statement of it. */
export async function runQuery<T>(
  database: PostgresDatabase,
  session: PostgresSession,
  { sql, signal }: AskedQuery,
  use: (result: QueryResult) => Promise<T>,
): Promise<T> {
  await using _ = await cancelling(database, session, signal);
  try {
    const statement = readingOf(sql);
    await asUsage(() => session.declare(cursor, statement));
    // Of no row, but with the columns.
    const { fields } = await asUsage(() => session.fetch(cursor, 0));
    const ids = fields.map(({ dataTypeID }) => dataTypeID);
    const types = await typeNames(session, ids);
    const columns = fields.map(({ name, dataTypeID }) => ({ name, type: types.get(dataTypeID) ?? '' }));
    return await use({ columns, rows: rowsOf(session) });
  } catch (error) {
    if (signal?.aborted) throw new AbortedError('interrupted before the end of the query', { cause: error });
    throw error;
  }
}

async function* rowsOf(session: PostgresSession): AsyncGenerator<readonly unknown[]> {
  for (;;) {
    const { rows } = await asUsage(() => session.fetch(cursor, rowsAtOnce));
    for (const row of rows) yield row.map(shown);
    if (rows.length < rowsAtOnce) return;
  }
}

/** JSON has no other numbers. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

/** The text up to the semicolon that ends it: behind it, or in a comment at the end, a cursor takes nothing. */
function readingOf(sql: string): string {
  const statement = sql.replace(/[\s;]+$/, '');
  if (statement === '') throw new UsageError('a query is one statement; this is empty');
  return statement;
}

async function typeNames(session: PostgresSession, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const rows = await session.rows<{ id: number; name: string }>(
    `SELECT oid::BIGINT AS id, upper(format_type(oid, NULL)) AS name FROM pg_type WHERE oid IN (${[0, ...ids].join(', ')})`,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Errors of the server about a statement are usage errors of its author: a wrong name, or a cast that fails at some row. */
async function asUsage<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const state = sqlStateOf(error);
    if (state === undefined || isLostConnection(error)) throw error;
    if (isRefusedWrite(state)) throw writes(error);
    throw new UsageError(`the query has a fault: ${error instanceof Error ? error.message : ''}`, { cause: error });
  }
}

/** read_only_sql_transaction, invalid_cursor_definition, feature_not_supported. */
function isRefusedWrite(state: string): boolean {
  return ['25006', '42P11', '0A000'].includes(state);
}

function writes(cause: unknown): UsageError {
  return new UsageError('a query can only read: one SELECT, VALUES, TABLE, or WITH that writes nothing', {
    hint: 'Only jobs write to the warehouse.',
    action: { kind: 'save-query-result' },
    cause,
  });
}

/** Cancels the statements of the session from another connection when the signal aborts. */
async function cancelling(
  database: PostgresDatabase,
  session: PostgresSession,
  signal: AbortSignal | undefined,
): Promise<AsyncDisposable | undefined> {
  if (signal === undefined) return undefined;
  const [backend] = await session.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  let cancelled: Promise<void> | undefined;
  const cancel = (): void => {
    cancelled = database.cancel(backend?.pid ?? 0);
  };
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel);
  return {
    async [Symbol.asyncDispose]() {
      signal.removeEventListener('abort', cancel);
      // A cancellation that is still on its way would meet a later statement of the connection.
      await cancelled;
    },
  };
}

/** Returns the number of rows. Throws as a query does, and PermanentError('output') if the file cannot be written. */
export async function copyQuery(
  database: PostgresDatabase,
  session: PostgresSession,
  query: AskedQuery,
  target: CopyTarget,
): Promise<number> {
  if (target.format === 'parquet') {
    throw new UsageError('a warehouse in PostgreSQL writes no Parquet', {
      hint: 'Name a file that ends in .csv or .ndjson, with .gz behind it where it shall be compressed.',
    });
  }
  return runQuery(database, session, query, (result) =>
    writeRows(result, target).catch((error: unknown) => {
      throw writeReason(error) === undefined ? error : unwritable(error);
    }),
  );
}

function unwritable(cause: unknown): PermanentError {
  return new PermanentError('output', `the file could not be written: ${writeReason(cause) ?? String(cause)}`, {
    cause,
  });
}
