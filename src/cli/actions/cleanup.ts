import type { DeletionTarget, TargetKind } from '../../core/cleanup/target.ts';
import { UsageError } from '../../core/base/errors.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { App } from '../../app/app.ts';
import { findPlan, planMaxAgeMs, planTargets, withWarnings } from '../../app/cleanups/plan-cleanup.ts';
import { ofFile, ofQuery, ofWells, timeSeriesOf, type TargetFlags } from '../../app/cleanups/cleanup-targets.ts';
import { planDocument } from '../../app/cleanups/plan-document.ts';
import type { Invocation } from '../commands/command-line.ts';
import { unlessEmpty } from './allow-empty.ts';
import { atService } from './at-service.ts';
import { configOf } from './config.ts';
import { appFor, openApp } from './open-app.ts';
import { operatorName } from './operator-name.ts';
import { planStatus, plansText } from '../text/cleanup-plan.ts';
import { applyPlan, runSelection, type ApplyOptions } from './cleanup-apply.ts';
import { printDryRun, printPlan, sayWhatIsRead } from './cleanup-print.ts';

/** Number of plans that `wellsync cleanup plans` lists. */
const plansListed = 50;

export interface CleanupOptions extends TargetFlags, ApplyOptions {
  readonly allowEmpty?: true;
  readonly file?: string;
  readonly fromQuery?: string;
  readonly apply?: string;
  readonly includeProducing?: true;
}

type Cleanup = Invocation<CleanupOptions>;
type FindTargets = (invocation: Cleanup, app: App) => Promise<readonly DeletionTarget[]>;

/** Plans from a file or a query, or applies a plan. */
export async function cleanup(invocation: Cleanup): Promise<ExitCode> {
  const { file, fromQuery, apply } = invocation.options;
  const named = [file, fromQuery, apply].filter((option) => option !== undefined);
  if (named.length > 1) {
    throw new UsageError('--file, --from-query and --apply exclude each other', {
      hint: 'A plan is applied as it is: --apply names no targets.',
    });
  }
  if (apply !== undefined) {
    refuseIncludeProducing(invocation, 'A plan is applied as it is: give --include-producing when it is made.');
    return applyPlan(apply, invocation);
  }
  if (file !== undefined) return plan(invocation, async ({ stdin }) => ofFile(file, stdin));
  if (fromQuery !== undefined) return plan(invocation, async (_, { warehouse }) => ofQuery(fromQuery, warehouse));
  throw new UsageError('nothing is named that should be cleaned up', {
    hint: 'Name targets by --file, --from-query, time-series, micro-strings or wellbores; or a plan by --apply.',
  });
}

export async function planTimeSeries(invocation: Cleanup): Promise<ExitCode> {
  refuseGroupOptions(invocation);
  return plan(invocation, async ({ options }) => timeSeriesOf(options));
}

export async function planWells(kind: TargetKind, invocation: Cleanup): Promise<ExitCode> {
  refuseGroupOptions(invocation);
  return plan(invocation, async ({ options, stdin }) => ofWells(kind, options, stdin));
}

export async function runSavedSelection(invocation: Cleanup): Promise<ExitCode> {
  refuseGroupOptions(invocation);
  refuseIncludeProducing(invocation, 'Set includeProducing: true in the selection, in cleanup.selections.');
  return runSelection(invocation);
}

function plan(invocation: Cleanup, find: FindTargets): Promise<ExitCode> {
  return unlessEmpty(invocation, () => planFound(invocation, find));
}

async function planFound(invocation: Cleanup, find: FindTargets): Promise<ExitCode> {
  const { options, output } = invocation;
  refuseWithoutApply(options);
  const config = configOf(invocation);
  await using app = appFor(config, output);
  const targets = await find(invocation, app);
  const made = await atService(app, output, (context, look) => {
    sayWhatIsRead(targets.length, output);
    const includesProducing = options.includeProducing === true;
    const request = { targets, createdBy: operatorName(), keep: options.dryRun !== true, includesProducing };
    return planTargets(request, config, context, look);
  });
  if (options.dryRun) await printDryRun(made, output);
  else await printPlan(made, planStatus(made.plan, Date.now(), planMaxAgeMs(config)), output);
  return exitCodes.done;
}

/** Throws UsageError for options of the group beside a command that has its own targets or plan. */
function refuseGroupOptions({ options: { file, fromQuery, apply } }: Cleanup): void {
  if (file === undefined && fromQuery === undefined && apply === undefined) return;
  throw new UsageError('--file, --from-query and --apply stand by themselves: nothing else is named beside them');
}

function refuseIncludeProducing({ options: { includeProducing } }: Cleanup, hint: string): void {
  if (includeProducing) throw new UsageError('--include-producing belongs to the making of a plan', { hint });
}

function refuseWithoutApply({ yes, wait, inline }: CleanupOptions): void {
  if (yes === undefined && wait === undefined && inline === undefined) return;
  throw new UsageError('--yes, --wait and --inline go with --apply: a plan alone deletes nothing', {
    hint: 'Make the plan first, look at it, and apply it by its id.',
  });
}

export async function showPlan(invocation: Cleanup): Promise<ExitCode> {
  refuseGroupOptions(invocation);
  const { output, args } = invocation;
  const config = configOf(invocation);
  await using app = openApp(config, output);
  const { cleanupPlans } = app.ledger;
  const found = await findPlan(cleanupPlans, args[0] ?? '');
  const shown = await withWarnings(found, cleanupPlans);
  await printPlan(shown, planStatus(found, Date.now(), planMaxAgeMs(config)), output);
  return exitCodes.done;
}

export async function listPlans(invocation: Cleanup): Promise<ExitCode> {
  refuseGroupOptions(invocation);
  const { output } = invocation;
  const config = configOf(invocation);
  await using app = openApp(config, output);
  const plans = await app.ledger.cleanupPlans.list(plansListed);
  if (output.json) await output.document(plans.map((each) => planDocument({ plan: each, warned: [] })));
  else await output.print(plansText(plans, Date.now(), planMaxAgeMs(config), output.width));
  return exitCodes.done;
}
