/** Appends to a table outside SQL, in the transaction of the connection. */
import type { DuckDBAppender, DuckDBConnection } from '@duckdb/node-api';

export interface AppendedTable {
  readonly name: string;
  /** Null for the usual one; so is `catalog`. */
  readonly schema: string | null;
  readonly catalog: string | null;
}

/**
 * Appends what `append` hands over. After an error nothing more is written: an appender that is closed with rows in it
 * writes them, fails again, and that error would hide what happened (no memory, a full disk).
 */
export async function withAppender(
  connection: DuckDBConnection,
  { name, schema, catalog }: AppendedTable,
  append: (appender: DuckDBAppender) => Promise<void>,
): Promise<void> {
  const appender = await connection.createAppender(name, schema, catalog);
  try {
    await append(appender);
    appender.flushSync();
  } catch (error) {
    discard(appender);
    throw error;
  }
  appender.closeSync();
}

function discard(appender: DuckDBAppender): void {
  try {
    appender.clear();
    appender.closeSync();
  } catch {
    // It tells again what the first error told.
  }
}
