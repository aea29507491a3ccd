/** The schema of the DuckDB warehouse: numbered steps, each applied once, in one transaction with its number. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { UnreachableError } from '../../../core/base/errors.ts';
import { auditRetrySchema, cleanupSchema } from './cleanup-schema.ts';
import { declared } from '../../sql/daily/row-fields.ts';
import { rowColumns } from './columns.ts';
import { diskOutage, isDiskTrouble, messageOf } from '../file/engine.ts';
import { exportSchema } from './export-schema.ts';
import { feedSchema } from './feed-schema.ts';
import { holdSchema } from './hold-schema.ts';
import { identitySchema } from './identity-schema.ts';
import { probeSchema } from './probe-schema.ts';
import { pushSchema, pushServiceSchema } from './push-schema.ts';
import { readOrderSchema } from './read-order-schema.ts';
import { scheduleSchema } from './schedule-schema.ts';
import { inTransaction, instant, readRows } from '../file/sql.ts';

/**
 * Step n produces schema version n. A released step is never changed, so a new measure field needs a new step (a test
 * freezes the columns). No key on the large tables: DuckDB's key index stays in memory (about 60 bytes a row) and slows
 * every insert. Since one transaction writes at a time, the merge itself keeps (uwi, xid) unique. Rows are inserted by
 * well and day, which lets DuckDB prune row groups.
 */
export const schemaSteps: ReadonlyArray<readonly string[]> = [
  [
    `CREATE TABLE daily_production (${declared(rowColumns)},
       inserted_run_id VARCHAR, changed_run_id VARCHAR, changed_at TIMESTAMPTZ)`,
    `CREATE TABLE daily_production_history (${declared(rowColumns)},
       change VARCHAR, run_id VARCHAR, noticed_at TIMESTAMPTZ)`,
    `CREATE TABLE watermark (uwi VARCHAR PRIMARY KEY, watermark TIMESTAMPTZ NOT NULL)`,
    `CREATE TABLE quarantine (uwi VARCHAR, run_id VARCHAR, unit INTEGER, window_from TIMESTAMPTZ, window_to TIMESTAMPTZ,
       production_day DATE, xid VARCHAR, reason VARCHAR, raw VARCHAR, noticed_at TIMESTAMPTZ)`,
    `CREATE TABLE run (run_id VARCHAR PRIMARY KEY, job VARCHAR NOT NULL, params JSON, state VARCHAR NOT NULL,
       round INTEGER NOT NULL, unit_count INTEGER, requested_at TIMESTAMPTZ NOT NULL, started_at TIMESTAMPTZ,
       finished_at TIMESTAMPTZ, report JSON)`,
    `CREATE TABLE run_unit (run_id VARCHAR, unit INTEGER, chunk INTEGER, target VARCHAR, spec JSON, state VARCHAR,
       counts JSON, fault JSON, notices JSON)`,
  ],
  pushSchema,
  cleanupSchema,
  exportSchema,
  pushServiceSchema,
  [...identitySchema, ...probeSchema],
  feedSchema,
  scheduleSchema,
  holdSchema,
  auditRetrySchema,
  readOrderSchema,
];

export const schemaVersion = schemaSteps.length;

/**
 * Migrates the file to the schema of this version; returns the version that it had, 0 for a new file. Throws
 * UnreachableError if the file is of a newer version, or if its tables are not wellsync's; OutageError if its disk is
 * full or fails.
 */
export async function migrate(connection: DuckDBConnection, location: string, nowMs: number): Promise<number> {
  const found = await readKnownVersion(connection, location);
  if (found === schemaVersion) return found;
  try {
    await apply(connection, found, nowMs);
  } catch (error) {
    if (isDiskTrouble(error)) throw diskOutage(error, location);
    throw new UnreachableError(
      'warehouse',
      `${location} could not be brought to schema version ${schemaVersion}: ${messageOf(error)}`,
      {
        hint: 'If the file belongs to something else, set WELLSYNC_WAREHOUSE to another one.',
        cause: error,
      },
    );
  }
  return found;
}

/**
 * A transaction for each step: the engine commits no column of a table whose rows an earlier statement has changed. A kill
 * between two steps leaves a file of the version between, which the next opening takes further.
 */
async function apply(connection: DuckDBConnection, found: number, nowMs: number): Promise<void> {
  for (const [index, statements] of schemaSteps.entries()) {
    if (index < found) continue;
    await inTransaction(connection, async () => {
      await connection.run('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER, applied_at TIMESTAMPTZ)');
      for (const statement of statements) await connection.run(statement);
      await connection.run(`INSERT INTO schema_version VALUES ($1, ${instant('$2')})`, [index + 1, BigInt(nowMs)]);
    });
  }
}

/**
 * Returns the schema version of the file; 0 for a file without a schema. Throws UnreachableError if it is newer than
 * this version's (docs/design.md section 7). Writes nothing.
 */
export async function readKnownVersion(connection: DuckDBConnection, location: string): Promise<number> {
  const found = await readSchemaVersion(connection);
  if (found <= schemaVersion) return found;
  throw new UnreachableError(
    'warehouse',
    `${location} is of schema version ${found}; this wellsync knows up to ${schemaVersion}`,
    { hint: 'Use the newer wellsync that wrote it, or another warehouse file.' },
  );
}

/** 0 for a file without a schema. */
async function readSchemaVersion(connection: DuckDBConnection): Promise<number> {
  const [table] = await readRows(
    connection,
    `SELECT 1 FROM duckdb_tables() WHERE table_name = 'schema_version' AND NOT internal`,
  );
  if (table === undefined) return 0;
  const [row] = await readRows<{ version: number }>(
    connection,
    'SELECT coalesce(max(version), 0) AS version FROM schema_version',
  );
  return row?.version ?? 0;
}
