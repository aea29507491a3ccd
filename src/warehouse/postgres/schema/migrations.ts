/** The schema of the PostgreSQL warehouse: numbered steps, each applied once, in one transaction with its number. */
import { UnreachableError } from '../../../core/base/errors.ts';
import type { SqlSession } from '../../sql/session.ts';
import { dailySchema } from './daily-schema.ts';
import { feedSchema } from './feed-schema.ts';
import { holdSchema } from './hold-schema.ts';
import { knownTimesSchema } from './known-times-schema.ts';
import { auditRetrySchema, ledgerSchema } from './ledger-schema.ts';
import { readOrderSchema } from './read-order-schema.ts';
import { scheduleSchema } from './schedule-schema.ts';

/**
 * The version of DuckDB's schema with the same tables: the first one that PostgreSQL has. A later one is a step of both; a
 * released step is never changed.
 */
const firstVersion = 6;

const schemaSteps: ReadonlyArray<readonly string[]> = [
  [...ledgerSchema, ...dailySchema, ...knownTimesSchema],
  feedSchema,
  scheduleSchema,
  holdSchema,
  auditRetrySchema,
  readOrderSchema,
];

export const schemaVersion = firstVersion + schemaSteps.length - 1;

/** Any number, the same for every process: who migrates holds the lock of it. */
const migrationLock = 7_225_806_101;

/**
 * Brings the tables to the schema of this version, in the caller's transaction; several processes may try at a time, and
 * one does it. Throws UnreachableError if the schema is of a newer version.
 */
export async function migrate(session: SqlSession, location: string): Promise<void> {
  if ((await readKnownVersion(session, location)) === schemaVersion) return;
  await session.rows('SELECT pg_advisory_xact_lock($1)', [migrationLock]);
  const found = await readKnownVersion(session, location);
  if (found === schemaVersion) return;
  await session.run('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ)');
  for (const [index, statements] of schemaSteps.entries()) {
    const version = firstVersion + index;
    if (version <= found) continue;
    for (const statement of statements) await session.run(statement);
    await session.run('INSERT INTO schema_version VALUES ($1, current_timestamp)', [version]);
  }
}

/**
 * Returns the schema version of the database; 0 for one without a schema. Throws UnreachableError if it is newer than this
 * version's (docs/design.md section 7). Writes nothing.
 */
export async function readKnownVersion(session: SqlSession, location: string): Promise<number> {
  const found = await readSchemaVersion(session);
  if (found <= schemaVersion) return found;
  throw new UnreachableError(
    'warehouse',
    `${location} is of schema version ${found}; this wellsync knows up to ${schemaVersion}`,
    { hint: 'Use the newer wellsync that wrote it, or another database.' },
  );
}

async function readSchemaVersion(session: SqlSession): Promise<number> {
  const [table] = await session.rows<{ isThere: boolean }>(
    `SELECT to_regclass('schema_version') IS NOT NULL AS "isThere"`,
  );
  if (table?.isThere !== true) return 0;
  const [row] = await session.rows<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM schema_version',
  );
  return row?.version ?? 0;
}
