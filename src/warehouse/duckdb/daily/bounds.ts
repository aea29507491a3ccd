/**
 * Conditions with constants on the rows of a batch, for the engine to prune with: it skips row groups, and parts of
 * them, by the smallest and largest value of a column. A join alone does not make it skip enough.
 */
import { instant } from '../file/sql.ts';

/** Wells whose keys lie further apart get a range of their own. */
const joinedApart = 16;
/** Each range is compared with every row that is scanned. */
const maxRanges = 32;

type Range = readonly [low: number, high: number];

/** SQL of a condition on `column` that holds for all of `keys`, and for few others; keys are integers, at least one. */
export function isAmongKeys(column: string, keys: Iterable<number>): string {
  const ranges = rangesOf([...new Set(keys)].toSorted((left, right) => left - right));
  return `(${ranges.map(([low, high]) => `${column} BETWEEN ${low} AND ${high}`).join(' OR ')})`;
}

/** Ranges of sorted keys, with the widest gaps between them. */
function rangesOf(keys: readonly number[]): readonly Range[] {
  const gaps = keys.flatMap((key, index) => {
    const before = keys[index - 1];
    return before === undefined || key - before <= joinedApart ? [] : [{ before, key }];
  });
  const widest = gaps
    .toSorted((left, right) => right.key - right.before - (left.key - left.before))
    .slice(0, maxRanges - 1)
    .toSorted((left, right) => left.key - right.key);
  const lows = [keys[0] ?? 0, ...widest.map(({ key }) => key)];
  const highs = [...widest.map(({ before }) => before), keys.at(-1) ?? 0];
  return lows.map((low, index) => [low, highs[index] ?? low]);
}

/** SQL of a condition on the instants of `column`: from `fromMs` on, before `toMs`. */
export function isBetweenInstants(column: string, fromMs: number, toMs: number): string {
  return `(${column} >= ${instant(String(fromMs))} AND ${column} < ${instant(String(toMs))})`;
}
