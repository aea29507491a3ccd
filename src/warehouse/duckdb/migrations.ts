/** Owns the schema of the DuckDB warehouse: numbered steps, each applied once, in one transaction with its number. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { UnreachableError } from '../../core/errors.ts';
import { cleanupSchema } from './cleanup-schema.ts';
import { declared, rowColumns } from './columns.ts';
import { wordsOf } from './engine-fault.ts';
import { exportSchema } from './export-schema.ts';
import { pushSchema, pushServiceSchema } from './push-schema.ts';
import { inTransaction, instant, readRows } from './sql.ts';

/**
 * Step n makes schema version n; a step that was released is never changed, so a new measure field needs a step of its
 * own (a test freezes the columns). No key on the large tables: DuckDB's key index stays in memory (about 60 bytes a row)
 * and slows every insert, and since one transaction writes at a time, the merge itself keeps (uwi, xid) unique. Rows go
 * in ordered by well and day, which is what prunes row groups.
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
];

export const schemaVersion = schemaSteps.length;

/**
 * Takes the file to this version's schema; true when there was something to do. Throws UnreachableError where the file is
 * of a newer version, or where its tables are not ours.
 */
export async function migrate(connection: DuckDBConnection, location: string, nowMs: number): Promise<boolean> {
  const found = await readSchemaVersion(connection);
  if (found === schemaVersion) return false;
  if (found > schemaVersion) {
    throw new UnreachableError(
      'warehouse',
      `${location} is of schema version ${found}; this wellsync knows up to ${schemaVersion}`,
      {
        hint: 'Use the newer wellsync that wrote it, or another warehouse file.',
      },
    );
  }
  try {
    await inTransaction(connection, () => apply(connection, found, nowMs));
  } catch (error) {
    throw new UnreachableError(
      'warehouse',
      `${location} could not be brought to schema version ${schemaVersion}: ${wordsOf(error)}`,
      {
        hint: 'If the file belongs to something else, set WELLSYNC_WAREHOUSE to another one.',
        cause: error,
      },
    );
  }
  return true;
}

async function apply(connection: DuckDBConnection, found: number, nowMs: number): Promise<void> {
  await connection.run('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER, applied_at TIMESTAMPTZ)');
  for (const [index, statements] of schemaSteps.entries()) {
    if (index < found) continue;
    for (const statement of statements) await connection.run(statement);
    await connection.run(`INSERT INTO schema_version VALUES ($1, ${instant('$2')})`, [index + 1, BigInt(nowMs)]);
  }
}

/** 0 for a file that has no schema yet. */
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
