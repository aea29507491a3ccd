/**
 * Copies the tables of a warehouse to a new one, by steps that each commit rows with how far the table is copied by
 * them: a copy that was killed goes on there. The tables are compared whole before the copy counts as one.
 *
 *   empty -> copying (internal.copied_table has how far) -> all tables equal -> identity written, a warehouse
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { AbortedError, UsageError } from '../core/base/errors.ts';
import {
  columnsByTable,
  type CopiedColumns,
  copiedColumns,
  copiedTables,
  type Engine,
  nameIn,
  requireAllCopied,
  wideTables,
} from './copied-tables.ts';
import { anyCheckChange, copiedVersion, readVersion } from './sql/schema.ts';
import {
  lockRows,
  membersOf,
  oneRow,
  type SqlColumns,
  type SqlDatabase,
  type SqlSession,
  type SqlValue,
} from './sql/session.ts';

/** How far the tables of an unfinished copy are copied. */
const progressTable = 'internal.copied_table';

/** Nobody writes to it meanwhile. */
export interface CopySource {
  readonly engine: Engine;
  /** Runs the work in a transaction that reads, whatever the schema version. */
  readonly read: <T>(work: (session: SqlSession) => Promise<T>) => Promise<T>;
}

export interface CopyTarget {
  readonly engine: Engine;
  readonly database: SqlDatabase;
}

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
 * Throws UsageError if the target holds rows that are not of this copy, or if the two differ in the end. What version 8
 * lacks is empty in the copy. A copy that is whole, and that nobody has worked on, is compared again: it may have been killed
 * before its command ended.
 */
export async function copyTables(
  source: CopySource,
  { engine, database }: CopyTarget,
  watch: CopyWatch,
): Promise<readonly CopiedRows[]> {
  const isOld = (await source.read(readVersion)) === copiedVersion;
  const here = await source.read(columnsByTable);
  if (here.has(progressTable)) {
    throw new UsageError('the warehouse to copy is an unfinished copy itself', {
      hint: 'Finish that copy first, by its command.',
    });
  }
  requireAllCopied(here);
  const sourceIdentity = await source.read(readIdentity);
  const isWhole = await database.transact(async (session) => {
    await waitForOtherCopy(session);
    if (await isCopyOf(session, sourceIdentity)) return true;
    await begin(session, sourceIdentity.warehouseId, engine);
    return false;
  });
  const there = await database.transact(columnsByTable);
  const tables = copiedTables.map((table) => {
    const [from, to] = [nameIn(source.engine, table), nameIn(engine, table)];
    const columns = copiedColumns(table, here.get(from), there.get(to), isOld);
    // Of a whole copy they are put right (withoutOverlaps).
    const isRighted = isWhole && isOld && table === 'daily_production_history';
    const read = columns.read.filter((column) => !isRighted || column !== 'noticed_at');
    return { from, to, isWide: wideTables.includes(table), ...columns, read };
  });
  if (!isWhole) for (const each of tables) await copyTable(source, database, each, watch);
  const copied: CopiedRows[] = [];
  for (const each of tables) copied.push(await compareTable(source, database, each, watch, isWhole));
  if (isWhole) return copied;
  const identity = await source.read(readIdentity);
  await copying(database, (session) => finish(session, engine, identity, isOld));
  return copied;
}

/**
 * Runs a step of this copy. Of two copies at once, one waits here for the other's step. Throws UsageError if the other
 * one has ended the copy meanwhile.
 */
function copying<T>(target: SqlDatabase, step: (session: SqlSession) => Promise<T>): Promise<T> {
  return target.transact(async (session) => {
    await waitForOtherCopy(session);
    const found = await session.rows(
      `SELECT 1 FROM information_schema.tables WHERE table_schema = 'internal' AND table_name = 'copied_table'`,
    );
    if (found.length > 0) return step(session);
    throw endedByOther('the same database');
  });
}

export function endedByOther(target: string): UsageError {
  return new UsageError(`another copy to ${target} has ended before this one`, {
    hint: 'Its warehouse is whole: no further copy is needed.',
  });
}

/** By the one row that every database of this schema has, until the end of the transaction. */
async function waitForOtherCopy(session: SqlSession): Promise<void> {
  await lockRows(session, 'SELECT 1 FROM warehouse');
}

interface Identity {
  readonly warehouseId: string;
  readonly service: string | null;
  readonly epoch: number;
  readonly createdAt: string;
  readonly prunedAt: string | null;
  readonly historyHorizon: string | null;
  /** Null before the first export, and in version 8. */
  readonly timeZone: string | null;
  readonly rezoneTo: string | null;
  readonly rateBasis: string | null;
}

async function readIdentity(session: SqlSession): Promise<Identity> {
  const members = membersOf('warehouseId', 'service', 'epoch', 'createdAt', 'prunedAt', 'historyHorizon');
  const isOld = (await readVersion(session)) === copiedVersion;
  const ofVersion8 = `NULL AS "timeZone", NULL AS "rezoneTo", NULL AS "rateBasis"`;
  const kept = isOld ? ofVersion8 : membersOf('timeZone', 'rezoneTo', 'rateBasis');
  return oneRow(session, `SELECT ${members}, ${kept} FROM warehouse`);
}

/** Whether the target is what {@link finish} makes of a copy of the source. A queue that takes either over takes the next epoch. */
async function isCopyOf(session: SqlSession, source: Identity): Promise<boolean> {
  return isDeepStrictEqual(await readIdentity(session), { ...source, epoch: source.epoch + 1 });
}

/** Throws UsageError if the target holds rows that are not of this copy. */
async function begin(session: SqlSession, sourceId: string, engine: Engine): Promise<void> {
  const tables = await columnsByTable(session);
  if (tables.has(progressTable)) {
    const others = await session.rows('SELECT 1 FROM internal.copied_table WHERE source_id <> $1', [sourceId]);
    if (others.length > 0) throw notEmpty('a copy of another warehouse was begun there');
    return;
  }
  for (const table of copiedTables) {
    const name = nameIn(engine, table);
    const found = await session.rows(`SELECT 1 FROM ${name} LIMIT 1`);
    if (found.length > 0) throw notEmpty(`${name} has rows`);
  }
  await session.run(
    'CREATE TABLE internal.copied_table (name TEXT PRIMARY KEY, place BIGINT NOT NULL, source_id TEXT NOT NULL)',
  );
  await session.run(`INSERT INTO internal.copied_table VALUES ('', 0, $1)`, [sourceId]);
}

function notEmpty(what: string): UsageError {
  return new UsageError(`the warehouse to copy to is not empty: ${what}`, {
    hint: 'Name a new database or file, or remove what was begun there.',
  });
}

interface TableCopy extends CopiedColumns {
  readonly from: string;
  readonly to: string;
  readonly isWide: boolean;
}

type Row = Readonly<Record<string, SqlValue>>;

/**
 * How a table is read piece by piece: from 0 up to the end, in steps of some MB; by rows in DuckDB, and by blocks of 8 KB
 * in PostgreSQL.
 */
const pieces = {
  duckdb: {
    end: 'max(rowid) + 1',
    isWithin: 'rowid >= $1 AND rowid < $2',
    step: 10_000,
    wideStep: 200,
  },
  postgres: {
    end: `pg_relation_size(max(tableoid)::regclass) / current_setting('block_size')::BIGINT`,
    isWithin: `ctid >= format('(%s,0)', $1::BIGINT)::TID AND ctid < format('(%s,0)', $2::BIGINT)::TID`,
    step: 128,
    wideStep: 4,
  },
} as const;

async function copyTable(
  { engine, read }: CopySource,
  target: SqlDatabase,
  table: TableCopy,
  watch: CopyWatch,
): Promise<void> {
  const { from, to } = table;
  if (table.read.length === 0) return;
  const { isWithin, step, wideStep } = pieces[engine];
  const readers: SqlColumns<Row> = Object.fromEntries(
    table.columns.map((column) => [`"${column}"`, (row: Row) => row[column] ?? null]),
  );
  const size = `SELECT coalesce(${pieces[engine].end}, 0) AS "end", count(*) AS "total" FROM ${from}`;
  const { end, total } = await read((session) => oneRow<Record<'end' | 'total', number>>(session, size));
  const begun = await copying(target, (session) => beginTable(session, to));
  for (let [first, next] = [begun, 0]; first < end; first = next) {
    next = Math.min(end, first + (table.isWide ? wideStep : step));
    const bounds = [first, next] as const;
    const rows = await read((session) =>
      session.rows<Row>(`SELECT ${quoted(table.read)} FROM ${from} WHERE ${isWithin}`, bounds),
    );
    const copied = copying(target, async (session) => {
      await takeStep(session, to, bounds);
      await session.append(to, readers, rows);
    });
    await copied.catch((error: unknown) => {
      throw isDuplicate(error) ? changedMeanwhile(from) : error;
    });
    reportStep(watch, from, 'copied', Math.round((total * next) / end), total);
  }
}

/** A row that was changed lies at another place, and is found twice. */
function changedMeanwhile(table: string): UsageError {
  return new UsageError(`rows of ${table} were changed since the copy began: the copy does not count`, {
    hint: 'Stop all workers of both, and copy to a new warehouse.',
  });
}

function isDuplicate(error: unknown): boolean {
  return error instanceof Error && (Reflect.get(error, 'code') === '23505' || /duplicate key/i.test(error.message));
}

function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ');
}

/** Returns how far the table is copied. */
async function beginTable(session: SqlSession, name: string): Promise<number> {
  await session.run(
    `INSERT INTO internal.copied_table SELECT $1, 0, source_id FROM internal.copied_table WHERE name = ''
     ON CONFLICT (name) DO NOTHING`,
    [name],
  );
  const reached = 'SELECT place AS reached FROM internal.copied_table WHERE name = $1';
  return (await session.rows<{ reached: number }>(reached, [name]))[0]?.reached ?? 0;
}

/** Before the rows are written: of two copies at once, the second finds that the first has gone on. */
async function takeStep(session: SqlSession, name: string, bounds: readonly [number, number]): Promise<void> {
  const step = 'UPDATE internal.copied_table SET place = $3 WHERE name = $1 AND place = $2';
  if ((await session.run(step, [name, ...bounds])) === 1) return;
  throw new UsageError('another copy to the same database is under way: this one has ended', {
    hint: 'Let the other one end. Where it was killed, run the same command again.',
  });
}

function reportStep({ onStep, signal }: CopyWatch, ...step: Parameters<CopyWatch['onStep']>): void {
  onStep(...step);
  if (signal?.aborted !== true) return;
  throw new AbortedError('the copy was stopped: the same command goes on where it was');
}

async function compareTable(
  { read }: CopySource,
  target: SqlDatabase,
  { from, to, read: columns }: TableCopy,
  watch: CopyWatch,
  isWhole: boolean,
): Promise<CopiedRows> {
  if (columns.length === 0) return { table: from, rows: 0, checksum: '0'.repeat(2 * bytes) };
  const here = await read((session) => checksumOf(session, from, columns));
  const there = await target.transact((session) => checksumOf(session, to, columns));
  reportStep(watch, from, 'compared', there.rows, here.rows);
  if (here.rows === there.rows && here.checksum === there.checksum) return { table: from, ...here };
  if (isWhole) throw notEmpty(`it is a copy of this one, and ${from} of one of the two was changed since`);
  throw new UsageError(
    `the table ${from} has ${here.rows} rows here and ${there.rows} there, or others: the copy does not count`,
    { hint: 'Stop all workers of both, and copy to a new warehouse.' },
  );
}

/**
 * Hosts with other clocks left versions that ended before they began; the one that began last is known from its begin.
 * From version 12 on the order of reads prevents it (docs/decisions/0026-reads-have-an-order.md).
 */
function withoutOverlaps(rowId: string): string {
  const reversed = '(SELECT uwi FROM daily_production_history WHERE noticed_at < known_from)';
  return `UPDATE daily_production_history AS h SET noticed_at = v.next_from
    FROM (SELECT row_no, lead(known_from) OVER (PARTITION BY uwi, xid ORDER BY known_from, row_no NULLS LAST) AS next_from
          FROM (SELECT ${rowId} AS row_no, uwi, xid, known_from FROM daily_production_history
                WHERE known_from <= noticed_at AND uwi IN ${reversed}
                UNION ALL SELECT NULL, uwi, xid, changed_at FROM daily_production WHERE uwi IN ${reversed}) versions) v
    WHERE h.${rowId} = v.row_no AND v.next_from < h.noticed_at`;
}

/** As commits find them (sql/daily/conflicting-days.ts), where none has kept which record of a day counts. */
const conflictingDays = `INSERT INTO internal.conflicting_day (well_id, production_day, xid)
  SELECT well_id, production_day, xid FROM (
    SELECT d.well_id, d.production_day, d.xid,
      row_number() OVER (PARTITION BY d.well_id, d.production_day ORDER BY d.changed_at DESC, d.xid DESC) AS rank
    FROM internal.daily_production d JOIN (
      SELECT well_id, production_day FROM internal.daily_production GROUP BY 1, 2 HAVING count(*) > 1) r
      ON r.well_id = d.well_id AND r.production_day = d.production_day) ranked WHERE rank = 1`;

/** Version 8 named the schedule of a run by its actor alone: `schedule/nightly@host`. */
const schedulesOfRuns = `UPDATE run SET schedule = (SELECT max(name) FROM schedule WHERE starts_with(run.actor, 'schedule/' || name || '@'))
  WHERE starts_with(actor, 'schedule/')`;

/** What an engine has beside the tables, as their rows say. */
const derived: Readonly<Record<Engine, string>> = {
  duckdb: 'UPDATE warehouse SET last_change_at = (SELECT max(noticed_at) FROM daily_production_history)',
  postgres: `SELECT setval(pg_get_serial_sequence('well_key', 'well_id'), greatest((SELECT max(well_id) FROM well_key), 1))`,
};

/** From here on it is the warehouse: of the same id, with the next epoch, and of no queue yet. */
async function finish(session: SqlSession, engine: Engine, identity: Identity, isOld: boolean): Promise<void> {
  const { warehouseId, service, epoch, createdAt, prunedAt, historyHorizon, timeZone, rezoneTo, rateBasis } = identity;
  if (isOld) {
    await session.run(withoutOverlaps(session.dialect.rowId));
    await session.run(conflictingDays);
    await session.run(schedulesOfRuns);
  }
  await session.run(
    `UPDATE warehouse SET warehouse_id = $1, service = $2, epoch = $3, created_at = $4, pruned_at = $5, history_horizon = $6,
       time_zone = $7, rezone_to = $8, rate_basis = $9`,
    [warehouseId, service, epoch + 1, createdAt, prunedAt, historyHorizon, timeZone, rezoneTo, rateBasis],
  );
  await session.rows(derived[engine]);
  await session.run(anyCheckChange);
  await session.run('DROP TABLE internal.copied_table');
}

/**
 * A figure for the rows of a table, whatever their order: two engines sort text, and show it, in ways of their own.
 */
interface TableChecksum {
  readonly rows: number;
  readonly checksum: string;
}

const bytes = 16;
const modulus = 2n ** 128n;

/** The sum of the hashes of its rows. Reads all of it, of which little is in memory at one time (G8). */
async function checksumOf(session: SqlSession, table: string, columns: readonly string[]): Promise<TableChecksum> {
  let rows = 0;
  let sum = 0n;
  const select = `SELECT ${quoted(columns)} FROM ${table}`;
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
