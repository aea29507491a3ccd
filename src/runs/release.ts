/** The release of rows that a run holds: which job does it, and why it is refused (G4). */
import { UsageError } from '../core/base/errors.ts';
import { counted } from '../core/base/text.ts';
import { ReleaseConflictError } from '../core/run/held-rows.ts';
import { isFinished, type RunSummary } from '../core/run/run.ts';
import type { AnyJob } from './job.ts';

/** The job that releases what a run holds: its own. */
export type ReleasingJob = AnyJob & Required<Pick<AnyJob, 'release'>>;

/** Throws UsageError for a job that holds no rows, and ReleaseConflictError for a run that has not ended. */
export function releasingJobOf(
  { runId, job: name, state }: Pick<RunSummary, 'runId' | 'job' | 'state'>,
  jobs: readonly AnyJob[],
): ReleasingJob {
  const job = jobs.find((candidate): candidate is ReleasingJob => {
    return candidate.name === name && candidate.release !== undefined;
  });
  if (job === undefined) throw new UsageError(`run ${runId} holds no rows: ${name} removes none`);
  if (isFinished(state)) return job;
  const message = `run ${runId} is ${state}: what it holds can be released when it has ended`;
  throw new ReleaseConflictError('run-not-ended', message);
}

/** The run holds another number of rows than a person was shown, or none. */
export function otherRowsHeld(runId: string, rows: number, shown: number): ReleaseConflictError {
  const action = { kind: 'list-held' } as const;
  if (rows === 0) return new ReleaseConflictError('nothing-held', `run ${runId} holds no rows`, { action });
  const message = `run ${runId} holds ${counted(rows, 'row')}, and not ${shown}: nothing was released`;
  return new ReleaseConflictError('not-confirmed', message, { action });
}

/** `runId`: the run that releases some of the rows, and has not ended. */
export function releaseUnderWay(runId: string): ReleaseConflictError {
  const action = { kind: 'show-run', runId } as const;
  return new ReleaseConflictError('release-under-way', `run ${runId} releases these rows already`, { action });
}
