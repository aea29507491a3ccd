/** Writes the rows of a query into a file. */
import { PermanentError, UsageError } from '../../../core/base/errors.ts';
import { writeReason } from '../../../core/base/file-fault.ts';
import type { CopyTarget } from '../../port/query.ts';
import { writeRows } from '../../sql/write-rows.ts';
import type { PostgresDatabase } from '../server/postgres-database.ts';
import type { PostgresSession } from '../server/postgres-session.ts';
import { type AskedQuery, runQuery } from './query.ts';

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
