/** How many rows of a comparison have which change: its result, counted by window. */
import type { WindowCounts } from '../../../core/daily/merge.ts';
import type { ComparedCounts } from './daily-tables.ts';

/** What becomes of a row (the comparison of each engine says when). `same` stands where an engine keeps equal rows. */
export type Change = 'fresh' | 'same' | 'updated' | 'removed' | 'kept' | 'replaced' | 'successor';

export interface Tally {
  /** Null for rows that are not in the reading. */
  readonly windowNo: number | null;
  /** Null for rows that are not stored in a window of the batch. */
  readonly storedNo: number | null;
  readonly change: Change;
  readonly rows: number;
  readonly otherDay: number;
  /** The last day of the stored ones among them, as a day number; null if none is stored. */
  readonly lastDay: number | null;
}

export type MutableCounts = { -readonly [name in keyof ComparedCounts]: number };

export function noCounts(): MutableCounts {
  const known = { stored: 0, inserted: 0, updated: 0, unchanged: 0, leaving: 0, replaced: 0 };
  return { ...known, otherDay: 0, rowsBefore: 0, lastChangedDay: -Infinity };
}

/** Adds the tallies to the counts of their windows, which are in the order of the windows' numbers. */
export function addTallies(counts: readonly MutableCounts[], tallies: readonly Tally[]): void {
  for (const { windowNo, storedNo, change, rows, otherDay, lastDay } of tallies) {
    const stood = storedNo === null ? undefined : counts[storedNo];
    if (stood !== undefined) stood.stored += rows;
    const count = counts[windowNo ?? storedNo ?? -1];
    if (count === undefined) throw new Error(`the comparison counted rows of window ${windowNo}, which is not there`);
    const name = countedAs[change];
    if (name !== undefined) count[name] += rows;
    if (change === 'replaced') count.replaced += rows;
    if (change !== 'fresh' && change !== 'successor') count.rowsBefore += rows;
    count.otherDay += otherDay;
    if (lastDay !== null && ends.has(change)) count.lastChangedDay = Math.max(count.lastChangedDay, lastDay);
  }
}

/** What ends the stored version of a row. */
const ends: ReadonlySet<Change> = new Set<Change>(['updated', 'replaced', 'removed']);

const countedAs: Readonly<Record<Change, keyof WindowCounts | undefined>> = {
  fresh: 'inserted',
  same: 'unchanged',
  updated: 'updated',
  removed: 'leaving',
  kept: undefined,
  replaced: 'updated',
  successor: undefined,
};
