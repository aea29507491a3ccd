/** Requests for a list of runs: converts the times of an operator to the filter of the ledger. Pure. */
import type { RunState } from '../../core/run/run.ts';
import type { RunFilter } from '../../warehouse/port/runs.ts';
import { namedInstant } from './backfill-bounds.ts';
import { type InputNames, namesFor } from './input-names.ts';

export interface RunListInput {
  readonly limit: number;
  readonly state?: RunState | undefined;
  readonly job?: string | undefined;
  /** A day of the zone or an ISO date-time: runs requested from then on. */
  readonly since?: string | undefined;
  /** Runs requested before then. */
  readonly until?: string | undefined;
  /** From the previous list. */
  readonly cursor?: string | undefined;
}

/** How long a list waits for a warehouse that another process holds. Short: the operator can repeat the command. */
export const listLockWaitMs = 3_000;

/** Throws UsageError for a text that is not a time. */
export function requestRunList(
  input: RunListInput,
  context: { readonly timeZone: string; readonly names?: InputNames<RunListInput> },
): RunFilter {
  const { timeZone } = context;
  const names = namesFor(['since', 'until'], context.names);
  const { limit, state, job, since, until, cursor } = input;
  return {
    limit,
    ...(state === undefined ? {} : { states: [state] }),
    ...(job === undefined ? {} : { job }),
    ...(since === undefined ? {} : { sinceMs: namedInstant(names.since, since, timeZone) }),
    ...(until === undefined ? {} : { untilMs: namedInstant(names.until, until, timeZone) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}
