/**
 * Copies the tables of a DuckDB warehouse to PostgreSQL, by steps that each commit rows with the place up to which they
 * were copied: a copy that was killed goes on there. The tables are compared whole before the copy counts as one.
 *
 *   empty -> copying (internal.copied_table has the places) -> all tables equal -> identity written, a warehouse
 */
import { createHash } from 'node:crypto';
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { lockRows, type SqlColumns, type SqlDatabase, type SqlSession, type SqlValue } from '../sql/session.ts';

/** Rows in one step: some MB. */
const rowsInStep = 10_000;
const wideRowsInStep = 200;

export interface CopiedRows extends TableChecksum {
  readonly table: string;
}

/** What a copy tells, and how it is told to stop. */
export interface CopyWatch {
  /** Called after each step with the rows of a table that were copied so far, or compared, and the rows that it has. */
  readonly onStep: (table: string, what: 'copied' | 'compared', rows: number, of: number) => void;
  /** Ends the copy between two steps, with AbortedError. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Nobody may write to either meanwhile. Throws UsageError if the target holds rows that are not of this copy, or if the
 * two differ in the end.
 */
export async function copyTables(
  source: SqlDatabase,
  target: SqlDatabase,
  watch: CopyWatch,
): Promise<readonly CopiedRows[]> {
  const here = await source.transact(columnsByTable);
  requireAllCopied(here);
  const sourceId = await source.transact(readId);
  await target.transact(async (session) => {
    await waitForOtherCopy(session);
    await begin(session, sourceId);
  });
  const there = await target.transact(columnsByTable);
  const tables = copiedTables.map((table) => ({ table, columns: copiedColumns(table, here, there) }));
  for (const each of tables) await copyTable(source, target, each, watch);
  const copied: CopiedRows[] = [];
  for (const each of tables) copied.push(await compareTable(source, target, each, watch));
  const identity = await source.transact(readIdentity);
  await copying(target, (session) => finish(session, identity));
  return copied;
}

/**
 * Runs a step of this copy. Of two copies at once, one waits here for the other's step. Throws UsageError if the other
 * one has ended the copy meanwhile.
 */
function copying<T>(target: SqlDatabase, step: (session: SqlSession) => Promise<T>): Promise<T> {
  return target.transact(async (session) => {
    await waitForOtherCopy(session);
    const [found] = await session.rows<{ exists: boolean }>(
      `SELECT to_regclass('internal.copied_table') IS NOT NULL AS "exists"`,
    );
    if (found?.exists === true) return step(session);
    throw new UsageError('another copy to the same database has ended before this one', {
      hint: 'Its warehouse is whole: no further copy is needed.',
    });
  });
}

/** By the one row that every database of this schema has, until the end of the transaction. */
async function waitForOtherCopy(session: SqlSession): Promise<void> {
  await lockRows(session, 'SELECT 1 FROM warehouse');
}

interface Identity {
  readonly warehouse_id: string;
  readonly service: string | null;
  readonly epoch: number;
  readonly created_at: string;
  readonly pruned_at: string | null;
  readonly history_horizon: string | null;
}

async function readIdentity(session: SqlSession): Promise<Identity> {
  const [row] = await session.rows<Identity>(
    'SELECT warehouse_id, service, epoch, created_at, pruned_at, history_horizon FROM warehouse',
  );
  if (row === undefined) throw new Error('the table warehouse has no row');
  return row;
}

async function readId(session: SqlSession): Promise<string> {
  return (await readIdentity(session)).warehouse_id;
}

/** Throws UsageError if the target holds rows that are not of this copy. */
async function begin(session: SqlSession, sourceId: string): Promise<void> {
  const tables = await columnsByTable(session);
  if (tables.has('internal.copied_table')) {
    const others = await session.rows('SELECT 1 FROM internal.copied_table WHERE source_id <> $1', [sourceId]);
    if (others.length > 0) throw notEmpty('a copy of another warehouse was begun there');
    return;
  }
  for (const table of copiedTables) {
    const found = await session.rows(`SELECT 1 FROM ${targetOf(table)} LIMIT 1`);
    if (found.length > 0) throw notEmpty(`${targetOf(table)} has rows`);
  }
  await session.run(
    'CREATE TABLE internal.copied_table (name TEXT PRIMARY KEY, place BIGINT NOT NULL, source_id TEXT NOT NULL)',
  );
  await session.run(`INSERT INTO internal.copied_table VALUES ('', 0, $1)`, [sourceId]);
}

function notEmpty(what: string): UsageError {
  return new UsageError(`the warehouse to copy to is not empty: ${what}`, { hint: 'Create a new database for it.' });
}

interface TableColumns {
  readonly table: CopiedTable;
  readonly columns: readonly string[];
}

type Row = Readonly<Record<string, SqlValue>>;

async function copyTable(
  source: SqlDatabase,
  target: SqlDatabase,
  { table, columns }: TableColumns,
  watch: CopyWatch,
): Promise<void> {
  const { name, isWide = false } = table;
  const step = isWide ? wideRowsInStep : rowsInStep;
  const names = columns.map((column) => `"${column}"`).join(', ');
  const readers: SqlColumns<Row> = Object.fromEntries(
    columns.map((column) => [`"${column}"`, (row: Row) => row[column] ?? null]),
  );
  const end = await source.transact((session) => endOf(session, name));
  await copying(target, (session) => noteTable(session, name));
  for (let place = await copying(target, (session) => placeOf(session, name)); place < end;) {
    const next = Math.min(end, place + step);
    const rows = await source.transact((session) =>
      session.rows<Row>(
        `SELECT ${names} FROM ${name} WHERE ${session.dialect.rowId} >= $1 AND ${session.dialect.rowId} < $2`,
        [place, next],
      ),
    );
    await copying(target, async (session) => {
      await takeStep(session, name, place, next);
      await session.append(targetOf(table), readers, rows);
    });
    toldOf(watch, name, 'copied', next, end);
    place = next;
  }
}

async function noteTable(session: SqlSession, name: string): Promise<void> {
  await session.run(
    `INSERT INTO internal.copied_table SELECT $1, 0, source_id FROM internal.copied_table WHERE name = ''
     ON CONFLICT (name) DO NOTHING`,
    [name],
  );
}

/** Before the rows are written: of two copies at once, the second finds another place. */
async function takeStep(session: SqlSession, name: string, place: number, next: number): Promise<void> {
  const taken = await session.run('UPDATE internal.copied_table SET place = $3 WHERE name = $1 AND place = $2', [
    name,
    place,
    next,
  ]);
  if (taken === 1) return;
  throw new UsageError('another copy to the same database is under way: this one has ended', {
    hint: 'Let the other one end. Where it was killed, run the same command again.',
  });
}

function toldOf({ onStep, signal }: CopyWatch, ...step: Parameters<CopyWatch['onStep']>): void {
  onStep(...step);
  if (signal?.aborted !== true) return;
  throw new AbortedError('the copy was stopped: the same command goes on where it was');
}

async function endOf(session: SqlSession, name: string): Promise<number> {
  const [row] = await session.rows<{ end: number }>(
    `SELECT coalesce(max(${session.dialect.rowId}) + 1, 0) AS "end" FROM ${name}`,
  );
  return row?.end ?? 0;
}

async function placeOf(session: SqlSession, name: string): Promise<number> {
  const [row] = await session.rows<{ place: number }>('SELECT place FROM internal.copied_table WHERE name = $1', [
    name,
  ]);
  return row?.place ?? 0;
}

async function compareTable(
  source: SqlDatabase,
  target: SqlDatabase,
  { table, columns }: TableColumns,
  watch: CopyWatch,
): Promise<CopiedRows> {
  const here = await source.transact((session) => checksumOf(session, table.name, columns));
  const there = await target.transact((session) => checksumOf(session, targetOf(table), columns));
  toldOf(watch, table.name, 'compared', there.rows, here.rows);
  if (here.rows === there.rows && here.checksum === there.checksum) return { table: table.name, ...here };
  throw new UsageError(
    `the table ${table.name} has ${here.rows} rows here and ${there.rows} there, or others: the copy does not count`,
    { hint: 'Stop all workers of both, and copy to a new database.' },
  );
}

/** From here on it is the warehouse: of the same id, with the next epoch, and of no queue yet. */
async function finish(session: SqlSession, identity: Identity): Promise<void> {
  const { warehouse_id: id, service, epoch, created_at: createdAt, pruned_at: prunedAt } = identity;
  await session.run(
    `UPDATE warehouse SET warehouse_id = $1, service = $2, epoch = $3, created_at = $4, pruned_at = $5, history_horizon = $6`,
    [id, service, epoch + 1, createdAt, prunedAt, identity.history_horizon],
  );
  await session.rows(
    `SELECT setval(pg_get_serial_sequence('well_key', 'well_id'), greatest((SELECT max(well_id) FROM well_key), 1))`,
  );
  await session.run('DROP TABLE internal.copied_table');
}

/**
 * A figure for the rows of a table, whatever their order: two engines sort text, and show it, in ways of their own.
 */
interface TableChecksum {
  readonly rows: number;
  /** 32 hexadecimal digits. */
  readonly checksum: string;
}

const bytes = 16;
const modulus = 2n ** 128n;

/** The sum of the hashes of its rows. Reads all of it, of which little is in memory at one time (G8). */
async function checksumOf(session: SqlSession, table: string, columns: readonly string[]): Promise<TableChecksum> {
  let rows = 0;
  let sum = 0n;
  const select = `SELECT ${columns.map((name) => `"${name}"`).join(', ')} FROM ${table}`;
  for await (const row of session.stream<Record<string, unknown>>(select)) {
    const text = JSON.stringify(columns.map((name) => comparable(row[name])));
    const digest = createHash('sha256').update(text).digest().subarray(0, bytes);
    sum = (sum + BigInt(`0x${digest.toString('hex')}`)) % modulus;
    rows += 1;
  }
  return { rows, checksum: sum.toString(16).padStart(2 * bytes, '0') };
}

/** A value as both engines have it: 0 for -0, and no text with U+0000, which PostgreSQL does not hold. */
function comparable(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : String(value);
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
}

/** The tables that a copy takes to another engine, and their columns. */
interface CopiedTable {
  readonly name: string;
  /** Its name in PostgreSQL, where that differs. */
  readonly target?: string;
  /** Rows hold bodies and reports, of which thousands do not fit into memory (G8). */
  readonly isWide?: boolean;
  /** Columns that PostgreSQL derives from others. */
  readonly derived?: readonly string[];
}

/** Wells with their keys before the rows that have them. */
const copiedTables: readonly CopiedTable[] = [
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

function targetOf({ name, target }: CopiedTable): string {
  return target ?? name;
}

/** The columns of each table, in order, by its name; `internal.` stands before those of that schema. */
async function columnsByTable(session: SqlSession): Promise<ReadonlyMap<string, readonly string[]>> {
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
function copiedColumns(
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
function requireAllCopied(source: ReadonlyMap<string, readonly string[]>): void {
  const known = new Set([...copiedTables.map(({ name }) => name), ...ownTables]);
  const left = [...source.keys()].filter((name) => !known.has(name));
  if (left.length > 0) throw new Error(`the tables ${left.join(', ')} would be left out of a copy`);
}
