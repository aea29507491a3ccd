/** Owns applying: a plan that was confirmed, with the question at a terminal, or a saved selection within its own caps. */
import { cleanupJobName, type CleanupParams } from '../../jobs/cleanup.ts';
import type { Config } from '../../config/schema.ts';
import { passedCaps, refuseUnfit, type CleanupPlan } from '../core/cleanup-plan.ts';
import { AbortedError, UsageError } from '../core/errors.ts';
import { makePlan, refuseChanged, warningsTold, type LookOptions } from '../runs/cleanup-planner.ts';
import type { JobParts } from '../runs/job.ts';
import { planDocument, planText } from './cleanup-plan-text.ts';
import { atService } from './at-service.ts';
import { findPlan, maxAgeMsOf, printDryRun, sayWhatIsRead } from './cleanup-parts.ts';
import { resolveSelection } from './cleanup-selections.ts';
import { configOf, type Invocation } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { carryOut, queueRun, startRun, type StartOptions } from './start-run.ts';
import { installationFor, type Installation } from './installation.ts';
import { operatorName } from './operator-name.ts';
import type { Output } from './output.ts';
import { ask, isAtTerminal } from './question.ts';
import { counted } from './words.ts';

export interface ApplyOptions extends StartOptions {
  readonly dryRun?: true;
  readonly yes?: true;
}

type Applying = Invocation<ApplyOptions>;

/** Runs exactly this plan. Throws UsageError where it may not be applied: then nothing was deleted. */
export async function applyPlan(planId: string, invocation: Applying): Promise<ExitCode> {
  const { options, output, stdin } = invocation;
  const config = configOf(invocation);
  await using installation = installationFor(config, output);
  const plan = await findPlan(installation.warehouse.cleanupPlans, planId);
  const checkedAtMs = Date.now();
  await lookAgain(plan, config, installation, output);
  if (options.dryRun) return await sayFit(plan, installation, output);
  if (!options.yes && isAtTerminal(stdin, output)) await confirm(plan, invocation, installation);
  const requestedBy = operatorName();
  const params: CleanupParams = { planId: plan.planId, checkedAtMs, requestedBy };
  const runId = await queueRun(cleanupJobName, params, installation, options);
  // Its run claims it too: this only shows it as applied from now on, while the run still waits for a worker.
  await installation.warehouse.cleanupPlans.claim(plan.planId, { runId, atMs: Date.now(), by: requestedBy });
  const opening = `Run ${runId}: deletes ${counted(plan.counts.targets, 'target')} of plan ${plan.planId}`;
  return await carryOut({ runId, job: cleanupJobName }, options, { installation, output, opening });
}

/** Throws UsageError for a plan that may not be applied, and as the service does where it cannot be asked. */
async function lookAgain(plan: CleanupPlan, config: Config, installation: Installation, output: Output): Promise<void> {
  try {
    await atService(installation, output, (parts, options) => holdToRules(plan, config, output, parts, options));
  } catch (error) {
    // A refusal says so by itself.
    if (!(error instanceof UsageError)) output.say('Nothing was deleted: the plan was not begun.');
    throw error;
  }
}

async function holdToRules(
  plan: CleanupPlan,
  config: Config,
  output: Output,
  parts: JobParts,
  look: LookOptions,
): Promise<void> {
  const { service, warehouse, now } = parts;
  refuseUnfit(plan, { serviceUrl: service.baseUrl, atMs: now(), maxAgeMs: maxAgeMsOf(config) });
  const issues = passedCaps(plan.counts, await warehouse.cleanupPlans.knownWells(), config.cleanup);
  if (issues.length > 0) throw new UsageError(`plan ${plan.planId} passes the caps: nothing was deleted`, { issues });
  sayWhatIsRead(plan.counts.targets, output);
  await refuseChanged(plan, parts, look);
}

async function sayFit(plan: CleanupPlan, { warehouse }: Installation, output: Output): Promise<ExitCode> {
  const warned = await warehouse.cleanupPlans.warnedTargets(plan.planId, warningsTold);
  if (output.json) await output.document({ ...planDocument({ plan, warned }), state: 'dry run' });
  else await output.print(`${planText({ plan, warned })}\n\nDry run: the plan may be applied. Nothing was deleted.`);
  return exitCodes.done;
}

/** Throws AbortedError unless the number of targets is typed. */
async function confirm(plan: CleanupPlan, { output, stdin }: Applying, { warehouse }: Installation): Promise<void> {
  const { planId, counts } = plan;
  const warned = await warehouse.cleanupPlans.warnedTargets(planId, warningsTold);
  output.say(`${planText({ plan, warned })}\n`);
  const answer = await ask('Type the number of targets to delete: ', stdin, output);
  if (answer?.replaceAll(',', '') === String(counts.targets)) return;
  const why =
    answer === undefined ? 'not answered' : `not confirmed: the plan has ${counted(counts.targets, 'target')}`;
  throw new AbortedError(`${why}. Nothing was deleted`, {
    hint: `The plan is kept: wellsync cleanup show ${planId}`,
  });
}

/** Plans and applies a saved selection in one run: the configuration with its caps is what confirms it. */
export async function runSelection(invocation: Applying): Promise<ExitCode> {
  const { options, output, args } = invocation;
  const [name = ''] = args;
  const config = configOf(invocation);
  await using installation = installationFor(config, output);
  const { targets, caps } = await resolveSelection(name, config, installation.warehouse);
  if (options.dryRun) {
    const made = await atService(installation, output, (parts, look) => {
      const request = { targets, caps, selection: name, createdBy: operatorName(), isUnattended: true, keep: false };
      return makePlan(request, parts, look);
    });
    await printDryRun(made, output);
    return exitCodes.done;
  }
  const params: CleanupParams = { selection: name, requestedBy: operatorName() };
  const what = `plans and applies the selection ${name}`;
  return await startRun(invocation, installation, { job: cleanupJobName, params, what, facts: {} });
}
