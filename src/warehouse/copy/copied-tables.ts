/** The tables that a copy takes to another engine, and their columns. */
import type { SqlSession } from '../sql/session.ts';

export interface CopiedTable {
  readonly name: string;
  /** Its name in PostgreSQL, where that differs. */
  readonly target?: string;
  /** Rows hold bodies and reports, of which thousands do not fit into memory (G8). */
  readonly isWide?: boolean;
  /** Columns that PostgreSQL derives from others. */
  readonly derived?: readonly string[];
}

/** Wells with their keys before the rows that have them. */
export const copiedTables: readonly CopiedTable[] = [
  { name: 'well_key' },
  { name: 'internal.daily_production', derived: ['uwi'] },
  ...[
    'daily_production_history',
    'watermark',
    'coverage',
    'held_month',
    'held_definition',
    'run_unit',
    'run_target',
    'idempotency_key',
    'unknown_target',
    'push',
    'push_claim',
    'push_ledger',
    'push_body_limit',
    'cleanup_plan',
    'deletion_audit',
    'deletion_audit_head',
    'time_series',
    'time_series_history',
    'service_alias',
    'service_profile',
    'profile_probe',
    'feed',
    'schedule',
    'schedule_revision',
  ].map((name) => ({ name })),
  ...['run', 'quarantine', 'cleanup_target', 'well', 'well_history'].map((name) => ({ name, isWide: true })),
  { name: 'feed_month', target: 'internal.feed_touch' },
];

/** What every warehouse has of its own: one row each; and the order of reads under way, none of which outlives a copy. */
const ownTables = ['warehouse', 'schema_version', 'internal.read_begun', 'internal.kept_read'];

export function targetOf({ name, target }: CopiedTable): string {
  return target ?? name;
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

/** The columns that are copied of a table. Throws Error if the two engines do not have the same ones. */
export function copiedColumns(
  table: CopiedTable,
  source: ReadonlyMap<string, readonly string[]>,
  target: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const { name, derived = [] } = table;
  const columns = (source.get(name) ?? []).filter((column) => !derived.includes(column));
  const there = target.get(targetOf(table)) ?? [];
  if (columns.length > 0 && columns.toSorted().join() === there.toSorted().join()) return columns;
  throw new Error(`the table ${name} has the columns ${columns.join(', ')} here, and ${there.join(', ')} there`);
}

/** Throws Error if the source has a table that no copy would take. */
export function requireAllCopied(source: ReadonlyMap<string, readonly string[]>): void {
  const known = new Set([...copiedTables.map(({ name }) => name), ...ownTables]);
  const left = [...source.keys()].filter((name) => !known.has(name));
  if (left.length > 0) throw new Error(`the tables ${left.join(', ')} would be left out of a copy`);
}
