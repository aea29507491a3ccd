/** The retry of a run: what it needs of whoever asks for it, a role and, where it deletes, the number of targets (G6). */
import { WellsyncError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import { roleToRun } from '../../core/run/job-description.ts';
import type { Role } from '../../core/base/action.ts';
import { isFinished, type RunRecord } from '../../core/run/run.ts';
import type { App } from '../app.ts';
import { checkBeforeRun } from '../preflight.ts';
import { jobDescriptionOf } from './run-status.ts';
import type { Requester } from './start-run.ts';

export interface RetryNeeds {
  readonly role: Role;
  /**
   * Number of targets that a retry deletes, which whoever asks confirms. Undefined where nothing is confirmed: the run
   * deletes nothing, has not ended, or has no plan, as one of a saved selection, whose caps stand in for a confirmation.
   */
  readonly openTargets: number | undefined;
  /** All that is not done is unknown to the service: a retry asks it the same once more. */
  readonly isOfUnknown: boolean;
}

/** The number that was confirmed is another one. */
class NotConfirmedError extends WellsyncError {
  override readonly name = 'NotConfirmedError';
}

export async function needsOfRetry(
  { jobs, ledger }: Pick<App, 'jobs' | 'ledger'>,
  run: Pick<RunRecord, 'runId' | 'job' | 'params' | 'state' | 'unitCount'>,
): Promise<RetryNeeds> {
  const job = jobDescriptionOf(run.job, jobs);
  const role = roleToRun(job, run.params);
  const needs = { role, openTargets: undefined, isOfUnknown: false };
  if (!isFinished(run.state)) return needs;
  if (job.deletes !== true) return { ...needs, isOfUnknown: await isOfUnknown(run, ledger) };
  if (run.unitCount !== undefined) return { ...needs, openTargets: await ledger.runs.unsettledUnits(run.runId) };
  const plan = await planOf(run, ledger);
  return { ...needs, openTargets: plan?.counts.targets };
}

async function isOfUnknown(
  { runId, unitCount }: Pick<RunRecord, 'runId' | 'unitCount'>,
  { runs }: App['ledger'],
): Promise<boolean> {
  if (unitCount === undefined) return false;
  const { unknown = 0, failed, cancelled, open } = (await runs.totals(runId)).units;
  return unknown > 0 && failed + cancelled + open === 0;
}

/** The plan of a run that ended before it had units. */
async function planOf({ runId, params }: Pick<RunRecord, 'runId' | 'params'>, { cleanupPlans }: App['ledger']) {
  const claimed = await cleanupPlans.ofRun(runId);
  if (claimed !== undefined) return claimed;
  const { planId } = (params ?? {}) as { readonly planId?: unknown };
  return typeof planId === 'string' ? cleanupPlans.read(planId) : undefined;
}

/** Throws NotConfirmedError unless `typed` is the number of open targets, where there is any. */
export function requireConfirmed({ openTargets }: RetryNeeds, runId: string, typed: number | undefined): void {
  if (openTargets === undefined || openTargets === 0 || typed === openTargets) return;
  const given = typed === undefined ? 'no number was confirmed' : `not ${typed}`;
  throw new NotConfirmedError(
    'not-confirmed',
    `a retry of run ${runId} deletes ${counted(openTargets, 'target')}, and ${given}`,
    { hint: 'Nothing was deleted. Look at the run and its plan, and confirm the number of targets that are left.' },
  );
}

/**
 * Reopens the failed, cancelled and unknown units of a finished run and queues it, after the same checks as for a new run.
 * Returns the number of units; 0 leaves the run unchanged. Throws UsageError for a run that has not finished or must
 * not be retried.
 */
export async function retryRun(app: App, runId: string, { actor, connection }: Requester): Promise<number> {
  await checkBeforeRun(app);
  await app.queue(connection);
  return (await app.runService()).retry(runId, actor);
}
