/** `wellsync cleanup`: plans deletions, shows plans, applies a confirmed one, and runs saved selections. */
import { Option } from 'commander';
import type { App } from '../../app/app.ts';
import type { TargetFlags } from '../../app/cleanups/cleanup-targets.ts';
import { UsageError } from '../../core/base/errors.ts';
import { type DeletionTarget, type TargetKind, targetKinds } from '../../core/cleanup/target.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import { type Call, collected, type Flags, type ProgramCommand, type Texts } from '../command.ts';
import { operatorName } from '../process/operator.ts';
import type { ApplyOptions } from './cleanup-plans.ts';

export function addCleanupCommand(program: ProgramCommand): void {
  const group = program
    .command('cleanup')
    .description('delete records at the service: first a plan, then its application')
    .option('--file <file>', 'targets from a CSV file: kind,well,equipment,source_id; - is standard input')
    .option('--from-query <sql>', 'targets from one SELECT on the warehouse, with the same columns')
    .allowsEmpty()
    .option('--apply <plan>', 'run exactly this plan; the beginning of its id will do')
    .option('--include-producing', 'plan the targets of wells that produce too')
    .addOption(dryRunOption())
    .addOption(new Option('--yes', 'apply without a question; needed where there is no terminal'))
    .carriesOut()
    .explained(explanation, [
      'wellsync cleanup --file targets.csv',
      'wellsync cleanup --apply 3f9a-1c27-b04e --wait',
      'wellsync cleanup --apply 3f9a-1c27-b04e --yes --inline',
      'wellsync cleanup --from-query "SELECT \'wellbores\' AS kind, uwi AS well, NULL AS equipment, NULL AS source_id FROM …"',
    ])
    .runs(cleanup);
  group
    .command('time-series')
    .description('plan the deletion of time series records of one equipment id')
    .option('--equipment <id>', 'source id of the equipment', collected)
    .option('--source-id <id>', 'source id of a record; may be given more than once', collected)
    .addOption(dryRunOption())
    .explained('', ['wellsync cleanup time-series --equipment "EQ 7" --source-id "EQ 7:OilRate"'])
    .runs(planTimeSeries);
  for (const kind of targetKinds.filter((each) => each !== 'time-series')) {
    group
      .command(kind)
      .description(`plan the deletion of all ${kind.replace('-', ' ')} of wells`)
      .option('--well <id>', 'source id of a well; may be given more than once', collected)
      .option('--wells <file>', 'wells from a CSV file with the column well; - is standard input')
      .allowsEmpty()
      .addOption(dryRunOption())
      .explained('', [`wellsync cleanup ${kind} --well "15/9-F-1 C"`])
      .runs((call: Cleanup) => planWells(kind, call));
  }
  addPlanCommands(group);
}

/** Of the group and of its commands alike. */
function dryRunOption(): Option {
  return new Option('--dry-run', 'check and show everything; keep no plan, start no run, delete nothing');
}

function addPlanCommands(group: ProgramCommand): void {
  group
    .command('show')
    .argument('<plan>', 'the id of a plan, or its beginning')
    .description('show a plan, and what became of it')
    .explained('', ['wellsync cleanup show 3f9a-1c27-b04e'])
    .runs(showPlan);
  group
    .command('plans')
    .description('list plans, the newest first')
    .explained('', ['wellsync cleanup plans', 'wellsync cleanup plans --json'])
    .runs(listPlans);
  group
    .command('run')
    .argument('<name>', 'a selection of the configuration (cleanup.selections)')
    .description('plan and apply a saved selection in one run, within its own caps; nobody is asked')
    .addOption(dryRunOption())
    .starts()
    .explained('', ['wellsync cleanup run retired-wells --dry-run', 'wellsync cleanup run retired-wells --inline'])
    .runs(runSavedSelection);
}

const explanation = `
Without --apply nothing is deleted: a plan is made and kept, with what the
service shows of every target now, and a plan id. --apply PLAN runs exactly that
plan, once: it refuses one that is older than cleanup.planMaxAgeHours, that was
applied, that was made for another service, or of which the service shows something
else by now. At a terminal it asks for the number of targets, unless --yes is given;
without a terminal it needs --yes. An empty selection is an error, never "all".

Wells that produced within cleanup.refuseIfProducedWithinDays days are refused,
when the plan is made and again before each deletion; so are wells whose
production was not read in that time. --include-producing lifts that for a plan,
includeProducing for a saved selection.

Order: time series, then well by well micro strings and wellbores. Every
deletion stands in the audit: wellsync audit deletions.

Exit codes
  0  planned; applied and done; without --wait or --inline: queued
  1  failed, also where a saved selection exceeds its caps, or where the service
     answers 404 to everything
  2  wrong use, or a plan that is refused
  3  done, with targets that were refused or are still there
  4  cancelled, not confirmed, or interrupted by Ctrl-C
  5  could not reach the queue, the warehouse or the service
`;

/** Number of plans that `wellsync cleanup plans` lists. */
const plansListed = 50;

type CleanupOptions = TargetFlags &
  ApplyOptions &
  Flags<'allowEmpty' | 'includeProducing'> &
  Texts<'file' | 'fromQuery' | 'apply'>;

type Cleanup = Call<CleanupOptions>;

type FindTargets = (call: Cleanup, app: App) => Promise<readonly DeletionTarget[]>;

/** Plans from a file or a query, or applies a plan. */
async function cleanup(call: Cleanup): Promise<ExitCode> {
  const { ofFile, ofQuery } = await import('../../app/cleanups/cleanup-targets.ts');
  const { applyPlan } = await import('./cleanup-plans.ts');
  const { file, fromQuery, apply } = call.options;
  const named = [file, fromQuery, apply].filter((option) => option !== undefined);
  if (named.length > 1) {
    throw new UsageError('--file, --from-query and --apply exclude each other', {
      hint: 'A plan is applied as it is: --apply names no targets.',
    });
  }
  if (apply !== undefined) {
    refuseIncludeProducing(call, 'A plan is applied as it is: give --include-producing when it is made.');
    return applyPlan(apply, call);
  }
  if (file !== undefined) return plan(call, async ({ stdin }) => ofFile(file, stdin));
  if (fromQuery !== undefined) return plan(call, async (_, { warehouse }) => ofQuery(fromQuery, warehouse));
  throw new UsageError('nothing is named that should be cleaned up', {
    hint: 'Name targets by --file, --from-query, time-series, micro-strings or wellbores; or a plan by --apply.',
  });
}

async function planTimeSeries(call: Cleanup): Promise<ExitCode> {
  const { timeSeriesOf } = await import('../../app/cleanups/cleanup-targets.ts');
  refuseGroupOptions(call);
  return plan(call, async ({ options }) => timeSeriesOf(options));
}

async function planWells(kind: TargetKind, call: Cleanup): Promise<ExitCode> {
  const { ofWells } = await import('../../app/cleanups/cleanup-targets.ts');
  refuseGroupOptions(call);
  return plan(call, async ({ options, stdin }) => ofWells(kind, options, stdin));
}

async function runSavedSelection(call: Cleanup): Promise<ExitCode> {
  const { runSelection } = await import('./cleanup-plans.ts');
  refuseGroupOptions(call);
  refuseIncludeProducing(call, 'Set includeProducing: true in the selection, in cleanup.selections.');
  return runSelection(call);
}

async function plan(call: Cleanup, find: FindTargets): Promise<ExitCode> {
  const { planMaxAgeMs, planTargets } = await import('../../app/cleanups/plan.ts');
  const { atService, unlessEmpty } = await import('../carry-out.ts');
  const { planStatus, printDryRun, printPlan, sayWhatIsRead } = await import('./cleanup-plans.ts');
  const { options, output } = call;
  const { yes, wait, inline, dryRun = false, includeProducing = false } = options;
  if (yes !== undefined || wait !== undefined || inline !== undefined) {
    throw new UsageError('--yes, --wait and --inline go with --apply: a plan alone deletes nothing', {
      hint: 'Make the plan first, look at it, and apply it by its id.',
    });
  }
  return unlessEmpty(call, async () => {
    const config = await call.config();
    await using app = await call.openApp(config);
    const targets = await find(call, app);
    const request = { targets, createdBy: operatorName(), keep: !dryRun, includesProducing: includeProducing };
    const made = await atService(app, output, (context, read) => {
      sayWhatIsRead(targets.length, output);
      return planTargets(request, config, context, read);
    });
    if (dryRun) await printDryRun(made, output);
    else await printPlan(made, planStatus(made.plan, Date.now(), planMaxAgeMs(config)), output);
    return exitCodes.done;
  });
}

/** Throws UsageError for options of the group beside a command that has its own targets or plan. */
function refuseGroupOptions({ options: { file, fromQuery, apply } }: Cleanup): void {
  if (file === undefined && fromQuery === undefined && apply === undefined) return;
  throw new UsageError('--file, --from-query and --apply stand by themselves: nothing else is named beside them');
}

function refuseIncludeProducing({ options: { includeProducing } }: Cleanup, hint: string): void {
  if (includeProducing) throw new UsageError('--include-producing belongs to the making of a plan', { hint });
}

async function showPlan(call: Cleanup): Promise<void> {
  const { findPlan, planMaxAgeMs, showPlan: planDocumentOf, withWarnings } = await import('../../app/cleanups/plan.ts');
  const { planStatus, planText } = await import('./cleanup-plans.ts');
  refuseGroupOptions(call);
  const { output, args } = call;
  const config = await call.config();
  await using app = await call.openStored(config);
  const { cleanupPlans } = app.ledger;
  const found = await findPlan(cleanupPlans, args[0] ?? '');
  const shown = await withWarnings(found, cleanupPlans);
  const nowMs = Date.now();
  const status = planStatus(found, nowMs, planMaxAgeMs(config));
  await output.print(`${planText(shown)}\n\n${status}`, await planDocumentOf(shown, app, nowMs));
}

async function listPlans(call: Cleanup): Promise<void> {
  const { planMaxAgeMs } = await import('../../app/cleanups/plan.ts');
  const { planDocument } = await import('../../app/cleanups/plan-document.ts');
  const { plansText } = await import('./cleanup-plans.ts');
  refuseGroupOptions(call);
  const { output } = call;
  const config = await call.config();
  await using app = await call.openStored(config);
  const plans = await app.ledger.cleanupPlans.list(plansListed);
  await output.print(
    plansText(plans, Date.now(), planMaxAgeMs(config), output.width),
    plans.map((each) => planDocument({ plan: each, warned: [] })),
  );
}
