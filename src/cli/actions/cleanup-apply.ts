import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { counted } from '../../core/base/text.ts';
import type { CleanupPlan } from '../../core/cleanup/plan.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { App } from '../../app/app.ts';
import { applicationOf, noteApplication, refuseUnappliable, selectionRun } from '../../app/cleanups/apply-plan.ts';
import { findPlan, tryOutSelection, withWarnings } from '../../app/cleanups/plan-cleanup.ts';
import { queueRun } from '../../app/runs/start-run.ts';
import { atService } from './at-service.ts';
import { askerOf, carryOut, startAndCarryOut } from './carry-out.ts';
import type { Invocation } from '../commands/command-line.ts';
import { configOf } from './config.ts';
import { deletionQuestion, refusalOfTyped, unconfirmed } from './confirm-number.ts';
import { appFor } from './open-app.ts';
import { operatorName } from './operator-name.ts';
import { isAtTerminal } from '../process/question.ts';
import type { StartOptions } from '../commands/start-options.ts';
import type { Output } from '../output.ts';
import { planText } from '../text/cleanup-plan.ts';
import { printDryRun, printFit, sayWhatIsRead } from './cleanup-print.ts';

export interface ApplyOptions extends StartOptions {
  readonly dryRun?: true;
  readonly yes?: true;
}

type Applying = Invocation<ApplyOptions>;

/** Applies exactly this plan. Throws UsageError if it may not be applied; nothing was deleted then. */
export async function applyPlan(planId: string, invocation: Applying): Promise<ExitCode> {
  const { options, output, stdin } = invocation;
  const asks = !options.yes && !options.dryRun;
  if (asks && !isAtTerminal(stdin, output)) throw unconfirmed('deletes what the plan names', 'nothing was deleted');
  await using app = appFor(configOf(invocation), output);
  const { cleanupPlans } = app.ledger;
  const plan = await findPlan(cleanupPlans, planId);
  const checkedAtMs = Date.now();
  await lookAgain(plan, app, output);
  if (options.dryRun) {
    await printFit(await withWarnings(plan, cleanupPlans), output);
    return exitCodes.done;
  }
  if (asks) await confirm(plan, invocation, app);
  const requestedBy = operatorName();
  const { job, params } = applicationOf(plan, { checkedAtMs, requestedBy });
  const run = await queueRun(app, { job, params }, askerOf(options));
  await noteApplication(plan, run.runId, requestedBy, app);
  const opening = `Run ${run.runId}: deletes ${counted(plan.counts.targets, 'target')} of plan ${plan.planId}`;
  return await carryOut(run, options, { app, output, opening });
}

/** Throws UsageError for a plan that may not be applied, and the service's error if it does not answer. */
async function lookAgain(plan: CleanupPlan, app: App, output: Output): Promise<void> {
  const onRead = (): void => sayWhatIsRead(plan.counts.targets, output);
  try {
    await atService(app, output, (context, look) => refuseUnappliable(plan, app.config, context, { ...look, onRead }));
  } catch (error) {
    // A refusal includes this already.
    if (!(error instanceof UsageError)) output.say('Nothing was deleted: the plan was not begun.');
    throw error;
  }
}

/** Throws AbortedError unless the operator types the number of targets. */
async function confirm(plan: CleanupPlan, { output, stdin }: Applying, { ledger }: App): Promise<void> {
  const { planId, counts } = plan;
  output.tell(`${planText(await withWarnings(plan, ledger.cleanupPlans))}\n`);
  const whole = `the plan has ${counted(counts.targets, 'target')}`;
  const why = await refusalOfTyped(deletionQuestion, { number: counts.targets, whole }, { output, stdin });
  if (why === undefined) return;
  throw new AbortedError(`${why}. Nothing was deleted`, {
    hint: `The plan is kept: wellsync cleanup show ${planId}`,
  });
}

/** Plans and applies a saved selection in one run; the caps in the configuration replace the confirmation. */
export async function runSelection(invocation: Applying): Promise<ExitCode> {
  const { options, output, args } = invocation;
  const [name = ''] = args;
  const config = configOf(invocation);
  await using app = appFor(config, output);
  const requestedBy = operatorName();
  if (options.dryRun) {
    const made = await atService(app, output, (context, look) =>
      tryOutSelection(name, requestedBy, config, context, look),
    );
    await printDryRun(made, output);
    return exitCodes.done;
  }
  const request = await selectionRun(name, requestedBy, app);
  return await startAndCarryOut(invocation, app, request, { title: `plans and applies the selection ${name}` });
}
