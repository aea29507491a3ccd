/**
 * Requests about the plan of a cleanup: one that makes or shows it deletes nothing; one that applies it starts a run.
 */
import { z } from 'zod';
import type { Config } from '../../../config/schema.ts';
import { cleanupJobName, type CleanupParams } from '../../../jobs/cleanup/job.ts';
import {
  type MadePlan,
  makePlan,
  maxWarningsShown,
  type ReadOptions,
  refuseChanged,
  refuseOverCaps,
} from '../../../jobs/cleanup/planner.ts';
import { resolveSelection } from '../../../jobs/cleanup/selection.ts';
import { UsageError } from '../../core/base/errors.ts';
import { cursorOf, readCursor } from '../../core/base/lists.ts';
import { instantText, nearestName, quotedUnlessPlain } from '../../core/base/text.ts';
import { type CleanupPlan, refuseUnfit } from '../../core/cleanup/plan.ts';
import type { DeletionTarget } from '../../core/cleanup/target.ts';
import { countWords } from '../../core/run/job-description.ts';
import type { JobContext } from '../../runs/job.ts';
import type { CleanupPlans, PlanPosition } from '../../warehouse/port/cleanup.ts';
import type { App } from '../app.ts';
import { producingOf } from '../job-settings.ts';
import { selectionsOf } from './cleanup-targets.ts';
import { planDocument, refusalOf, type ShownPlan, targetDocument } from './plan-document.ts';

/** Number of the newest plans that a mistyped id is compared with. */
const newestPlans = 1_000;

interface PlanTargetsRequest {
  readonly targets: readonly DeletionTarget[];
  readonly createdBy: string;
  /** If false, nothing is written. */
  readonly keep: boolean;
  /** If true, the targets of producing wells are to be deleted too. */
  readonly includesProducing: boolean;
}

/**
 * Plans the deletion of the named targets, within the caps of the configuration. Throws UsageError if no target is
 * named or a cap is exceeded.
 */
export function planTargets(
  request: PlanTargetsRequest,
  config: Config,
  context: JobContext,
  read: ReadOptions,
): Promise<MadePlan> {
  const { maxTargets, maxShareOfWellsPercent } = config.cleanup;
  const caps = { maxTargets, maxShareOfWellsPercent };
  const ofNoSelection = { selection: null, selectionSha256: null, isUnattended: false };
  return makePlan({ ...request, caps, ...ofNoSelection }, context, { ...read, ...producingOf(config) });
}

/**
 * Plans a saved selection as its run would, without keeping the plan. Throws UsageError as {@link planTargets} does.
 */
export async function tryOutSelection(
  selection: string,
  createdBy: string,
  config: Config,
  context: JobContext,
  read: ReadOptions,
): Promise<MadePlan> {
  const { sha256: selectionSha256, ...limited } = await resolveSelection(
    selection,
    selectionsOf(config),
    context.warehouse,
  );
  const request = { ...limited, selection, selectionSha256, createdBy, isUnattended: true, keep: false };
  return makePlan(request, context, { ...read, ...producingOf(config) });
}

/** Fewer characters of an id are no intent. */
const leastIdCharacters = 4;

/**
 * The plan with this id, or the one with an id that begins with it. Throws UsageError for an unknown id, with the most
 * similar known one, and for the beginning of several.
 */
export async function findPlan(plans: CleanupPlans, given: string): Promise<CleanupPlan> {
  const id = given.trim().toLowerCase();
  const plan = await plans.read(id);
  if (plan !== undefined) return plan;
  const newest = await plans.list(newestPlans);
  const begun = id.length < leastIdCharacters ? [] : newest.filter(({ planId }) => planId.startsWith(id));
  if (begun.length > 1) {
    const issues = begun.map(({ planId, createdAtMs }) => `${planId}, made at ${instantText(createdAtMs)}`);
    throw new UsageError(`${begun.length} plans begin with ${given}: give more of the id`, { issues });
  }
  const only = begun[0] && (await plans.read(begun[0].planId));
  if (only !== undefined) return only;
  const known = newest.map(({ planId }) => planId);
  const nearest = nearestName(given, known);
  throw new UsageError(`there is no plan ${quotedUnlessPlain(given)}`, {
    hint:
      nearest === undefined
        ? 'wellsync cleanup plans shows the plans that there are.'
        : `Do you mean ${nearest}? Look at it first: wellsync cleanup show ${nearest}`,
  });
}

/** A kept plan with the first targets that deserve a warning. */
export async function withWarnings(plan: CleanupPlan, plans: CleanupPlans): Promise<ShownPlan> {
  return { plan, warned: await plans.warnedTargets(plan.planId, maxWarningsShown) };
}

/** Targets of a plan that its document names one by one, in the order of their deletion. */
const namedTargets = 100;

export type ShownPlanDocument = Awaited<ReturnType<typeof showPlan>>;

/** A kept plan with its first targets, and why it cannot be applied now. */
export async function showPlan(
  shown: ShownPlan,
  { ledger: { cleanupPlans }, config }: Pick<App, 'ledger' | 'config'>,
  nowMs: number,
) {
  const targets = await cleanupPlans.targets(shown.plan.planId, { from: 0, limit: namedTargets });
  return {
    ...planDocument(shown),
    targets: targets.map(targetDocument),
    refusal: refusalOf(shown.plan, { nowMs, maxAgeMs: planMaxAgeMs(config) }),
  };
}

export function planMaxAgeMs({ cleanup }: Config): number {
  return cleanup.planMaxAgeHours * 3_600_000;
}

/** Requests for a list of plans of cleanups, in pages that new plans do not shift. */
export interface PlanPage {
  /** The newest first. */
  readonly plans: readonly CleanupPlan[];
  /** Start of the next page; undefined on the last one. */
  readonly cursor: string | undefined;
}

/** Throws UsageError for a text that is no cursor. */
export async function listPlans(
  plans: CleanupPlans,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<PlanPage> {
  const found = await plans.list(limit + 1, cursor === undefined ? undefined : positionOf(cursor));
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    plans: shown,
    cursor: found.length > limit && last !== undefined ? cursorOf(last.createdAtMs, last.planId) : undefined,
  };
}

const planPosition = z.tuple([z.int(), z.string()]);

function positionOf(cursor: string): PlanPosition {
  const [createdAtMs, planId] = readCursor(cursor, planPosition, { list: 'a list of plans' });
  return { createdAtMs, planId };
}

// What became of the targets of a plan that a run has.

/** By the words of the target; of those that are done. */
export type Fates = ReadonlyMap<string, string>;

export async function fatesOf({ ledger }: Pick<App, 'ledger'>, plan: ShownPlanDocument): Promise<Fates> {
  if (plan.applied === null) return new Map();
  const { units } = await ledger.runs.units(plan.applied.runId, { limit: plan.targets.length });
  return new Map(
    units
      .filter(({ state }) => state !== 'open')
      .map(({ target, state, counts }) => {
        const outcome = (['deleted', 'alreadyGone', 'refused'] as const).find((name) => (counts[name] ?? 0) > 0);
        return [target, outcome === undefined ? state : countWords(outcome)] as const;
      }),
  );
}

// Requests that start a cleanup: the application of a confirmed plan, or a saved selection in one run.

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
