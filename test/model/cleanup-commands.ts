/** What may happen in a model of cleanups, beside what may happen in any world. */
import fc from 'fast-check';
import { cleanupJobName, type CleanupSettings } from '../../jobs/cleanup/job.ts';
import { makePlan } from '../../jobs/cleanup/planner.ts';
import { needsOfRetry, requireConfirmed } from '../../src/app/runs/retry.ts';
import { type DeletionTarget, targetText } from '../../src/core/cleanup/target.ts';
import { HOUR_MS } from '../../src/core/time/window.ts';
import type { AnyJob } from '../../src/runs/job.ts';
import { allTargets, type CleanupService } from './cleanup-service.ts';
import { Act, actor, oneOf, type Scene, someIndex, working } from './world-commands.ts';
import type { WorldProcess } from './world.ts';

export interface CleanupScene extends Scene {
  readonly service: CleanupService;
  readonly jobs: readonly AnyJob[];
  /** Ids of the plans that were made. */
  readonly plans: string[];
  /** The plan that a person confirmed with the request of a run. */
  readonly confirmed: Map<string, string>;
}

export const cleanupSettings: CleanupSettings = {
  planMaxAgeMs: 72 * HOUR_MS,
  chunkTargets: 3,
  concurrency: 2,
  caps: { maxTargets: 100, maxShareOfWellsPercent: 100 },
  producingDays: 30,
  uwiField: undefined,
  selections: {
    saved: {},
    folder: '',
    lists: { readFile: () => Promise.reject(new Error('none')), readQuery: () => Promise.reject(new Error('none')) },
  },
};

export async function makePlanOf(
  { plans }: CleanupScene,
  { context }: WorldProcess,
  targets: readonly DeletionTarget[],
  includesProducing: boolean,
): Promise<string> {
  const ofNoSelection = { selection: null, selectionSha256: null, isUnattended: false };
  const request = { targets, createdBy: actor, keep: true, includesProducing, caps: cleanupSettings.caps };
  const { plan } = await makePlan({ ...request, ...ofNoSelection }, context, cleanupSettings);
  plans.push(plan.planId);
  return plan.planId;
}

/** Requests the run that applies a plan. `isRecorded`: the requester marks the plan as applied meanwhile. */
export function requestCleanup(
  { world, confirmed }: CleanupScene,
  { runs, context: { ledger, now } }: WorldProcess,
  planId: string,
  isRecorded: boolean,
): string {
  const checkedAtMs = world.nowMs;
  const runId = world.request(async (id) => {
    await runs.start(cleanupJobName, { planId, checkedAtMs, requestedBy: actor }, { actor, runId: id });
    if (isRecorded) await ledger.cleanupPlans.claim(planId, { runId: id, atMs: now(), by: actor });
  });
  confirmed.set(runId, planId);
  return runId;
}

export const planned = fc
  .tuple(fc.subarray([...allTargets], { minLength: 1 }), fc.boolean(), someIndex)
  .map(([targets, includes, by]) => {
    const name = `plan ${targets.length} targets${includes ? ', producing wells too' : ''}`;
    return new Act<CleanupScene>(name, (scene) => {
      const process = working(scene, by);
      if (process !== undefined) scene.world.tell(makePlanOf(scene, process, targets, includes));
    });
  });

export const applied = fc.tuple(someIndex, someIndex, fc.boolean()).map(
  ([plan, by, isRecorded]) =>
    new Act<CleanupScene>(`apply plan ${plan}`, (scene) => {
      const [planId, process] = [oneOf(scene.plans, plan), working(scene, by)];
      if (planId !== undefined && process !== undefined) requestCleanup(scene, process, planId, isRecorded);
    }),
);

/** A person who was shown how many targets are left retries a run. */
export const retriedWithNumber = fc.tuple(someIndex, someIndex).map(
  ([run, by]) =>
    new Act<CleanupScene>(`retry run ${run} with its number`, (scene) => {
      const [runId, process] = [oneOf(scene.world.requested, run), working(scene, by)];
      if (runId !== undefined && process !== undefined) scene.world.tell(retryOf(scene, process, runId));
    }),
);

async function retryOf({ jobs }: CleanupScene, { runs, context: { ledger } }: WorldProcess, runId: string) {
  const run = await ledger.runs.read(runId);
  if (run === undefined) return;
  const { openTargets } = await needsOfRetry({ jobs, ledger }, run);
  const now = await ledger.runs.read(runId);
  if (now === undefined) return;
  requireConfirmed(await needsOfRetry({ jobs, ledger }, now), runId, openTargets);
  await runs.retry(runId, actor);
}

export const removed = fc
  .constantFrom(...allTargets)
  .map(
    (target) =>
      new Act<CleanupScene>(`somebody removes ${targetText(target)}`, ({ service }) => service.remove(target)),
  );

export const faulty = fc
  .integer({ min: 1, max: 6 })
  .map(
    (many) =>
      new Act<CleanupScene>(`the service answers ${many} requests with 503`, ({ service }) => (service.faults = many)),
  );

export const unanswered = fc.integer({ min: 1, max: 3 }).map(
  (many) =>
    new Act<CleanupScene>(`${many} deletions take effect without an answer`, ({ service }) => {
      service.losses = many;
    }),
);
