/** Decides windows of source time: half-open intervals [from, to), and how far a watermark may move. Pure; time comes in as numbers. */

export const DAY_MS = 86_400_000;

/** Half-open interval [fromMs, toMs) of source time, milliseconds since 1970-01-01T00:00Z. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export function isInside(window: Window, instantMs: number): boolean {
  return instantMs >= window.fromMs && instantMs < window.toMs;
}

/** Whole days that a window touches, at least 1: what a page cap and a chunk's size are reckoned from. */
export function daysIn(window: Window): number {
  return Math.max(1, Math.ceil((window.toMs - window.fromMs) / DAY_MS));
}

/**
 * The window of an incremental read (DESIGN.md section 4.1): from the watermark minus the lookback, a well without one
 * from the start of history; to `nowMs`. Never empty and never from before the start of history.
 */
export function incrementalWindow(options: {
  readonly watermarkMs: number | undefined;
  readonly lookbackMs: number;
  readonly historyFromMs: number;
  readonly nowMs: number;
}): Window {
  const { watermarkMs, lookbackMs, historyFromMs, nowMs } = options;
  const wanted = watermarkMs === undefined ? historyFromMs : watermarkMs - lookbackMs;
  const fromMs = Math.max(historyFromMs, Math.min(wanted, nowMs - 1));
  return { fromMs: Math.min(fromMs, nowMs - 1), toMs: nowMs };
}

/**
 * The watermark after `window` became durable (G3). It moves only forward, only for an incremental read, and only when
 * the window joins on to what is durable already: with a hole in between it stays. A well without a watermark starts at
 * its first durable window, which an incremental read begins at the start of history.
 */
export function advanceWatermark(currentMs: number | undefined, window: Window, mode: ReadMode): number | undefined {
  if (mode === 'backfill') return currentMs;
  if (currentMs === undefined) return window.toMs;
  if (window.fromMs > currentMs) return currentMs;
  return Math.max(currentMs, window.toMs);
}

/** A backfill reads an explicit window and never moves a watermark (G3). */
export type ReadMode = 'incremental' | 'backfill';

/** What is asked of the service: one day more on both sides, since nobody knows whether its bounds are inclusive or in which zone (DESIGN.md section 3). */
export function askedWindow(window: Window): Window {
  return { fromMs: window.fromMs - DAY_MS, toMs: window.toMs + DAY_MS };
}
