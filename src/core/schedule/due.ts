/** Whether a schedule is due, and what becomes of a tick. */
import type { Ticks } from './ticks.ts';

export const catchUps = ['latest', 'none'] as const;

/** `latest`: of the ticks that nobody took in time, the last one is run, late. `none`: it is left out. */
export type CatchUp = (typeof catchUps)[number];

/** A tick that is taken within this time is not late: a worker may have been busy, or restarted. */
const inTimeMs = 5 * 60_000;

export interface DueTick {
  readonly dueMs: number;
  /** Whether it has to be left out. */
  readonly isMissed: boolean;
}

/** The last tick after `sinceMs` that nobody has taken although it was to be, milliseconds since 1970. */
export function overdueTick(ticks: Ticks, { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number }) {
  return ticks.latest(sinceMs, nowMs - inTimeMs);
}

/** The last tick after `sinceMs`, if one is due; those before it have been overtaken. */
export function dueTick(
  ticks: Ticks,
  { sinceMs, nowMs, catchUp }: { readonly sinceMs: number; readonly nowMs: number; readonly catchUp: CatchUp },
): DueTick | undefined {
  const dueMs = ticks.latest(sinceMs, nowMs);
  if (dueMs === undefined) return undefined;
  return { dueMs, isMissed: catchUp === 'none' && nowMs - dueMs > inTimeMs };
}
