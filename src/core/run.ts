/** Owns the words of a run: its states, its units, its counts and its report (DESIGN.md sections 2 and 4). */
import type { Fault } from './errors.ts';

/**
 * queued -> running -> done | failed | cancelled; `runs retry` takes a failed or cancelled run back to queued with the
 * units that are not settled.
 */
export type RunState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

export function isFinished(state: RunState): state is 'done' | 'failed' | 'cancelled' {
  return state === 'done' || state === 'failed' || state === 'cancelled';
}

/** Named whole numbers that add up over units: `read`, `inserted`, … Each job has its own names. */
export type Counts = Readonly<Record<string, number>>;

/** By name; a count that one of them lacks is 0 there. */
export function addCounts(left: Counts, right: Counts): Counts {
  const sum: Record<string, number> = { ...left };
  for (const [name, value] of Object.entries(right)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

/** What is asked of a run; `params` is the job's own, checked by the job's schema and free of secrets (G10). */
export interface RunRequest {
  readonly runId: string;
  readonly job: string;
  readonly params: unknown;
  readonly requestedAtMs: number;
}

/** The smallest thing that is settled by itself: one well with its window. */
export interface PlannedUnit {
  /** Ordinal within the run, from 0, dense: the bit of its progress. */
  readonly unit: number;
  /** The queue item that it travels in, from 0. */
  readonly chunk: number;
  /** What the operator knows it by: a uwi. */
  readonly target: string;
  /** The job's own details, JSON. */
  readonly spec: unknown;
}

/**
 * open -> done | held | failed | cancelled, once. `held`: its rows are in, but a part of the work waits for the operator
 * (a window that would lose too many rows).
 */
export type UnitState = 'open' | 'done' | 'held' | 'failed' | 'cancelled';

export interface UnitOutcome {
  readonly unit: number;
  readonly state: Exclude<UnitState, 'open'>;
  readonly counts: Counts;
  /** Why it failed or is held. */
  readonly fault?: Fault;
  /** Said once in the report, however many units say it (an extra field, say); `{targets}` stands for their targets. */
  readonly notices?: readonly string[];
}

export interface RunRecord extends RunRequest {
  readonly state: RunState;
  /** 0 at first, one more with every `runs retry`: part of the ids of its queue items. */
  readonly round: number;
  /** Undefined until the run is planned. */
  readonly unitCount: number | undefined;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  readonly report: RunReport | undefined;
}

export interface RunFailure extends Fault {
  readonly target: string;
  readonly state: 'failed' | 'held';
}

/** Whether the sum of G2 holds, with both sides of it. */
export interface Balance {
  readonly balanced: boolean;
  /** The equation with its figures, for the operator. */
  readonly statement: string;
}

export interface RunReport {
  readonly runId: string;
  readonly job: string;
  readonly state: 'done' | 'failed' | 'cancelled';
  /** Why the whole run stopped, where it did. */
  readonly stopped?: Fault;
  readonly units: Readonly<Record<'total' | 'done' | 'held' | 'failed' | 'cancelled', number>>;
  readonly counts: Counts;
  readonly balance: Balance;
  /** The first of them; `units` has the number of all. */
  readonly failures: readonly RunFailure[];
  readonly notices: readonly string[];
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
}
