/** Turns DuckDB's values into what JSON can carry without losing anything. */
import {
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JsonDuckDBValueConverter,
  type DuckDBValueConverter,
  type Json,
} from '@duckdb/node-api';

/**
 * Numbers stay numbers, whole ones of any width where they are safe, else text; a DECIMAL is text, since its digits are
 * the point of it; NaN and infinities are text. Days and timestamps are ISO text, instants in UTC with a Z. Lists are
 * arrays, structs objects, maps arrays of {key, value}.
 */
export const jsonValue: DuckDBValueConverter<Json> = (value, type, converter) => {
  if (value === null) return null;
  if (typeof value === 'bigint') return safeNumber(value);
  if (value instanceof DuckDBTimestampTZValue) return instantText(value);
  if (localTimestampTypes.has(type.typeId)) return String(value).replace(' ', 'T');
  return JsonDuckDBValueConverter(value, type, converter);
};

const localTimestampTypes: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
]);

/** The library's own text of an instant is in the zone of the machine. */
function instantText({ micros }: DuckDBTimestampTZValue): string {
  const utc = new DuckDBTimestampValue(micros);
  return utc.isFinite ? `${utc.toString().replace(' ', 'T')}Z` : utc.toString();
}

function safeNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
