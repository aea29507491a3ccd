/** What a commit of daily production needs of an engine: how it finds, compares and writes rows. */
import type { WindowBatch } from '../../../core/daily/merge.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { SqlSession, SqlValue } from '../session.ts';
import type { BatchWell, KeyStatements } from './batch-wells.ts';
import type { ComparedCounts } from './comparison.ts';

export interface WellWindow extends WindowBatch, BatchWell {}

export interface CountedWindow extends WellWindow, Pick<ComparedCounts, 'inserted' | 'updated' | 'lastChangedDay'> {
  /** Without the rows that are held. */
  readonly removed: number;
}

export interface Noticed {
  readonly runId: string;
  readonly atMs: number;
}

/** Days of one well, both bounds included, as day numbers. */
export interface DaysOfWell {
  readonly wellId: number;
  readonly fromDay: number;
  readonly toDay: number;
}

/** The tables of rows in an engine, in the transaction of one commit. */
export interface DailyTables {
  readonly session: SqlSession;
  readonly byteLength: (text: string) => string;
  /** SQL of the instant of the last change; null without one. */
  readonly lastChange: string;
  /** Notes the instant of a change, in an engine that does not find it in the history. */
  recordChange(atMs: number): Promise<void>;
  readonly keys: KeyStatements;
  /**
   * What replacing each window would do, in their order. `windows` as core's settleBatch returns them, by their keys, so
   * that rows are inserted in that order, by the way that each takes. The windows of known wells and their rows stand in
   * `merge_window` and `staged_row` then.
   */
  compare(windows: readonly WellWindow[]): Promise<readonly ComparedCounts[]>;
  /** Writes what {@link compare} found, but for the rows that were marked as kept since. */
  replace(windows: readonly CountedWindow[], noticed: Noticed): Promise<void>;
  /** The rows that the table now has, by the index of the window; a window without any may be absent. */
  countRows(windows: readonly CountedWindow[]): Promise<readonly Record<'windowNo' | 'rows', number>[]>;
  /**
   * SQL of a relation `d` with the rows of these days of wells, found by what the engine finds rows by; with the values that it
   * binds. Day numbers, both of them included.
   */
  rowsOfDays(wells: readonly DaysOfWell[]): {
    readonly sql: string;
    readonly values: readonly SqlValue[];
  };
  /** The last day with a row, as a day number, by the key of the well; a well without rows may be absent. */
  lastDays(
    wellIds: readonly number[],
  ): Promise<ReadonlyArray<{ readonly wellId: number; readonly day: number | null }>>;
}

/** Work on the tables beside the commits of reads, in one transaction. */
export interface WithinTables {
  readonly within: <T>(work: (tables: DailyTables) => Promise<T>) => Promise<T>;
}

/** Of each well the instants between which all rows of its days lie, whatever its zone. */
export function instantsOfDays(
  wells: Parameters<DailyTables['rowsOfDays']>[0],
): ReadonlyArray<Readonly<Record<'well_id' | 'from_day' | 'to_day' | 'from_ms' | 'to_ms', number>>> {
  return wells.map(({ wellId, fromDay, toDay }) => {
    const [from, to] = [Math.max(fromDay, leastDay), Math.min(toDay, mostDay)];
    const bounds = { from_ms: (from - zoneDays) * DAY_MS, to_ms: (to + 1 + zoneDays) * DAY_MS };
    return { well_id: wellId, from_day: from, to_day: to, ...bounds };
  });
}

/** In some zones a production day begins a day before that of UTC, or after it. */
const zoneDays = 2;
/** The first day of the year 1, and the last one of the year 9999. */
const leastDay = -719_162;
const mostDay = 2_932_896;

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
