/** The application of a cleanup plan, and how a plan is printed. */
import type { App } from '../../app/app.ts';
import {
  applicationOf,
  findPlan,
  recordApplication,
  refuseUnappliable,
  selectionRun,
  tryOutSelection,
  withWarnings,
} from '../../app/cleanups/plan.ts';
import {
  consequencesOf,
  fitPlanDocument,
  planDocument,
  planState,
  type ShownPlan,
  unkeptPlanDocument,
  warningsOf,
} from '../../app/cleanups/plan-document.ts';
import { queueRun } from '../../app/runs/start-run.ts';
import { AbortedError, UsageError } from '../../core/base/errors.ts';
import { counted, figure, instantText, printable, roughDurationText } from '../../core/base/text.ts';
import {
  claimText,
  type CleanupPlan,
  type PlanApplication,
  type PlanCounts,
  type PlannedTarget,
} from '../../core/cleanup/plan.ts';
import { type ProductionUncertainty, targetText } from '../../core/cleanup/target.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { isFinished } from '../../core/run/run.ts';
import { requesterOf, atService, carryOut, startAndCarryOut } from '../carry-out.ts';
import type { Call, Flags, StartOptions } from '../command.ts';
import type { Output } from '../output.ts';
import { deletionQuestion, isAtTerminal, operatorName, refusalOfTyped, unconfirmed } from '../process/operator.ts';
import { tableText } from '../text/table.ts';

export type ApplyOptions = StartOptions & Flags<'dryRun' | 'yes'>;

type Applying = Call<ApplyOptions>;

/** Applies exactly this plan. Throws UsageError if it may not be applied; nothing was deleted then. */
export async function applyPlan(planId: string, call: Applying): Promise<ExitCode> {
  const { options, output } = call;
  const asks = !options.yes && !options.dryRun;
  if (asks && !isAtTerminal(call)) throw unconfirmed('deletes what the plan names', 'nothing was deleted');
  await using app = await call.openApp();
  const { cleanupPlans } = app.ledger;
  const plan = await findPlan(cleanupPlans, planId);
  const checkedAtMs = Date.now();
  await readAgain(plan, app, output);
  if (options.dryRun) {
    await printFit(await withWarnings(plan, cleanupPlans), output);
    return exitCodes.done;
  }
  if (asks) await confirm(plan, call, app);
  const requestedBy = operatorName();
  const { job, params } = applicationOf(plan, { checkedAtMs, requestedBy });
  const run = await queueRun(app, { job, params }, requesterOf(app, options));
  await recordApplication(plan, run.runId, requestedBy, app);
  const opening = `Run ${run.runId}: deletes ${counted(plan.counts.targets, 'target')} of plan ${plan.planId}`;
  return await carryOut(run, options, { app, output, opening });
}

/** Throws UsageError for a plan that may not be applied, and the service's error if it does not answer. */
async function readAgain(plan: CleanupPlan, app: App, output: Output): Promise<void> {
  const onRead = (): void => sayWhatIsRead(plan.counts.targets, output);
  try {
    await atService(app, output, (context, read) => refuseUnappliable(plan, app.config, context, { ...read, onRead }));
  } catch (error) {
    // A refusal includes this already.
    if (!(error instanceof UsageError)) output.say('Nothing was deleted: the plan was not begun.');
    throw error;
  }
}

/** Throws AbortedError unless the operator types the number of targets. */
async function confirm(plan: CleanupPlan, call: Applying, { ledger }: App): Promise<void> {
  const { planId, counts } = plan;
  call.output.writeError(`${planText(await withWarnings(plan, ledger.cleanupPlans))}\n`);
  const whole = `the plan has ${counted(counts.targets, 'target')}`;
  const why = await refusalOfTyped(deletionQuestion, { number: counts.targets, whole }, call);
  if (why === undefined) return;
  throw new AbortedError(`${why}. Nothing was deleted`, {
    hint: `The plan is kept: wellsync cleanup show ${planId}`,
  });
}

/** Plans and applies a saved selection in one run; the caps in the configuration replace the confirmation. */
export async function runSelection(call: Applying): Promise<ExitCode> {
  const { options, output, args } = call;
  const [name = ''] = args;
  const config = await call.config();
  await using app = await call.openApp(config);
  const requestedBy = operatorName();
  if (options.dryRun) {
    const made = await atService(app, output, (context, read) =>
      tryOutSelection(name, requestedBy, config, context, read),
    );
    await printDryRun(made, output);
    return exitCodes.done;
  }
  const request = await selectionRun(name, requestedBy, app);
  return await startAndCarryOut(call, app, request, { title: `plans and applies the selection ${name}` });
}

/** Number of targets from which their check takes long enough to be announced. */
const manyTargets = 200;

export function sayWhatIsRead(targets: number, output: Output): void {
  if (targets >= manyTargets) output.say(`Reading what the service shows of ${counted(targets, 'target')} …`);
}

/** `status`: what may be done with the plan now. */
export async function printPlan(shown: ShownPlan, status: string, output: Output): Promise<void> {
  await output.print(`${planText(shown)}\n\n${status}`, planDocument(shown));
}

/** Prints the result of a dry run, which keeps nothing. */
export async function printDryRun(shown: ShownPlan, output: Output): Promise<void> {
  const text = `${planText(shown, 'not kept')}\n\nDry run: the plan was not kept, and nothing was deleted.`;
  await output.report(text, unkeptPlanDocument(shown));
}

/** Prints the result of a dry run of an application. */
async function printFit(shown: ShownPlan, output: Output): Promise<void> {
  const text = `${planText(shown)}\n\nDry run: the plan may be applied. Nothing was deleted.`;
  await output.report(text, fitPlanDocument(shown));
}

const mostWarningsShown = 10;

/** Lines of text without a final line end. A plan that is not kept shows no id. */
export function planText({ plan, warned }: ShownPlan, kept: 'kept' | 'not kept' = 'kept'): string {
  const head = kept === 'kept' ? `Plan ${plan.planId}: delete` : 'Would delete';
  const parts = [
    headText(plan, head),
    countsText(plan.counts),
    warningsText(plan, warned),
    consequencesOf(plan.counts).join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function headText(plan: CleanupPlan, head: string): string {
  const { serviceUrl, createdAtMs, createdBy, selection, selectionSha256, counts } = plan;
  const from = selection === null ? '' : `, from the selection ${selection}`;
  const file = selectionSha256 === null ? [] : [`File of the selection: SHA-256 ${selectionSha256}`];
  return [
    `${head} ${counted(counts.targets, 'target')} at ${printable(serviceUrl)}`,
    `Made at ${instantText(createdAtMs)} by ${printable(createdBy)}${from}`,
    ...file,
  ].join('\n');
}

function countsText(counts: PlanCounts): string {
  const rows = [
    ['1', 'time series', figure(counts.timeSeries), `of ${counted(counts.equipment, 'equipment id')}`],
    ['2', 'micro strings', figure(counts.microStrings), `all that ${wells(counts.microStrings)}`],
    ['3', 'wellbores', figure(counts.wellbores), `all that ${wells(counts.wellbores)}`],
  ].filter(([, , count]) => count !== '0');
  const repeated =
    counts.repeated === 0 ? '' : `\n\n  ${counted(counts.repeated, 'target was', 'targets were')} named more than once`;
  return `${tableText([{}, {}, { align: 'right' }, {}], rows, '  ')}${repeated}`;
}

function wells(count: number): string {
  return count === 1 ? 'the well has' : 'the wells have';
}

function warningsText(plan: CleanupPlan, warned: readonly PlannedTarget[]): string {
  const lines = warningsOf(plan);
  if (lines.length === 0) return '';
  const shown = warned.slice(0, mostWarningsShown).map((target) => `      ${targetWarning(target)}`);
  const more = warned.length > shown.length ? ['      and more'] : [];
  return ['Warnings', ...lines.map((line) => `  ! ${line}`), ...shown, ...more].join('\n');
}

function targetWarning(target: PlannedTarget): string {
  const { snapshot, producedOn, doubt: uncertainty } = target;
  const remarks = [
    ...(snapshot.state === 'absent' ? ['not known'] : []),
    ...(snapshot.state === 'unreadable' ? [snapshot.body ?? 'not readable'] : []),
    ...(producedOn === null ? [] : [`produced on ${producedOn}`]),
    ...(producedOn !== null || uncertainty === null ? [] : [uncertainties[uncertainty]]),
  ];
  return printable(`${targetText(target)}: ${remarks.join(', ')}`);
}

const uncertainties: Readonly<Record<ProductionUncertainty, string>> = {
  unread: 'its production was not read within cleanup.refuseIfProducedWithinDays',
  quarantined: 'records of its production are in quarantine',
  unmapped: 'the warehouse knows no production under its id',
};

/** Where to see the targets of a kept plan, and what may be done with it now. */
export function planStatus(plan: CleanupPlan, nowMs: number, maxAgeMs: number): string {
  return [
    'Every target, and what the service showed of it:',
    `  wellsync query "SELECT * FROM cleanup_target WHERE plan_id = '${plan.planId}'"`,
    ...whatMayBeDone(plan, nowMs, maxAgeMs),
  ].join('\n');
}

function whatMayBeDone(
  { planId, createdAtMs, applied }: CleanupPlan,
  nowMs: number,
  maxAgeMs: number,
): readonly string[] {
  if (applied !== undefined && applied.unplanned !== undefined) return whatItsRunMayDo(applied);
  if (applied !== undefined) {
    const { runId, atMs, by } = applied;
    return [`Applied at ${instantText(atMs)} by ${printable(by)}:`, `  wellsync runs show ${runId}`];
  }
  const leftMs = createdAtMs + maxAgeMs - nowMs;
  if (leftMs <= 0) {
    return ['Nothing was deleted, and it is too old to be applied (cleanup.planMaxAgeHours): make a new one.'];
  }
  return [`Nothing was deleted. Apply it within ${roughDurationText(leftMs)}:`, `  wellsync cleanup --apply ${planId}`];
}

function whatItsRunMayDo(claim: PlanApplication): readonly string[] {
  const { runId, unplanned = 'queued' } = claim;
  const kind = isFinished(unplanned) ? 'retry' : 'show';
  return [`Nothing was deleted by run ${runId}, which ${claimText(claim)}.`, `  wellsync runs ${kind} ${runId}`];
}

export function plansText(plans: readonly CleanupPlan[], nowMs: number, maxAgeMs: number, width: number): string {
  if (plans.length === 0) return 'There are no plans.';
  const rows = plans.map((plan) => [
    plan.planId,
    figure(plan.counts.targets),
    stateText(plan, nowMs, maxAgeMs),
    instantText(plan.createdAtMs),
    plan.createdBy,
    plan.applied?.runId ?? '',
  ]);
  const heads = ['plan', 'targets', 'state', 'made at', 'by', 'run'];
  return tableText(
    heads.map((head) => ({ head, align: head === 'targets' ? 'right' : 'left' })),
    rows,
    '',
    width,
  );
}

function stateText(plan: CleanupPlan, nowMs: number, maxAgeMs: number): string {
  if (plan.applied !== undefined) return planState(plan);
  return nowMs - plan.createdAtMs > maxAgeMs ? 'too old' : 'planned';
}
