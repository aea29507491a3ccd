/** JSON of a cleanup plan: camelCase, instants as ISO text. */
import type { CleanupPlan, PlannedTarget } from '../../core/cleanup/plan.ts';
import { consequencesOf } from './cleanup-warnings.ts';

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

export function planDocument({ plan, warned }: ShownPlan) {
  const { createdAtMs, applied, ...rest } = plan;
  return {
    ...rest,
    state: planState(plan),
    createdAt: new Date(createdAtMs).toISOString(),
    applied:
      applied === undefined ? null : { runId: applied.runId, by: applied.by, at: new Date(applied.atMs).toISOString() },
    consequences: consequencesOf(plan.counts),
    warnings: warned.map(({ snapshot, ...target }) => ({ ...target, sighting: snapshot.state })),
  };
}

/** The plan of a dry run, which keeps nothing: it has no id to apply it by. */
export function unkeptPlanDocument(shown: ShownPlan) {
  return { ...planDocument(shown), planId: null, state: 'dry run' as const };
}

/** The plan of a dry run of an application: it may be applied, and was not. */
export function fitPlanDocument(shown: ShownPlan) {
  return { ...planDocument(shown), state: 'dry run' };
}
