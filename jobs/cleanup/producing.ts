/** Finds out which wells of a cleanup produce, when it is planned and again before each deletion. */
import type { CleanupPlan, PlannedTarget, TargetSnapshot } from '../../src/core/cleanup/plan.ts';
import {
  type DeletionTarget,
  findingOf,
  isTimeSeries,
  noFinding,
  type ProductionFinding,
  reasonToKeep,
  uwisOfWell,
  wellsOf,
} from '../../src/core/cleanup/target.ts';
import type { WellBody } from '../../src/core/definitions/well-body.ts';
import { DAY_MS } from '../../src/core/time/window.ts';
import type { JobContext } from '../../src/runs/job.ts';

export interface ProducingSettings {
  /** Production within so many days keeps a well. */
  readonly producingDays: number;
  /** Path of the uwi in the body of a well; without one the source id is the uwi. */
  readonly uwiField: string | undefined;
}

type SightedTarget = DeletionTarget & { readonly snapshot: TargetSnapshot };

/**
 * The findings for targets, in order. The uwi of a well is taken from what the service showed of it, and from the table
 * `well`. Equipment cannot be mapped to a well: its time series have no finding.
 */
export async function findingsOf(
  targets: readonly SightedTarget[],
  { warehouse, ledger, now }: Pick<JobContext, 'warehouse' | 'ledger' | 'now'>,
  { producingDays, uwiField }: ProducingSettings,
): Promise<readonly ProductionFinding[]> {
  const wells = wellsOf(targets);
  const stored = uwiField === undefined ? noBodies : await warehouse.wells.bodies(wells);
  const uwis = new Map<string, readonly string[]>();
  for (const target of targets) {
    if (isTimeSeries(target)) continue;
    const bodies = [...bodyOf(target.snapshot), ...[stored.get(target.ownerId) ?? []].flat()];
    uwis.set(target.ownerId, uwisOfWell(target.ownerId, bodies, uwiField));
  }
  const asked = [...new Set([...uwis.values()].flat())];
  const nowMs = now();
  const known = await ledger.cleanupPlans.recentProduction(asked, { sinceMs: nowMs - producingDays * DAY_MS, nowMs });
  return targets.map((target) => (isTimeSeries(target) ? noFinding : findingOf(uwis.get(target.ownerId) ?? [], known)));
}

const noBodies: ReadonlyMap<string, WellBody> = new Map();

/** What an unreadable snapshot holds is no body but its fault. */
function bodyOf({ state, contentType, body }: TargetSnapshot): readonly WellBody[] {
  return state === 'present' && body !== null ? [{ contentType, body }] : [];
}

/**
 * Checks targets of a plan again: by ordinal, why one is `kept`, and the `warnings` of one in the report. A target is kept
 * where it produced when it was planned, or produces by now; a plan that includes producing wells keeps none.
 */
export async function checkProducing(
  plan: CleanupPlan,
  targets: readonly PlannedTarget[],
  context: Pick<JobContext, 'warehouse' | 'ledger' | 'now'>,
  settings: ProducingSettings,
) {
  const found = await findingsOf(targets, context, settings);
  const rule = { days: settings.producingDays, isUnattended: plan.selection !== null };
  const kept = new Map<number, string>();
  const warnings = new Map<number, readonly string[]>();
  for (const [index, target] of targets.entries()) {
    const reason = [found[index] ?? noFinding, target].map((finding) => reasonToKeep(finding, rule)).find(Boolean);
    if (reason !== undefined && !plan.includesProducing) kept.set(target.ordinal, reason);
    const warning = warningsOf(target, reason !== undefined && plan.includesProducing);
    if (warning.length > 0) warnings.set(target.ordinal, warning);
  }
  return { kept, warnings };
}

/** As the plan warns. A target that is kept has its reason in the report already. */
function warningsOf({ snapshot }: PlannedTarget, isProducingIncluded: boolean): readonly string[] {
  return [
    ...(isProducingIncluded ? ['to be deleted although the well produces, or counts as producing: {targets}'] : []),
    ...(snapshot.state === 'absent' ? ['not known to the service when the plan was made: {targets}'] : []),
    ...(snapshot.state === 'unreadable' ? ['shown by the service in a form that breaks its contract: {targets}'] : []),
  ];
}
