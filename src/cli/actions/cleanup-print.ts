import { counted } from '../../core/base/text.ts';
import { fitPlanDocument, planDocument, unkeptPlanDocument, type ShownPlan } from '../../app/cleanups/plan-document.ts';
import type { Output } from '../output.ts';
import { planText } from '../text/cleanup-plan.ts';

/** Number of targets from which their check takes long enough to be announced. */
const manyTargets = 200;

export function sayWhatIsRead(targets: number, output: Output): void {
  if (targets >= manyTargets) output.say(`Reading what the service shows of ${counted(targets, 'target')} …`);
}

/** `status`: what may be done with the plan now. */
export async function printPlan(shown: ShownPlan, status: string, output: Output): Promise<void> {
  if (output.json) await output.document(planDocument(shown));
  else await output.print(`${planText(shown)}\n\n${status}`);
}

/** Prints the result of a dry run, which keeps nothing. */
export async function printDryRun(shown: ShownPlan, output: Output): Promise<void> {
  if (output.json) await output.document(unkeptPlanDocument(shown));
  else
    await output.report(`${planText(shown, 'not kept')}\n\nDry run: the plan was not kept, and nothing was deleted.`);
}

/** Prints the result of a dry run of an application. */
export async function printFit(shown: ShownPlan, output: Output): Promise<void> {
  if (output.json) await output.document(fitPlanDocument(shown));
  else await output.report(`${planText(shown)}\n\nDry run: the plan may be applied. Nothing was deleted.`);
}
