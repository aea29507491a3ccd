import type { ReadMode, Window } from '../time/window.ts';
import type { WindowBatch } from './merge.ts';

/**
 * The window of an incremental read: from `wantedMs` to `nowMs`. Never empty, and never earlier than the start of
 * history.
 */
export function incrementalWindow(options: {
  readonly wantedMs: number;
  readonly historyFromMs: number;
  readonly nowMs: number;
}): Window {
  const { wantedMs, historyFromMs, nowMs } = options;
  const fromMs = Math.max(historyFromMs, Math.min(wantedMs, nowMs - 1));
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

/**
 * The watermarks that move, by well, when these windows become durable. Windows of one well are in order of time. A
 * held window leaves a gap, which no watermark passes (G3, G4).
 */
export function movedWatermarks(
  current: ReadonlyMap<string, number>,
  windows: ReadonlyArray<Pick<WindowBatch, 'uwi' | 'window' | 'mode'> & { readonly held: boolean }>,
): ReadonlyMap<string, number> {
  const moved = new Map<string, number>();
  const wellsWithGap = new Set<string>();
  for (const { uwi, window, mode, held } of windows) {
    const beforeMs = moved.get(uwi) ?? current.get(uwi);
    if (held) wellsWithGap.add(uwi);
    // A well without a watermark would start above the gap.
    if (held || (beforeMs === undefined && wellsWithGap.has(uwi))) continue;
    const afterMs = advanceWatermark(beforeMs, window, mode);
    if (afterMs !== undefined && afterMs !== beforeMs) moved.set(uwi, afterMs);
  }
  return moved;
}

/**
 * The wells whose due windows these verified reads settled: not by a backfill, and not where one window of the well is
 * held or unverified.
 */
export function verifiedWells(
  windows: ReadonlyArray<Pick<WindowBatch, 'uwi' | 'mode' | 'isVerified'> & { readonly held: boolean }>,
): ReadonlySet<string> {
  const due = windows.filter(({ mode }) => mode === 'incremental');
  const verified = new Set(due.map(({ uwi }) => uwi));
  for (const { uwi, isVerified, held } of due) if (held || !isVerified) verified.delete(uwi);
  return verified;
}
