/** Owns what the commands of a cleanup share: finding a plan, showing it, and the settings that they hold it to. */
import type { Config } from '../../config/schema.ts';
import type { CleanupPlan } from '../core/cleanup-plan.ts';
import { UsageError } from '../core/errors.ts';
import { nearestName } from '../core/nearest-name.ts';
import type { CleanupPlans } from '../warehouse/cleanup.ts';
import { planDocument, planText, type ShownPlan } from './cleanup-plan-text.ts';
import type { Output } from './output.ts';
import { counted, quotedUnlessPlain } from './words.ts';

/** Among how many plans a mistyped one is looked for. */
const newestPlans = 1_000;

/** From so many targets on a look at them takes long enough to be announced. */
const manyTargets = 200;

export function sayWhatIsRead(targets: number, output: Output): void {
  if (targets >= manyTargets) output.say(`Reading what the service shows of ${counted(targets, 'target')} …`);
}

/** Throws UsageError for an id that is not known, with the one that was most likely meant. */
export async function findPlan(plans: CleanupPlans, given: string): Promise<CleanupPlan> {
  const plan = await plans.read(given.trim().toLowerCase());
  if (plan !== undefined) return plan;
  const known = (await plans.list(newestPlans)).map(({ planId }) => planId);
  const nearest = nearestName(given, known);
  throw new UsageError(`there is no plan ${quotedUnlessPlain(given)}`, {
    hint:
      nearest === undefined
        ? 'wellsync cleanup plans shows the plans that there are.'
        : `Do you mean ${nearest}? Look at it first: wellsync cleanup show ${nearest}`,
  });
}

export function maxAgeMsOf({ cleanup }: Config): number {
  return cleanup.planMaxAgeHours * 3_600_000;
}

/** The result of a command that shows a plan: `standing` says what may be done with it now. */
export async function printPlan(shown: ShownPlan, standing: string, output: Output): Promise<void> {
  if (output.json) await output.document(planDocument(shown));
  else await output.print(`${planText(shown)}\n\n${standing}`);
}

/** The result of a dry run, of which nothing is kept: its plan cannot be applied. */
export async function printDryRun(shown: ShownPlan, output: Output): Promise<void> {
  if (output.json) await output.document({ ...planDocument(shown), planId: null, state: 'dry run' });
  else await output.print(`${planText(shown, 'not kept')}\n\nDry run: the plan was not kept, and nothing was deleted.`);
}
