/** JSON of a cleanup plan: camelCase, instants as ISO text. */
import { UsageError } from '../../core/base/errors.ts';
import { counted, listed } from '../../core/base/text.ts';
import { targetText } from '../../core/cleanup/target.ts';
import {
  type CleanupPlan,
  type PlanCounts,
  type PlannedTarget,
  refuseClaimed,
  refuseStale,
} from '../../core/cleanup/plan.ts';

export interface ShownPlan {
  readonly plan: CleanupPlan;
  /** The first targets that deserve a warning. */
  readonly warned: readonly PlannedTarget[];
}

/** `claimed`: its run is not planned, and has deleted nothing. */
export function planState({ applied }: CleanupPlan): 'planned' | 'claimed' | 'applied' {
  if (applied === undefined) return 'planned';
  return applied.unplanned === undefined ? 'applied' : 'claimed';
}

export type PlanDocument = ReturnType<typeof planDocument>;

export function planDocument({ plan, warned }: ShownPlan) {
  const { createdAtMs, applied, ...rest } = plan;
  return {
    ...rest,
    state: planState(plan),
    createdAt: new Date(createdAtMs).toISOString(),
    applied:
      applied === undefined ? null : { runId: applied.runId, by: applied.by, at: new Date(applied.atMs).toISOString() },
    consequences: consequencesOf(plan.counts),
    remarks: warningsOf(plan),
    warnings: warned.map(targetDocument),
  };
}

export function targetDocument({ snapshot, ...target }: PlannedTarget) {
  return { ...target, text: targetText(target), sighting: snapshot.state };
}

/** The plan of a dry run, which keeps nothing: it has no id to apply it by. */
export function unkeptPlanDocument(shown: ShownPlan) {
  return { ...planDocument(shown), planId: null, state: 'dry run' as const };
}

/** The plan of a dry run of an application: it may be applied, and was not. */
export function fitPlanDocument(shown: ShownPlan) {
  return { ...planDocument(shown), state: 'dry run' };
}

/** What deserves a look in the plan of a cleanup, as sentences for every face. Pure. */
export function warningsOf({
  counts,
  selection,
  includesProducing,
}: Pick<CleanupPlan, 'counts' | 'selection' | 'includesProducing'>): readonly string[] {
  const fate = includesProducing ? 'deleted all the same' : 'refused';
  const unmappedFate = selection === null ? '' : `: ${fate}`;
  const { producing, unread = 0, unmapped = 0 } = counts;
  return [
    ...warning(producing, 'belongs', 'belong', `to a well that produced lately: ${fate}`),
    ...warning(unread, 'belongs', 'belong', `to a well whose latest production is not known: ${fate}`),
    ...warning(unmapped, 'belongs', 'belong', `to a well that the warehouse knows no production of${unmappedFate}`),
    ...warning(counts.unknown, 'is', 'are', 'not known to the service'),
    ...warning(counts.unreadable, 'is', 'are', 'shown by the service in a form that breaks its contract'),
    ...shareWarning(counts),
  ];
}

type Judged = Pick<PlanDocument, 'selection' | 'includesProducing'>;

/** Whether a target is refused as long as nothing changes: its well produces, or nobody can say that it does not. */
export function isRefused(
  { producedOn, doubt: uncertainty }: Pick<PlannedTarget, 'producedOn' | 'doubt'>,
  { selection, includesProducing }: Judged,
): boolean {
  if (includesProducing) return false;
  return producedOn !== null || (uncertainty !== null && (uncertainty !== 'unmapped' || selection !== null));
}

/** What the service showed of a target, in words: of what goes by its well, it shows the well alone. */
export function sightingText({ kind, sighting }: ReturnType<typeof targetDocument>): string {
  return kind === 'time-series' ? sighting : `its well is ${sighting}`;
}

/** How many targets of a plan are refused as long as nothing changes. */
export function refusedTargets({
  counts,
  selection,
  includesProducing,
}: Judged & Pick<PlanDocument, 'counts'>): number {
  const { producing, unread = 0, unmapped = 0 } = counts;
  return includesProducing ? 0 : producing + unread + (selection === null ? 0 : unmapped);
}

function warning(count: number, one: string, many: string, what: string): readonly string[] {
  return count === 0 ? [] : [`${counted(count, `target ${one}`, `targets ${many}`)} ${what}`];
}

/** What the deletions of a plan do that nothing can undo, show or list, one sentence each, with a full stop. */
export function consequencesOf({ timeSeries, microStrings, wellbores }: PlanCounts): readonly string[] {
  const ofWells = [...(microStrings > 0 ? ['Micro strings'] : []), ...(wellbores > 0 ? ['Wellbores'] : [])];
  const them = listed(ofWells.map((kind, index) => (index === 0 ? kind : kind.toLowerCase())));
  return [
    'A deletion cannot be undone at the service.',
    ...(timeSeries > 0 ? ['Each time series is looked for after its deletion.'] : []),
    ...(ofWells.length === 0 ? [] : [`${them} have no documented read: nothing can show that they are gone.`]),
    ...(wellbores === 0
      ? []
      : ['The service may delete what is below a wellbore as well, and wellsync cannot list that.']),
  ];
}

function shareWarning({ wells: count, knownWells }: PlanCounts): readonly string[] {
  if (count === 0 || knownWells > 0) return [];
  return ['the warehouse knows no wells: nobody can say which share of them this is'];
}

/** Why a plan cannot be applied any more: a run has it, or it is too old; null for one that can. */
export function refusalOf(plan: CleanupPlan, at: { readonly nowMs: number; readonly maxAgeMs: number }): string | null {
  try {
    refuseClaimed(plan);
    refuseStale(plan, { atMs: at.nowMs, maxAgeMs: at.maxAgeMs });
    return null;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}
