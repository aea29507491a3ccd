/**
 * Conditions with constants on the rows of a batch, for the engine to prune with: it skips row groups, and parts of
 * them, by the smallest and largest value of a column. A join alone does not make it skip enough.
 */
import { instant } from './sql.ts';

/** Keys with no wider gaps between them count as a range: their rows lie in the same row groups, or in the next ones. */
const joinedApart = 16;
/** Each row group is compared with every key of a list. */
const mostListed = 4_096;

/**
 * SQL of a condition on `column` that holds for all of `keys`, and for few others, unless they lie apart and are more than
 * {@link mostListed}: then for all between the first and the last. Keys are integers, at least one. A list and not ranges
 * with OR, by which the engine skips nothing (DuckDB 1.5).
 */
export function isAmongKeys(column: string, keys: Iterable<number>): string {
  const sorted = [...new Set(keys)].toSorted((left, right) => left - right);
  const isDense = sorted.every((key, index) => key - (sorted[index - 1] ?? key) <= joinedApart);
  if (isDense || sorted.length > mostListed) return `${column} BETWEEN ${sorted[0]} AND ${sorted.at(-1)}`;
  return `${column} IN (${sorted.join(', ')})`;
}

/** SQL of a condition on the instants of `column`: from `fromMs` on, before `toMs`. */
export function isBetweenInstants(column: string, fromMs: number, toMs: number): string {
  return `(${column} >= ${instant(String(fromMs))} AND ${column} < ${instant(String(toMs))})`;
}
