/** The tables that a copy of a warehouse takes along, with their columns. */
import { UsageError } from '../core/base/errors.ts';
import { recordLists } from '../core/definitions/record-list.ts';
import type { SqlSession } from './sql/session.ts';

export type Engine = 'duckdb' | 'postgres';

/** Tables whose rows have bodies and reports, of which thousands do not fit into memory (G8). */
export const wideTables = ['run', 'quarantine', 'cleanup_target', 'well', 'well_history'];

const listTables = recordLists.flatMap(({ table }) => [table, `${table}_history`]);

/** What a copy takes along: wells with their keys before the rows that have them. */
export const copiedTables = [
  'well_key',
  'internal.daily_production',
  'internal.conflicting_day',
  'daily_production_history',
  'watermark',
  'coverage',
  'well_zone',
  'check_result',
  'check_history',
  'held_month',
  'held_definition',
  'run_unit',
  'run_target',
  'idempotency_key',
  'unknown_target',
  'alert',
  'alert_change',
  'accepted_record',
  'alert_beginning',
  'source_list',
  'source_well',
  'rejected_row',
  'push',
  'push_claim',
  'push_ledger',
  'push_body_limit',
  'cleanup_plan',
  'deletion_audit',
  'deletion_audit_head',
  ...listTables,
  'service_alias',
  'service_profile',
  'profile_probe',
  'feed',
  'schedule',
  'schedule_revision',
  ...wideTables,
  'feed_month',
];

/**
 * What every warehouse has of its own: one row each; its queue, and the order of reads under way, which outlive no copy; and the
 * wells whose alerts are to be made, of a copy all.
 */
const ownTables = [
  'warehouse',
  'schema_version',
  'queue_beat',
  'queue_state',
  'writer_turn',
  'internal.read_begun',
  'internal.kept_read',
  'check_change',
];

/** In PostgreSQL a view has the name of this one. */
const monthsInPostgres = 'internal.feed_touch';

export function nameIn(engine: Engine, table: string): string {
  return engine === 'postgres' && table === 'feed_month' ? monthsInPostgres : table;
}

/** The columns of each table, in order, by its name; `internal.` stands before those of that schema. */
export async function columnsByTable(session: SqlSession): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await session.rows<{ table: string; columns: readonly string[] }>(
    `SELECT CASE WHEN c.table_schema = 'internal' THEN 'internal.' ELSE '' END || c.table_name AS "table",
       array_agg(CAST(c.column_name AS VARCHAR) ORDER BY c.ordinal_position) AS columns
     FROM information_schema.columns c JOIN information_schema.tables t
       ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
     WHERE c.table_schema IN ('main', 'public', 'internal') GROUP BY 1`,
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

/** The name of a well stands in PostgreSQL with its key alone; version 8 had the last run with its schedule. */
const leftOut = new Set(['internal.daily_production.uwi', 'schedule.last_run_id']);

export interface CopiedColumns {
  /** All columns of the target, in its order. */
  readonly columns: readonly string[];
  /** Those of them that the source has; none if it lacks the table. */
  readonly read: readonly string[];
}

/**
 * Throws UsageError if the two do not have the same columns. An old source may lack some; and any, the tables of a list
 * that is newer than it.
 */
export function copiedColumns(
  name: string,
  source: readonly string[] = [],
  columns: readonly string[] = [],
  isOld: boolean,
): CopiedColumns {
  const read = columns.filter((column) => source.includes(column));
  const lost = source.filter((column) => !columns.includes(column) && !leftOut.has(`${name}.${column}`));
  const isNew = source.length === 0 && listTables.includes(name);
  const isWhole = isOld || isNew || read.length === columns.length;
  if (columns.length > 0 && lost.length === 0 && isWhole) return { columns, read };
  const found = source.length === 0 ? 'no columns' : `the columns ${source.join(', ')}`;
  throw new UsageError(`the table ${name} has ${found} here, and ${columns.join(', ')} there: nothing was copied`, {
    hint: 'Another build of wellsync made the source: work on with that one, or export again into a new warehouse.',
  });
}

/** Throws UsageError if the source has a table that no copy would take. */
export function requireAllCopied(source: ReadonlyMap<string, readonly string[]>): void {
  const known = new Set([...copiedTables, monthsInPostgres, ...ownTables]);
  const left = [...source.keys()].filter((name) => !known.has(name));
  if (left.length === 0) return;
  throw new UsageError(`the tables ${left.join(', ')} would be left out of a copy: nothing was copied`, {
    hint: 'Copy by the wellsync that made them; tables of another program belong into a schema of their own.',
  });
}
