/** Watermarks, where the next incremental read of a well begins, and freshness (docs/design.md section 4.1). */
import { beginOfDayAt, dayNumber } from '../time/production-day.ts';
import type { ReadMode, Window } from '../time/window.ts';
import type { WindowBatch } from './merge.ts';
import type { QuarantinedRecord } from './row.ts';

/**
 * The window of an incremental read: from the begin of the production day of `wantedMs` to `nowMs`, so that no row of that
 * day is sent and ignored. Never empty, and never earlier than the start of history. `timeZone`: of the well.
 */
export function incrementalWindow(options: {
  readonly wantedMs: number;
  readonly historyFromMs: number;
  readonly nowMs: number;
  readonly timeZone: string;
}): Window {
  const { wantedMs, historyFromMs, nowMs, timeZone } = options;
  const fromMs = Math.max(historyFromMs, beginOfDayAt(Math.min(wantedMs, nowMs - 1), timeZone));
  return { fromMs: Math.min(fromMs, nowMs - 1), toMs: nowMs };
}

/**
 * The watermark of a well after `window` became durable (G3). It moves only forward, only for an incremental read, and
 * only when the window adjoins or overlaps what is durable: a gap in between stops it. A well without a watermark
 * starts with its first durable window, which an incremental read begins at the start of history.
 */
export function advanceWatermark(currentMs: number | undefined, window: Window, mode: ReadMode): number | undefined {
  if (mode === 'backfill') return currentMs;
  if (currentMs === undefined) return window.toMs;
  if (window.fromMs > currentMs) return currentMs;
  return Math.max(currentMs, window.toMs);
}

/** The watermarks that move, by well, when these windows become durable. Windows of one well are in order of time. */
export function movedWatermarks(
  current: ReadonlyMap<string, number>,
  windows: ReadonlyArray<Pick<WindowBatch, 'uwi' | 'window' | 'mode'>>,
): ReadonlyMap<string, number> {
  const moved = new Map<string, number>();
  for (const { uwi, window, mode } of windows) {
    const beforeMs = moved.get(uwi) ?? current.get(uwi);
    const afterMs = advanceWatermark(beforeMs, window, mode);
    if (afterMs !== undefined && afterMs !== beforeMs) moved.set(uwi, afterMs);
  }
  return moved;
}

/**
 * Up to when these reads verified their wells, by well: the end of the window, or of the first of several. A run may be
 * retried days after it was planned, so that the time of the commit is no measure; no read shows what comes after that
 * time. A well has no entry by a backfill, or where one of its windows is unverified. What a verified read holds, it has
 * shown to be missing.
 */
export function verifiedUpTo(
  windows: ReadonlyArray<Pick<WindowBatch, 'uwi' | 'window' | 'mode' | 'isVerified'>>,
  committedAtMs: number,
): ReadonlyMap<string, number> {
  const due = windows.filter(({ mode }) => mode === 'incremental');
  const verified = new Map<string, number>();
  for (const { uwi, window } of due) {
    verified.set(uwi, Math.min(committedAtMs, window.toMs, verified.get(uwi) ?? Number.POSITIVE_INFINITY));
  }
  for (const { uwi, isVerified } of due) if (!isVerified) verified.delete(uwi);
  return verified;
}

// Freshness: whether new days of a well still come (docs/design.md section 4.1). Days are day numbers.

/** `quarantined`: stale, although records of newer days come. `empty`: the well never had a row. */
export type Freshness = 'fresh' | 'stale' | 'quarantined' | 'empty';

/** The last day with a row after a read of rows of these days. */
export function lastDayAfter(lastDay: number | undefined, days: Int32Array): number | undefined {
  let newest = lastDay;
  for (const day of days) if (newest === undefined || day > newest) newest = day;
  return newest;
}

/** A quarantined record without a day may be of any day: it counts as a newer one. */
export function freshnessOf(options: {
  readonly lastDay: number | undefined;
  readonly today: number;
  readonly warnAfterDays: number;
  readonly quarantined: readonly Pick<QuarantinedRecord, 'day'>[];
}): Freshness {
  const { lastDay, today, warnAfterDays, quarantined } = options;
  const comes = quarantined.some(({ day }) => day === null || lastDay === undefined || dayNumber(day) > lastDay);
  if (lastDay === undefined) return comes ? 'quarantined' : 'empty';
  // Whole days between the two, neither counted.
  const silentDays = Math.max(0, today - lastDay - 1);
  if (silentDays < warnAfterDays) return 'fresh';
  return comes ? 'quarantined' : 'stale';
}

/** Sentences for the report of a run. */
export function freshnessNotice(freshness: Freshness, warnAfterDays: number): readonly string[] {
  const silence = `no new day for ${warnAfterDays} ${warnAfterDays === 1 ? 'day' : 'days'} or more`;
  const notices: Readonly<Record<Freshness, readonly string[]>> = {
    fresh: [],
    stale: [`${silence}: {targets}`],
    quarantined: [`${silence}, though records come: they are quarantined: {targets}`],
    empty: ['no row has come yet: {targets}'],
  };
  return notices[freshness];
}
