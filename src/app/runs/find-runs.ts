/** Requests for a list of runs: converts the times of an operator to the filter of the ledger. Pure. */
import { UsageError } from '../../core/base/errors.ts';
import { exceptionRules, type JobDescription } from '../../core/run/job-description.ts';
import type { RunRecord, RunState, RunSummary } from '../../core/run/run.ts';
import { namedInstant } from '../../core/time/production-day.ts';
import type { RunFilter, RunLedger } from '../../warehouse/port/runs.ts';
import { type InputNames, namesFor } from '../exports/target-input.ts';

interface RunListInput {
  readonly limit: number;
  /** `exceptions`: done, with exceptions. */
  readonly state?: RunState | 'exceptions' | undefined;
  readonly job?: string | undefined;
  /** A part of the name of a target: a well, equipment or a file; empty for any. */
  readonly well?: string | undefined;
  /** The name of the schedule that they are of. */
  readonly schedule?: string | undefined;
  /** A part of the name of whoever asked for them. */
  readonly by?: string | undefined;
  /** A day of the zone or an ISO date-time: runs requested from then on. */
  readonly since?: string | undefined;
  /** Runs requested before then. */
  readonly until?: string | undefined;
  /** From the previous list. */
  readonly cursor?: string | undefined;
  /** From the previous list, for the newer runs before it. */
  readonly newer?: string | undefined;
}

/** Throws UsageError for a text that is not a time. */
export function requestRunList(
  input: RunListInput,
  context: {
    readonly timeZone: string;
    /** Needed for `exceptions` alone. */
    readonly jobs?: readonly JobDescription[];
    readonly names?: InputNames<RunListInput>;
  },
): RunFilter {
  const { timeZone, jobs = [] } = context;
  const names = namesFor(['since', 'until'], context.names);
  const { limit, state, job, since, until, cursor, newer, well, schedule, by } = input;
  return {
    limit,
    ...(state === undefined ? {} : state === 'exceptions' ? { exceptions: exceptionRules(jobs) } : { states: [state] }),
    ...(job === undefined ? {} : { job }),
    ...(since === undefined ? {} : { sinceMs: namedInstant(names.since, since, timeZone) }),
    ...(until === undefined ? {} : { untilMs: namedInstant(names.until, until, timeZone) }),
    ...(well === undefined || well.trim() === '' ? {} : { target: well.trim() }),
    ...(schedule === undefined ? {} : { schedule }),
    ...(by === undefined ? {} : { by: by.trim() }),
    ...(newer !== undefined ? { newerThan: newer } : cursor === undefined ? {} : { cursor }),
  };
}

const runsAtOnce = 500;

/** All runs that a filter admits, the newest first, by pages. */
export async function* listedRuns(runs: RunLedger, filter: Omit<RunFilter, 'limit'>): AsyncGenerator<RunSummary> {
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await runs.list({ ...filter, limit: runsAtOnce, ...(cursor !== undefined && { cursor }) });
    yield* page.runs;
    cursor = page.cursor;
  }
}

const mostCandidatesShown = 5;
const action = { kind: 'list-runs' } as const;

/** The run with this id, or with an id that begins with it. Throws UsageError if no run matches, or several do. */
export async function findRun(runs: RunLedger, given: string): Promise<RunRecord> {
  const exact = await runs.read(given);
  if (exact !== undefined) return exact;
  const { count, newest } = given === '' ? { count: 0, newest: [] } : await runs.find(given, mostCandidatesShown);
  if (count > 1) {
    const issues = newest.map(({ runId, state }) => `${runId}, ${state}`);
    throw new UsageError(`${count} runs begin with ${given}: give more of the id`, { issues, action });
  }
  const only = newest[0] && (await runs.read(newest[0].runId));
  if (only === undefined) throw new UsageError(`there is no run ${given}`, { action });
  return only;
}
