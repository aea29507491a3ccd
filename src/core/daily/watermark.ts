/** Watermarks: where the next incremental read of a well begins (docs/design.md section 4.1). */
import { beginOfDayAt } from '../time/production-day.ts';
import type { ReadMode, Window } from '../time/window.ts';
import type { WindowBatch } from './merge.ts';

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
