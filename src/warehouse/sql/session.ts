/**
 * What the stores need of an engine. They write SQL that DuckDB and PostgreSQL both take; {@link SqlDialect} holds the
 * rest. Tables and columns have the same names and meaning in both.
 */
import { createWriteStream } from 'node:fs';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { stringify } from 'csv-stringify';
import type { ServiceIdentity } from '../../core/base/service-key.ts';
import { headWithUnit } from '../../core/daily/units.ts';
import { columnOf, csvForm, distinctNames, ndjsonLine } from '../../core/base/text.ts';
import type { CopyTarget, QueryResult } from '../port/query.ts';

/**
 * A value for a parameter or a column. A `Date` is an instant; a number or a bigint is what the parameter's or column's
 * type says; a day is text, YYYY-MM-DD.
 */
export type SqlValue = string | number | bigint | boolean | Date | JsonText | null;

/** How the value of each column is read from a record: all columns of a table, in their order. */
export type SqlColumns<T> = Readonly<Record<string, (record: T) => SqlValue>>;

/** The statements of one transaction. Invalid after it. */
export interface SqlSession {
  readonly dialect: SqlDialect;
  /**
   * The rows of a statement (also of one with RETURNING), as objects by column name; `Row` declares the columns. Whole
   * numbers are numbers where they are safe, else text; instants are ISO 8601 in UTC with a Z (and up to microseconds),
   * days YYYY-MM-DD; JSON, UUID and NUMERIC are text; arrays are arrays.
   */
  rows<Row extends object>(sql: string, values?: readonly SqlValue[]): Promise<readonly Row[]>;
  /** As {@link rows}, but few of the rows are in memory at one time (G8). To be read before the next statement. */
  stream<Row extends object>(sql: string, values?: readonly SqlValue[]): AsyncIterable<Row>;
  /**
   * The rows of a statement by its columns, without an object a row: those of doubles, of which none is null, and those of
   * texts, each kind in its order.
   */
  columns(sql: string, values?: readonly SqlValue[]): Promise<ReadColumns>;
  /** Returns the number of rows that were inserted, updated or deleted. */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;
  /** Adds records to a table, by the engine's quickest way. */
  append<T>(table: string, columns: SqlColumns<T>, records: Iterable<T>): Promise<void>;
}

export interface ReadColumns {
  readonly length: number;
  readonly numbers: readonly Float64Array[];
  readonly texts: ReadonlyArray<ReadonlyArray<string | null>>;
}

/** A type of items in lists and relations. `TID` is PostgreSQL's type of {@link SqlDialect.rowId}. */
export type SqlType = 'VARCHAR' | 'INTEGER' | 'BIGINT' | 'JSON' | 'TID';

/** What differs between the engines, SQL most of all. `parameter` is a placeholder for a {@link JsonText}, such as `$1`. */
export interface SqlDialect {
  /** For a SELECT list: one row for each item of a JSON list. */
  each(parameter: string, type: SqlType): string;
  /** A relation over a JSON list of objects, in brackets and without an alias, with these columns. */
  relation(parameter: string, fields: Readonly<Record<string, SqlType>>): string;
  /**
   * A relation over the members of a JSON object, or the items of a JSON list, in brackets and without an alias: `name`
   * (of a member), `value` (as text) and `place`, by which they are ordered.
   */
  members(json: string): string;
  items(json: string): string;
  /** The text at the end of these names in a JSON object; null if there is none. */
  textAt(json: string, names: readonly string[]): string;
  /** The text of a JSON object with these members, each SQL of its value. */
  jsonObject(members: Readonly<Record<string, string>>): string;
  /** The SHA-256 of a text in UTF-8, as hexadecimal digits. */
  sha256(text: string): string;
  /** The JSON object `base` with the members of `changes` in the place of its own; `base` may be null. */
  merged(base: string, changes: string): string;
  /** For a SELECT list: one row for the first day of each month that the days `first` to `last` touch. */
  eachMonth(first: string, last: string): string;
  /** SQL of an aggregate: the value, which may be null, of the row that comes first by these keys. */
  firstBy(value: string, keys: readonly string[]): string;
  /** The number of bits of a whole number that are set, and the place of the highest one, from 0. */
  bitCount(number: string): string;
  highestBit(number: string): string;
  /** The statement that makes a table that ends with the transaction. */
  temporaryTable(name: string, columns: string): string;
  /**
   * A condition beside a join that holds for all rows whose `column` has one of the keys, and perhaps for others: for an
   * engine that skips rows by constants alone. `keys`: at least one.
   */
  amongKeys(column: string, keys: readonly number[]): string;
  /**
   * The end of a SELECT that locks its rows until the end of the transaction; empty for an engine in which one
   * transaction writes at a time, and undisturbed.
   */
  rowLock(mode: 'update' | 'share'): string;
  /**
   * SQL of an instant by the clock of the database, after the commits that the transaction waited for: now, or the begin of
   * the transaction in an engine where one writes at a time.
   */
  readonly clock: string;
  /** The column that tells a row from all others of its table during a statement. */
  readonly rowId: string;
  readonly rowIdType: SqlType;
  /** The text that is read again where this one was stored: engines hold no half of a character, and some no U+0000. */
  stored(text: string): string;
  /** The same for the text of a JSON value in a row of daily production. */
  storedJson(json: string): string;
}

/** SQL of names and values in turn, as an engine's function of a JSON object takes them. */
export function argumentsOf(members: Readonly<Record<string, string>>): string {
  return Object.entries(members)
    .map(([name, value]) => `'${name}', ${value}`)
    .join(', ');
}

/** A database with the tables of a warehouse of this version. */
export interface SqlDatabase {
  /** The service that this handle works for; undefined for a read-only handle. */
  readonly service: ServiceIdentity | undefined;
  /**
   * Runs the work in one transaction, which commits all of its changes or none. May run it again, in a new transaction,
   * after one that was rolled back for a reason that passes: another one in its way, or a lost connection.
   */
  transact<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
  /**
   * From now on every transaction of this handle throws TakenOverError if the warehouse has another epoch, or belongs
   * to another service (G11); such an error is passed to `onTakenOver`.
   */
  fence(epoch: number, onTakenOver: (error: Error) => void): () => void;
  /** The engine's words, if an error says that a table or column is missing or has another type. */
  tableFault(error: unknown): string | undefined;
  /** As {@link transact}, but never runs the work again: for work that reads an iterable, or hands rows on. */
  transactOnce<T>(work: (session: SqlSession) => Promise<T>): Promise<T>;
}

/** A method of a store as the work of a transaction, whose session comes before the arguments. */
export type InSession<Method> = Method extends (...given: infer Given) => Promise<infer Result>
  ? (session: SqlSession, ...given: Given) => Promise<Result>
  : never;

type Work = (session: SqlSession, ...given: readonly unknown[]) => Promise<unknown>;

/** A store of which each method is a transaction. */
export function transacted<Store extends object>(
  database: SqlDatabase,
  works: { readonly [Name in keyof Store]: InSession<Store[Name]> },
): Store {
  const methods = Object.entries(works as Readonly<Record<string, Work>>).map(
    ([name, work]) => [name, (...given: unknown[]) => database.transact((session) => work(session, ...given))] as const,
  );
  return Object.fromEntries(methods) as Store;
}

/** SQL of a SELECT list: members of a record, out of their columns. */
export function membersOf(...members: readonly string[]): string {
  return members.map((member) => `${columnOf(member)} AS "${member}"`).join(', ');
}

/** Members of a record, for their columns. */
export function columnsOf<Name extends string>(
  ...members: readonly Name[]
): SqlColumns<Readonly<Record<Name, SqlValue>>> {
  const read = (member: Name) => (record: Readonly<Record<Name, SqlValue>>) => record[member];
  return Object.fromEntries(members.map((member) => [columnOf(member), read(member)]));
}

/** The only row of a statement, or its first one. Throws Error without a row. */
export async function oneRow<Row extends object>(
  session: SqlSession,
  sql: string,
  values?: readonly SqlValue[],
): Promise<Row> {
  const [row] = await session.rows<Row>(sql, values);
  if (row === undefined) throw new Error(`a row is missing: ${sql}`);
  return row;
}

/** The number of rows of a table, or of what else may stand behind FROM. */
export async function countOf(session: SqlSession, from: string, values?: readonly SqlValue[]): Promise<number> {
  return (await oneRow<{ rows: number }>(session, `SELECT count(*) AS rows FROM ${from}`, values)).rows;
}

/** Runs a statement over a JSON list, bound at `$1`, unless it is empty. */
export async function runOver(
  session: SqlSession,
  list: readonly unknown[],
  sql: string,
  ...values: readonly SqlValue[]
): Promise<void> {
  if (list.length > 0) await session.run(sql, [jsonText(list), ...values]);
}

/** A row with the members of a record: null where the record has undefined. */
export type RowOf<Of> = {
  readonly [Name in keyof Of]-?: undefined extends Of[Name] ? Exclude<Of[Name], undefined> | null : Of[Name];
};

export function recordOf<Of extends object>(row: RowOf<Of>): Of {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? undefined])) as Of;
}

/** Locks rows, unless the engine has no need of it. `select` reads them from one table, in the order of locking. */
export async function lockRows(
  session: SqlSession,
  select: string,
  values: readonly SqlValue[] = [],
  mode: 'update' | 'share' = 'update',
): Promise<void> {
  const lock = session.dialect.rowLock(mode);
  if (lock !== '') await session.rows(`${select} ${lock}`, values);
}

export function epochMs(instant: string): string {
  return `CAST(extract(epoch FROM ${instant}) * 1000 AS BIGINT)`;
}

/** SQL of an instant, as a constant: milliseconds since 1970. */
export function instantAt(ms: number): string {
  return `TIMESTAMPTZ '${new Date(ms).toISOString()}'`;
}

/** SQL of the calendar day for a day number: days since 1970-01-01. */
export function dayOfNumber(expression: string): string {
  return `DATE '1970-01-01' + CAST(${expression} AS INTEGER)`;
}

/** SQL of the day number of a calendar day. */
export function numberOfDay(day: string): string {
  return `${day} - DATE '1970-01-01'`;
}

// JSON on its way to an engine.

/** A JSON text as a value of a statement. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = wellFormed(text);
  }
}

export function jsonText(value: unknown): JsonText {
  return new JsonText(JSON.stringify(value));
}

/**
 * JSON text without lone surrogates, which JSON allows as escapes and the engines refuse: one of them would fail the whole
 * batch, every time. An escaped backslash before `ud800` stays.
 */
export function wellFormed(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replaceAll(/\\u(?:d[89ab][\da-f]{2}\\ud[c-f][\da-f]{2})|\\\\|\\ud[89a-f][\da-f]{2}/gi, (escape) =>
    escape.length === 6 ? '\\ufffd' : escape,
  );
}

// Writes the rows of a statement to a text file, each value as a query prints it.

/** The name of a column in the header of CSV. */
export function headOf(name: string, { units, hasUnitHeads = false }: CopyTarget): string {
  return hasUnitHeads ? headWithUnit(name, units) : name;
}

/** Returns the number of rows. Throws what the rows throw, and the system's error where the file cannot be written. */
export async function writeRows({ columns, rows }: QueryResult, target: CopyTarget): Promise<number> {
  const names = distinctNames(columns.map(({ name }) => name));
  let count = 0;
  async function* items(): AsyncGenerator {
    for await (const row of rows) {
      count += 1;
      yield target.format === 'csv' ? row : ndjsonLine(names, row);
    }
  }
  const forms: readonly Duplex[] = [
    ...(target.format === 'csv' ? [stringify(csvForm(names.map((name) => headOf(name, target))))] : []),
    ...(target.isGzip ? [createGzip()] : []),
  ];
  await pipeline([Readable.from(items()), ...forms, createWriteStream(target.path)]);
  return count;
}

// Turns of writers. Where several transactions write at a time, some rules rest on one of them looking and writing
// before the next one looks, and no row stands for the rule: two runs that ask for the same work, or the end of the
// audit. Each such subject has a row of `writer_turn`, which its transactions lock first. In an engine with one writer
// at a time every transaction is a turn.

/** A transaction that needs several takes them in this order, so that none waits for another in a circle. */
type TurnSubject = 'request' | 'retention' | 'push' | 'audit' | 'definitions' | 'feed' | 'alert';

/**
 * Waits until no other transaction has the turn, and keeps it until the end of this one. Statements after it see what the
 * others wrote.
 */
export async function takeTurn(session: SqlSession, subject: TurnSubject): Promise<void> {
  await lockRows(session, 'SELECT 1 FROM writer_turn WHERE subject = $1', [subject]);
}
