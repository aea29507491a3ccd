/**
 * Values on their way to PostgreSQL and back. Those that come are JSON values, as DuckDB's are
 * (../../duckdb/query/engine-text.ts), so that both warehouses answer alike.
 */
import type { CustomTypesConfig } from 'pg';
import { JsonText, type SqlValue } from '../../sql/session.ts';

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

type Parser = (text: string) => unknown;

/** A type by its number and that of its lists, from pg_type.dat of PostgreSQL, and how its text is read. */
const parsed: ReadonlyArray<readonly [name: string, oid: number, listOid: number, parser: Parser]> = [
  ['bytea', 17, 1001, asItIs],
  ['int8', 20, 1016, safeNumber],
  ['json', 114, 199, asItIs],
  ['date', 1082, 1182, asItIs],
  ['timestamp', 1114, 1115, (text) => text.replace(' ', 'T')],
  ['timestamptz', 1184, 1185, (text) => text.replace(' ', 'T').replace(/\+00$/, 'Z')],
  ['interval', 1186, 1187, asItIs],
  ['numeric', 1700, 1231, asItIs],
  ['jsonb', 3802, 3807, asItIs],
];

const parsers = new Map(parsed.map(([, oid, , parser]) => [oid, parser]));
const itemParsers = new Map(parsed.map(([, , listOid, parser]) => [listOid, parser]));
const textListOid = 1009;

function asItIs(text: string): string {
  return text;
}

function safeNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** Lists may hold lists, and nulls. */
function eachItem(list: unknown, parser: Parser): unknown {
  if (Array.isArray(list)) return list.map((item) => eachItem(item, parser));
  return typeof list === 'string' ? parser(list) : list;
}

/** The `types` of a connection: those that the library would change, and its own for the others. */
export function typesWith(library: CustomTypesConfig): CustomTypesConfig {
  // The library declares the numbers of single types alone.
  const textsOf = (library.getTypeParser as (oid: number) => Parser)(textListOid);
  const parserOf = (...[id, format]: Parameters<CustomTypesConfig['getTypeParser']>): unknown => {
    const itemParser = itemParsers.get(id);
    if (itemParser !== undefined) return (text: string) => eachItem(textsOf(text), itemParser);
    return parsers.get(id) ?? library.getTypeParser(id, format);
  };
  return { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };
}
