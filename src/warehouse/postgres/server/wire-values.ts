/**
 * Values on their way to PostgreSQL and back. Those that come are JSON values, as DuckDB's are
 * (../../duckdb/query/json-value.ts), so that both warehouses answer alike.
 */
import type { CustomTypesConfig } from 'pg';
import { JsonText } from '../../sql/json-text.ts';
import type { SqlValue } from '../../sql/session.ts';

/** A text as a value may be written: PostgreSQL holds no U+0000, and half a character becomes U+FFFD in UTF-8. */
export function storableText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}

/** JSON without an escaped U+0000, which would make every member of its object unreadable in PostgreSQL. */
export function storableJson(json: string): string {
  if (!json.includes('\\u0000')) return json;
  return json.replaceAll(/\\\\|\\u0000/g, (escape) => (escape.length === 2 ? escape : '\\ufffd'));
}

/** The text of a value, as the server reads it for a parameter of any type. */
export function textOf(value: Exclude<SqlValue, null>): string {
  if (value instanceof JsonText) return storableJson(value.text);
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? storableText(value) : String(value);
}

export function parametersOf(values: readonly SqlValue[]): Array<string | null> {
  return values.map((value) => (value === null ? null : textOf(value)));
}

/** Numbers of types, from pg_type.dat of PostgreSQL. */
const oid = {
  int8: 20,
  json: 114,
  date: 1082,
  timestamp: 1114,
  timestamptz: 1184,
  jsonb: 3802,
  interval: 1186,
} as const;

type Parser = (text: string) => unknown;

const parsers: ReadonlyMap<number, Parser> = new Map<number, Parser>([
  [oid.int8, safeNumber],
  [oid.date, asItIs],
  [oid.json, asItIs],
  [oid.jsonb, asItIs],
  [oid.interval, asItIs],
  [oid.timestamp, (text) => text.replace(' ', 'T')],
  [oid.timestamptz, (text) => text.replace(' ', 'T').replace(/\+00$/, 'Z')],
]);

function asItIs(text: string): string {
  return text;
}

function safeNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** The `types` of a connection: those that the library would change, and its own for the others. */
export function typesWith(library: CustomTypesConfig): CustomTypesConfig {
  const parserOf = (...[id, format]: Parameters<CustomTypesConfig['getTypeParser']>): unknown =>
    parsers.get(id) ?? library.getTypeParser(id, format);
  return { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };
}
