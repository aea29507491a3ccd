/** The plan of an export, for a dry run. */
import { windowSpecSchema } from '../../../jobs/daily-production/plan.ts';
import { tierText } from '../../core/daily/due-window.ts';
import type { PlannedUnit } from '../../core/run/run.ts';

/** The JSON of a dry run. */
export interface ExportPlan {
  readonly job: string;
  readonly windows: readonly PlannedWindow[];
}

export interface PlannedWindow {
  readonly uwi: string;
  /** ISO instants; `to` is exclusive. */
  readonly from: string;
  readonly to: string;
  readonly mode: 'incremental' | 'backfill';
  /** Text of the lookback of an incremental window; null for a well that was never read, and for a backfill. */
  readonly lookback: string | null;
  /** What an incremental window reaches back to, if that is earlier than its lookback. */
  readonly reach: 'last-day' | 'hole' | null;
  /** Whether the read has to be verified, or the word of the service's profile may end it. */
  readonly isVerified: boolean;
  /** Number of the queue item that would hold it, from 0. */
  readonly chunk: number;
}

/** `units` as the jobs of daily production plan them. */
export function exportPlan(job: string, units: readonly PlannedUnit[]): ExportPlan {
  return { job, windows: units.map(windowOf) };
}

function windowOf({ target, chunk, spec }: PlannedUnit): PlannedWindow {
  const { fromMs, toMs, mode, lookback, reach, end } = windowSpecSchema.parse(spec);
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return {
    uwi: target,
    from,
    to,
    mode,
    lookback: lookback === undefined ? null : tierText(lookback),
    reach: reach === 'last-day' || reach === 'hole' ? reach : null,
    isVerified: end === undefined || end === 'proof',
    chunk,
  };
}
