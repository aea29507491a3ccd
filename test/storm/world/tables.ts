/** The tables of a warehouse as the checker of a storm reads them: by the engines' own clients, in one form for both. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DuckDBDateValue,
  type DuckDBConnection,
  DuckDBInstance,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBUUIDValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import { Client, types as libraryTypes } from 'pg';
import type { TableRow } from '../evidence.ts';

/** Rows by the name of their table; tables of the schema `internal` have it before their name. */
export type Tables = Readonly<Record<string, readonly TableRow[]>>;

/** Tables of readers that are views in one engine or both: dumped under their names, so that both have them. */
const dumpedViews = ['daily_production', 'feed_month'];

/** The columns of a table whose values are JSON, among all. */
interface Described {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
  readonly json: ReadonlySet<string>;
}

const described = (mainSchema: string): string => `
  SELECT c.table_schema AS schema, c.table_name AS name, c.column_name AS column, lower(c.data_type) AS type
  FROM information_schema.columns c JOIN information_schema.tables t
    ON t.table_catalog = c.table_catalog AND t.table_schema = c.table_schema AND t.table_name = c.table_name
  WHERE (t.table_type = 'BASE TABLE' AND c.table_schema IN ('${mainSchema}', 'internal'))
    OR (c.table_schema = '${mainSchema}' AND c.table_name IN (${dumpedViews.map((name) => `'${name}'`).join(', ')}))
  ORDER BY c.table_schema, c.table_name, c.ordinal_position`;

type Column = Readonly<Record<'schema' | 'name' | 'column' | 'type', string>>;

/** Asks an engine; values come in the form of the evidence, but for JSON, which is text. */
type Ask = (sql: string) => Promise<readonly TableRow[]>;

/** How long another process may hold the file. */
const waitMs = 60_000;
const againMs = 50;

/**
 * All tables of a DuckDB file, of one moment. Waits up to 60 s for another process that holds the file; then throws the
 * engine's error. No other instance may be open on the file in this process, since the engine sees those of others alone.
 */
export async function dumpDuckdb(file: string): Promise<Tables> {
  const instance = await openWhenFree(file);
  try {
    const connection = await instance.connect();
    try {
      return await dump('main', (sql) => duckdbRows(connection, sql));
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}

async function duckdbRows(connection: DuckDBConnection, sql: string): Promise<readonly TableRow[]> {
  const reader = await connection.runAndReadAll(sql);
  const names = reader.columnNames();
  return reader
    .getRows()
    .map((row) => Object.fromEntries(row.map((value, index) => [names[index] ?? '', plainDuckdb(value)])));
}

async function openWhenFree(file: string): Promise<DuckDBInstance> {
  const sinceMs = performance.now();
  for (;;) {
    try {
      return await DuckDBInstance.create(file, { access_mode: 'READ_ONLY', threads: '1' });
    } catch (error) {
      const isHeld = error instanceof Error && error.message.includes('Could not set lock');
      if (!isHeld || performance.now() - sinceMs > waitMs) throw error;
      await sleep(againMs);
    }
  }
}

function plainDuckdb(value: DuckDBValue): unknown {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return instantOf(value.micros);
  if (value instanceof DuckDBDateValue || value instanceof DuckDBUUIDValue) return value.toString();
  return typeof value === 'bigint' ? Number(value) : value;
}

const microsInMilli = 1_000n;

/** ISO text with microseconds, of microseconds since 1970. */
function instantOf(micros: bigint): string {
  const rest = ((micros % microsInMilli) + microsInMilli) % microsInMilli;
  const iso = new Date(Number((micros - rest) / microsInMilli)).toISOString();
  return `${iso.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/** All tables of a PostgreSQL database, of one moment; those of the schema public as the main ones. Throws errors of pg. */
export async function dumpPostgres(url: string): Promise<Tables> {
  const client = new Client({
    connectionString: url,
    types: { getTypeParser: parserOf as typeof libraryTypes.getTypeParser },
  });
  // An error beside a query comes as that of the query.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
      SET LOCAL TimeZone TO 'UTC'; SET LOCAL DateStyle TO 'ISO'; SET LOCAL search_path TO public`);
    return await dump('public', async (sql) => (await client.query<Record<string, unknown>>(sql)).rows);
  } finally {
    await client.end();
  }
}

/** By the numbers of pg_type.dat: int8, json, date, timestamptz, timestamp and numeric come as the library does not give them. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  20: Number,
  114: (text) => text,
  1082: (text) => text,
  1114: instantOfText,
  1184: instantOfText,
  1700: Number,
  3802: (text) => text,
};

function parserOf(oid: number, format?: 'text'): (text: string) => unknown {
  return parsers[oid] ?? (libraryTypes.getTypeParser(oid, format) as (text: string) => unknown);
}

/** `2024-03-04 04:00:00.5+00`, as a session in UTC writes it, and the same without its zone. */
function instantOfText(text: string): string {
  const [, day, second, fraction = ''] = /^(\S+) ([\d:]+)(?:\.(\d+))?(?:\+00)?$/.exec(text) ?? [];
  return day === undefined ? text : `${day}T${second}.${fraction.padEnd(6, '0')}Z`;
}

async function dump(mainSchema: string, ask: Ask): Promise<Tables> {
  const tables: Record<string, readonly TableRow[]> = {};
  for (const { schema, name, columns, json } of tablesOf((await ask(described(mainSchema))) as readonly Column[])) {
    const rows = await ask(`SELECT ${columns.map((column) => `"${column}"`).join(', ')} FROM ${schema}."${name}"`);
    tables[schema === mainSchema ? name : `${schema}.${name}`] = ordered(rows.map((row) => parsedJson(row, json)));
  }
  return tables;
}

/** Columns in the order of their names, which the two engines have alike. */
function tablesOf(columns: readonly Column[]): readonly Described[] {
  const tables = new Map<string, Column[]>();
  for (const each of columns) {
    const name = `${each.schema}.${each.name}`;
    tables.set(name, [...(tables.get(name) ?? []), each]);
  }
  return [...tables.values()].map((all) => ({
    schema: all[0]?.schema ?? '',
    name: all[0]?.name ?? '',
    columns: all.map(({ column }) => column).toSorted(),
    json: new Set(all.filter(({ type }) => type.startsWith('json')).map(({ column }) => column)),
  }));
}

function parsedJson(row: TableRow, json: ReadonlySet<string>): TableRow {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      json.has(name) && typeof value === 'string' ? (JSON.parse(value) as unknown) : value,
    ]),
  );
}

/** In the order of their texts: engines return rows in any order. */
function ordered(rows: readonly TableRow[]): readonly TableRow[] {
  return rows
    .map((row) => ({ row, text: JSON.stringify(row) }))
    .toSorted((left, right) => (left.text < right.text ? -1 : Number(left.text > right.text)))
    .map(({ row }) => row);
}
