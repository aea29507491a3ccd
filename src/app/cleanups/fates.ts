/** What became of the targets of a plan that a run has, as its page says it. */
import { countWords } from '../../core/run/job-description.ts';
import type { App } from '../app.ts';
import type { ShownPlanDocument } from './plan-cleanup.ts';

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
