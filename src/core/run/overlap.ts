/** What a command does that finds the run it would start unfinished (docs/design.md section 5). */

export interface UnfinishedRun {
  /** Whether some process works the queues of its job. */
  readonly isAttended: boolean;
  /** Milliseconds since it moved: since a unit was settled or made progress; since its request or its retry before that. */
  readonly unmovedMs: number;
}

/**
 * `skip`: it is under way, and its end is enough. `go-on`: nobody works it, so the command goes on with it. `stuck`: an
 * operator has to look.
 */
export type OverlapDecision = 'skip' | 'go-on' | 'stuck';

/** Two commands within this time are of one night. */
const sameNightMs = 5 * 60_000;

/**
 * Whether a run that was requested at `requestedAtMs` leaves out what came since, so that a new one is due once it has
 * ended. `readsUpToRequest`: its windows end at its request.
 */
export function isOutdated(
  { requestedAtMs, readsUpToRequest }: { readonly requestedAtMs: number; readonly readsUpToRequest: boolean },
  nowMs: number,
): boolean {
  return readsUpToRequest && nowMs - requestedAtMs > sameNightMs;
}

/**
 * `canWork`: the command works runs itself. One that only queues leaves a run without a worker queued, as it would leave
 * its own, but not for ever.
 */
export function decideOverlap(
  { isAttended, unmovedMs }: UnfinishedRun,
  { stuckAfterMs, canWork }: { readonly stuckAfterMs: number; readonly canWork: boolean },
): OverlapDecision {
  if (!isAttended && canWork) return 'go-on';
  if (unmovedMs > stuckAfterMs) return 'stuck';
  return isAttended ? 'skip' : 'go-on';
}
