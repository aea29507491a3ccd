/** Lossless conversion of DuckDB's values to JSON. */
import type {
  DuckDBValueConverter,
  Json,
  DuckDBTypeId as TypeId,
  DuckDBTimestampTZValue as TimestampTZValue,
} from '@duckdb/node-api';
import {
  DuckDBDateValue,
  DuckDBIntervalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JsonDuckDBValueConverter,
} from '../file/engine.ts';

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
