/** The end of a run, for the coordinator and for a cancel without a worker. Two processes may end a run at once. */
import { type Fault, UsageError } from '../core/base/errors.ts';
import { isFinished, type RunRecord, type RunReport } from '../core/run/run.ts';
import type { RunQueue, StopRequest } from '../queue/port.ts';
import type { AnyJob, JobContext } from './job.ts';
import { buildReport } from './report.ts';
import { countRunEnd } from './run-metrics.ts';

export type FinishContext = Pick<JobContext, 'ledger' | 'now'> & {
  readonly queue: RunQueue;
  readonly jobs: readonly AnyJob[];
  /** Address of the warehouse, for the report. */
  readonly location: string;
  /** Of this program, for the report. */
  readonly version: string;
};

/**
 * Settles open units if a stop was requested, builds the report, and ends the run in the ledger and in its progress.
 * Returns the report of the ended run; undefined if units are open, so that the run continues. A run that has ended is
 * unchanged. Throws UsageError for a run of an unknown job.
 */
export async function finishRun(
  run: RunRecord,
  stopRequest: StopRequest | undefined,
  { ledger, queue, jobs, location, version, now }: FinishContext,
): Promise<RunReport | undefined> {
  const { runId } = run;
  // Another process has ended the run, while its progress still exists.
  if (isFinished(run.state)) {
    await countEnd(run, jobs, queue);
    await queue.progress.finish(runId, run.state);
    return run.report;
  }
  const job = jobOf(run, jobs);
  if (stopRequest !== undefined) await ledger.runs.settleRest(runId, outcomeOfRest(stopRequest));
  const totals = await ledger.runs.totals(runId);
  if (totals.units.open > 0) return undefined;
  await job.atEnd?.(runId, { ledger, now });
  // A cancel after all units were settled changed nothing.
  const isTooLate = stopRequest?.kind === 'cancel' && run.unitCount !== undefined && totals.units.cancelled === 0;
  const report = buildReport({ run, job, totals, location, version }, isTooLate ? undefined : stopRequest, now());
  await ledger.runs.finish(report);
  // Another process may have planned or ended it in between: the ledger has the state.
  const ended = await ledger.runs.read(runId);
  if (ended === undefined || !isFinished(ended.state)) return undefined;
  await countEnd(ended, jobs, queue);
  await queue.progress.finish(runId, ended.state);
  return ended.report;
}

/** Before the progress ends: a process that dies in between leaves a run that is looked at again. */
async function countEnd(
  { report, generation, job: name }: RunRecord,
  jobs: readonly AnyJob[],
  { metrics }: RunQueue,
): Promise<void> {
  const job = jobs.find((candidate) => candidate.name === name);
  if (report !== undefined && job !== undefined) await countRunEnd(report, generation, job, metrics);
}

export function jobOf({ runId, job: name }: RunRecord, jobs: readonly AnyJob[]): AnyJob {
  const job = jobs.find((candidate) => candidate.name === name);
  if (job !== undefined) return job;
  throw new UsageError(`run ${runId} is of a job that this version does not know: ${name}`);
}

function outcomeOfRest(stopRequest: StopRequest) {
  if (stopRequest.kind === 'cancel') return { state: 'cancelled' } as const;
  const { message, hint, action } = stopRequest.fault;
  const fault: Fault = {
    code: 'not-tried',
    message: `not tried, since the run was stopped: ${message}`,
    ...(hint === undefined ? {} : { hint }),
    ...(action === undefined ? {} : { action }),
  };
  return { state: 'failed', fault } as const;
}
