/** Sums over the windows of a batch. */
import { DAY_MS } from '../../../core/time/window.ts';
import type { CountedWindow, WellWindow } from './daily-tables.ts';

/** The first days of the months of all rows, as day numbers. */
export function monthsOf(windows: readonly WellWindow[]): readonly number[] {
  const months = new Set<number>();
  let first = -Infinity;
  for (const { rows } of windows) {
    for (const day of rows.days) {
      if (day >= first && day < first + leastDaysOfMonth) continue;
      first = day - new Date(day * DAY_MS).getUTCDate() + 1;
      months.add(first);
    }
  }
  return [...months];
}

const leastDaysOfMonth = 28;

export function sumOf(windows: readonly CountedWindow[], name: 'inserted' | 'updated' | 'removed'): number {
  return windows.reduce((sum, window) => sum + window[name], 0);
}
