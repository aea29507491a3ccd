/** Requests that start a cleanup: the application of a confirmed plan, or a saved selection in one run. */
import type { Config } from '../../../config/schema.ts';
import { cleanupJobName, type CleanupParams } from '../../../jobs/cleanup/job.ts';
import { refuseChanged, refuseOverCaps, type ReadOptions } from '../../../jobs/cleanup/planner.ts';
import { resolveSelection } from '../../../jobs/cleanup/selection.ts';
import { refuseUnfit, type CleanupPlan } from '../../core/cleanup/plan.ts';
import type { JobContext } from '../../runs/job.ts';
import type { App } from '../app.ts';
import { planMaxAgeMs } from './plan-cleanup.ts';
import { selectionsOf } from './cleanup-targets.ts';

/** A run to start: the name of its job and checked parameters. */
export interface CleanupRun {
  readonly job: string;
  readonly params: CleanupParams;
}

/**
 * Checks a plan against every rule before the operator confirms it; the job checks the rules again. Throws UsageError
 * for a plan that may not be applied, and the service's error if it does not answer. `onRead` is called before the
 * requests to the service.
 */
export async function refuseUnappliable(
  plan: CleanupPlan,
  config: Config,
  context: JobContext,
  read: ReadOptions & { readonly onRead: () => void },
): Promise<void> {
  const { service, ledger, now } = context;
  const serviceNames = await ledger.ownership.namesOf(service.baseUrl);
  refuseUnfit(plan, { serviceUrl: service.baseUrl, serviceNames, atMs: now(), maxAgeMs: planMaxAgeMs(config) });
  await refuseOverCaps(plan, { caps: config.cleanup, by: 'command' }, ledger);
  read.onRead();
  await refuseChanged(plan, context, read);
}

/** The run that applies a plan; `checkedAtMs`: the time at which {@link refuseUnappliable} began. */
export function applicationOf(
  { planId }: CleanupPlan,
  { checkedAtMs, requestedBy }: { readonly checkedAtMs: number; readonly requestedBy: string },
): CleanupRun {
  return { job: cleanupJobName, params: { planId, checkedAtMs, requestedBy } };
}

/**
 * Marks a plan as applied while its run waits for a worker. The run claims it too, which keeps a plan from being
 * applied twice (G6).
 */
export async function recordApplication(
  { planId }: CleanupPlan,
  runId: string,
  requestedBy: string,
  { ledger }: App,
): Promise<void> {
  await ledger.cleanupPlans.claim(planId, { runId, atMs: Date.now(), by: requestedBy });
}

/**
 * The run that plans and applies a saved selection. Reads the selection to report its faults before the run exists; the
 * run refuses a changed file. Throws UsageError.
 */
export async function selectionRun(
  selection: string,
  requestedBy: string,
  { config, warehouse }: App,
): Promise<CleanupRun> {
  const { sha256 } = await resolveSelection(selection, selectionsOf(config), warehouse);
  return { job: cleanupJobName, params: { selection, selectionSha256: sha256, requestedBy } };
}
