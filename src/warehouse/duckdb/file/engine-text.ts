/** How the engine writes a column into a text file, so that it reads as {@link jsonValue} shows it. */
import type {
  DuckDBTimestampTZValue as TimestampTZValue,
  DuckDBTypeId as TypeId,
  DuckDBValueConverter,
  Json,
} from '@duckdb/node-api';
import {
  DuckDBDateValue,
  DuckDBIntervalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JsonDuckDBValueConverter,
} from './engine.ts';

type TextFormat = 'csv' | 'ndjson';
type Expression = (column: string, format: TextFormat) => string;

/** The expression for a column; undefined for a type that the engine cannot write so. */
export function engineText(column: string, typeId: TypeId, format: TextFormat): string | undefined {
  return expressions.get(typeId)?.(column, format);
}

const asItIs: Expression = (column) => column;
/** Of JSON as well, which the engine would write as an object. */
const asText: Expression = (column) => `CAST(${column} AS VARCHAR)`;

const wholeNumber: Expression = (column, format) => {
  if (format === 'csv') return column;
  const isSafe = `abs(CAST(${column} AS DOUBLE)) <= ${Number.MAX_SAFE_INTEGER}`;
  return `CASE WHEN ${isSafe} THEN to_json(TRY_CAST(${column} AS BIGINT)) ELSE to_json(CAST(${column} AS VARCHAR)) END`;
};

/** A FLOAT gets the digits of the same number as a DOUBLE. */
const fraction: Expression = (column, format) => {
  const number = `CAST(${column} AS DOUBLE)`;
  const shown = format === 'csv' ? (text: string) => `CAST(${text} AS VARCHAR)` : (text: string) => `to_json(${text})`;
  const infinity = `CAST('Infinity' AS DOUBLE)`;
  return `CASE WHEN isnan(${number}) THEN ${shown(`'NaN'`)} WHEN ${number} = ${infinity} THEN ${shown(`'Infinity'`)} WHEN ${number} = -${infinity} THEN ${shown(`'-Infinity'`)} ELSE ${shown(number)} END`;
};

const localTime: Expression = (column) => `regexp_replace(CAST(${column} AS VARCHAR), ' ', 'T')`;

const instant: Expression = (column) =>
  `CASE WHEN isfinite(${column}) THEN ${localTime(`CAST(${column} AS TIMESTAMP)`, 'csv')} || 'Z' ELSE CAST(${column} AS VARCHAR) END`;

const expressions: ReadonlyMap<TypeId, Expression> = new Map([
  ...each(asItIs, 'BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'UTINYINT', 'USMALLINT', 'UINTEGER'),
  ...each(wholeNumber, 'BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT'),
  ...each(fraction, 'FLOAT', 'DOUBLE'),
  ...each(asText, 'DECIMAL', 'VARCHAR', 'DATE', 'ENUM', 'UUID'),
  ...each(localTime, 'TIMESTAMP'),
  ...each(instant, 'TIMESTAMP_TZ'),
]);

function each(expression: Expression, ...types: ReadonlyArray<keyof typeof DuckDBTypeId>) {
  return types.map((type) => [DuckDBTypeId[type], expression] as const);
}

// Lossless conversion of DuckDB's values to JSON.

/**
 * Numbers stay numbers, whole ones of any width if they are safe, else text; a DECIMAL is text, to keep its digits; NaN
 * and infinities are text. Days and timestamps are ISO text, instants in UTC with a Z, or `infinity` and `-infinity`. An interval is text, as
 * `3 days`. Lists are arrays, structs objects, maps arrays of {key, value}.
 */
export const jsonValue: DuckDBValueConverter<Json> = (value, type, converter) => {
  // Most values by far, which the library would compare with every type that it has.
  if (value === null || typeof value === 'string' || Number.isFinite(value)) return value as string | number | null;
  if (typeof value === 'bigint') return safeNumber(value);
  if (value instanceof DuckDBIntervalValue) return value.toString();
  if (value instanceof DuckDBDateValue && !value.isFinite) return value.days > 0 ? 'infinity' : '-infinity';
  if (value instanceof DuckDBTimestampTZValue) return instantText(value);
  if (localTimestampTypes.has(type.typeId)) return String(value).replace(' ', 'T');
  return JsonDuckDBValueConverter(value, type, converter);
};

const localTimestampTypes: ReadonlySet<TypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
]);

/** The library formats an instant in the time zone of the machine. */
function instantText({ micros }: TimestampTZValue): string {
  const utc = new DuckDBTimestampValue(micros);
  return utc.isFinite ? `${utc.toString().replace(' ', 'T')}Z` : utc.toString();
}

function safeNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
