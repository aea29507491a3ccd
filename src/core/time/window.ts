export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Half-open interval [fromMs, toMs) of source time, milliseconds since 1970-01-01T00:00Z. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export function isInside(window: Window, instantMs: number): boolean {
  return instantMs >= window.fromMs && instantMs < window.toMs;
}

/** Length of a window in days, rounded up, at least 1. Page caps and chunk sizes are computed from it. */
export function daysIn(window: Window): number {
  return Math.max(1, Math.ceil((window.toMs - window.fromMs) / DAY_MS));
}

/**
 * The two halves of a window. They meet a whole number of days after its start; those of a window of a day or less in
 * its middle.
 */
export function halvesOf({ fromMs, toMs }: Window): readonly [Window, Window] {
  const lengthMs = toMs - fromMs;
  const firstMs = lengthMs > DAY_MS ? DAY_MS * Math.ceil(daysIn({ fromMs, toMs }) / 2) : Math.ceil(lengthMs / 2);
  return [
    { fromMs, toMs: fromMs + firstMs },
    { fromMs: fromMs + firstMs, toMs },
  ];
}

/** A backfill reads an explicit window and never moves a watermark (G3). */
export type ReadMode = 'incremental' | 'backfill';

/**
 * A day, so that the whole day of UTC below a window is requested from a service that reads its bounds as days and leaves
 * out the first; but not the instant a day below, so that the row of the day before does not come along each time.
 */
const marginBeforeMs = DAY_MS - 60_000;

/**
 * The range to request from the service: a day less a minute more before the window and a day more behind it, since the
 * interface does not show whether its bounds are inclusive or in which zone they are (docs/design.md section 3).
 * `daysBefore`, at least 1, asks for so many whole days before the window instead.
 */
export function askedWindow(window: Window, daysBefore?: number): Window {
  const beforeMs = daysBefore === undefined ? marginBeforeMs : daysBefore * DAY_MS;
  return { fromMs: window.fromMs - beforeMs, toMs: window.toMs + DAY_MS };
}
