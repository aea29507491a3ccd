/**
 * The job that deletes the targets of a plan: time series records, micro strings and wellbores, each with its intent in
 * the audit before its request and its outcome after (docs/design.md section 4.4). A unit is a target of the plan.
 */
import { z } from 'zod';
import type { NextAction } from '../../src/core/base/action.ts';
import { type Fault, UsageError } from '../../src/core/base/errors.ts';
import { IntentPace } from '../../src/core/cleanup/outcome.ts';
import { type CleanupCaps, type CleanupPlan, refuseStale, refuseUnfit } from '../../src/core/cleanup/plan.ts';
import { chunkTargets, targetText } from '../../src/core/cleanup/target.ts';
import { isCounted, type JobDescription } from '../../src/core/run/job-description.ts';
import type { PlannedUnit, RunReport } from '../../src/core/run/run.ts';
import type { Job, JobContext } from '../../src/runs/job.ts';
import { ChunkDeletion, type DeletionSettings } from './deletion.ts';
import { makePlan, refuseChanged, refuseOverCaps, refuseTampered } from './planner.ts';
import { refuseOtherFile, resolveSelection, type Selections } from './selection.ts';

/** targets = deleted + alreadyGone + refused + failed, plus cancelled ones if the run was cancelled (G2). */
export const cleanup: JobDescription = {
  name: 'cleanup',
  units: { one: 'target', many: 'targets', failing: 'could not be deleted', held: 'not gone' },
  record: undefined,
  deletes: true,
  counts: [
    { name: 'deleted', inSum: 'part' },
    { name: 'alreadyGone', inSum: 'part' },
    { name: 'refused', inSum: 'part', isException: true },
    { name: 'notSent', isHidden: true },
    { name: 'notFound', isHidden: true },
    { name: 'verifiedGone' },
    { name: 'stillThere', isException: true },
    { name: 'notVerified' },
  ],
  nextSteps,
  failureOf,
};

/** So few targets may have been deleted by others since their plan. */
const fewTargets = 3;

/**
 * An address that is right for reads and wrong for deletions, or a proxy, answers 404 to everything: nobody may take
 * that for a cleanup that found everything gone.
 */
function failureOf({ units, counts }: Pick<RunReport, 'units' | 'counts'>): Fault | undefined {
  const { notFound = 0, notSent = 0 } = counts;
  const answered = units.done + units.held - notSent;
  if (notFound <= fewTargets || notFound < answered) return undefined;
  return {
    code: 'all-unknown',
    message: `the service answered 404 to every deletion (${notFound}), and showed these targets when the plan was made`,
    hint: 'Nothing was deleted. Is the address right, and does nothing stand between that takes deletions away?',
    action: { kind: 'check-address', setting: 'service.url' },
  };
}

function nextSteps({ runId, units, counts }: RunReport): readonly NextAction[] {
  if (units.total === 0) return [];
  const isUndone = isCounted(counts, 'refused') || isCounted(counts, 'stillThere');
  return [{ kind: 'audit-run', runId }, ...(isUndone ? [{ kind: 'plan-cleanup' } as const] : [])];
}

export const cleanupJobName = cleanup.name;

export interface CleanupSettings extends Omit<DeletionSettings, 'pace'> {
  readonly planMaxAgeMs: number;
  readonly chunkTargets: number;
  /** Caps of confirmed plans. */
  readonly caps: CleanupCaps;
  readonly selections: Selections;
}

/**
 * Either a plan that an operator confirmed, last checked at `checkedAtMs`, or a saved selection that this run plans and
 * applies. `selectionSha256`: hash of the selection's file when the run was requested; null for a query. `requestedBy`
 * goes into the audit.
 */
const paramsSchema = z.union([
  z.strictObject({ planId: z.string(), checkedAtMs: z.number(), requestedBy: z.string() }),
  z.strictObject({
    selection: z.string(),
    // Absent from older runs.
    selectionSha256: z.string().nullable().default(null),
    requestedBy: z.string(),
  }),
]);
export type CleanupParams = z.output<typeof paramsSchema>;

/** The plan of a run that waited longer for a worker is checked again. */
const checkAgainAfterMs = 600_000;

export function createCleanupJob(settings: CleanupSettings): Job<CleanupParams> {
  const pace = new IntentPace(settings.concurrency);
  return {
    ...cleanup,
    queue: 'cleanup',
    params: paramsSchema,
    varyingParams: ['checkedAtMs', 'requestedBy'],
    plan: (params, context, runId) => planUnits(params, settings, context, runId),
    work: (chunk, context) => new ChunkDeletion({ ...settings, pace }, chunk, context).run(),
    observe: async () => ({ isCleanup: true }),
    atEnd: (runId, { ledger, now }) => ledger.deletions.closeFailed(runId, now()),
    checkRetry: async (runId, { ledger, now }) => {
      const plan = await ledger.cleanupPlans.ofRun(runId);
      if (plan !== undefined) refuseStale(plan, { atMs: now(), maxAgeMs: settings.planMaxAgeMs });
    },
  };
}

async function planUnits(
  params: CleanupParams,
  settings: CleanupSettings,
  context: JobContext,
  runId: string,
): Promise<readonly PlannedUnit[]> {
  const { cleanupPlans } = context.ledger;
  const plan =
    'planId' in params
      ? await confirmedPlan(params, settings, context, runId)
      : // After a crash the run may already have its plan.
        ((await cleanupPlans.ofRun(runId)) ?? (await planOfSelection(params, settings, context)));
  const holder = await cleanupPlans.claim(plan.planId, { runId, atMs: context.now(), by: params.requestedBy });
  if (holder !== runId) {
    throw new UsageError(`plan ${plan.planId} was applied by run ${holder} in the meantime`, {
      action: { kind: 'show-run', runId: holder },
    });
  }
  const targets = await cleanupPlans.ids(plan.planId);
  const chunks = chunkTargets(targets, settings.chunkTargets);
  return targets.map((target, unit) => ({ unit, chunk: chunks[unit] ?? 0, target: targetText(target), spec: null }));
}

/**
 * Checks the plan against its rules where the guarantee rests (G6): the requester of the run may have checked nothing,
 * and the run may have waited long.
 */
async function confirmedPlan(
  { planId, checkedAtMs }: Extract<CleanupParams, { readonly planId: string }>,
  { planMaxAgeMs, concurrency, caps }: CleanupSettings,
  context: JobContext,
  runId: string,
): Promise<CleanupPlan> {
  const { ledger, service, now } = context;
  const plan = await ledger.cleanupPlans.read(planId);
  if (plan === undefined) throw new UsageError(`there is no plan ${planId}`);
  const serviceNames = await ledger.ownership.namesOf(service.baseUrl);
  refuseUnfit(plan, { serviceUrl: service.baseUrl, serviceNames, atMs: now(), maxAgeMs: planMaxAgeMs, runId });
  await refuseOverCaps(plan, { caps, by: 'worker' }, ledger);
  if (now() - checkedAtMs > checkAgainAfterMs) await refuseChanged(plan, context, { concurrency });
  else await refuseTampered(plan, context);
  return plan;
}

async function planOfSelection(
  {
    selection,
    selectionSha256: expectedSha256,
    requestedBy: createdBy,
  }: Extract<CleanupParams, { readonly selection: string }>,
  settings: CleanupSettings,
  context: JobContext,
): Promise<CleanupPlan> {
  const resolved = await resolveSelection(selection, settings.selections, context.warehouse);
  refuseOtherFile(selection, resolved, expectedSha256);
  const { sha256: selectionSha256, ...limited } = resolved;
  const request = { ...limited, selection, selectionSha256, createdBy, isUnattended: true, keep: true };
  return (await makePlan(request, context, settings)).plan;
}
