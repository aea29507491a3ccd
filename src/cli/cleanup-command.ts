/** `wellsync cleanup`: plans deletions, shows plans, applies one that was confirmed, and runs saved selections. */
import { Option, type Command } from 'commander';
import { targetKinds, type DeletionTarget } from '../core/deletion-target.ts';
import { UsageError } from '../core/errors.ts';
import { makePlan, warningsTold } from '../runs/cleanup-planner.ts';
import { applyPlan, runSelection, type ApplyOptions } from './cleanup-apply.ts';
import { atService } from './at-service.ts';
import { findPlan, maxAgeMsOf, printDryRun, printPlan, sayWhatIsRead } from './cleanup-parts.ts';
import { planDocument, planStanding, plansText } from './cleanup-plan-text.ts';
import { ofFile, ofQuery, ofWells, timeSeriesOf, type TargetFlags } from './cleanup-selections.ts';
import { actionOf, collected, configOf, examples, type Invocation, type Shell, type Work } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { inlineOption, waitOption } from './start-run.ts';
import { installationFor, openInstallation, type Installation } from './installation.ts';
import { operatorName } from './operator-name.ts';

/** How many plans `wellsync cleanup plans` lists. */
const plansListed = 50;

interface CleanupOptions extends TargetFlags, ApplyOptions {
  readonly file?: string;
  readonly fromQuery?: string;
  readonly apply?: string;
}

type Cleanup = Invocation<CleanupOptions>;

export function addCleanupCommand(program: Command, shell: Shell): void {
  const group = program
    .command('cleanup')
    .description('delete records at the service: first a plan, then its application')
    .option('--file <file>', 'targets from a CSV file: kind,well,equipment,source_id; - is standard input')
    .option('--from-query <sql>', 'targets from one SELECT on the warehouse, with the same columns')
    .option('--apply <plan>', 'run exactly this plan')
    .option('--dry-run', 'check and show everything; keep no plan, start no run, delete nothing')
    .addOption(new Option('--yes', 'apply without the question at a terminal'))
    .addOption(waitOption())
    .addOption(inlineOption())
    .addHelpText('after', explanation)
    .action(actionOf(shell, cleanup));
  group
    .command('time-series')
    .description('plan the deletion of time series records of one piece of equipment')
    .option('--equipment <id>', 'source id of the equipment', collected)
    .option('--source-id <id>', 'source id of a record; may be given more than once', collected)
    .addHelpText('after', examples(['wellsync cleanup time-series --equipment "EQ 7" --source-id "EQ 7:OilRate"']))
    .action(planning(shell, async ({ options }) => timeSeriesOf(options)));
  for (const kind of targetKinds.filter((each) => each !== 'time-series')) {
    group
      .command(kind)
      .description(`plan the deletion of all ${kind.replace('-', ' ')} of wells`)
      .option('--well <id>', 'source id of a well; may be given more than once', collected)
      .option('--wells <file>', 'wells from a CSV file with the column well; - is standard input')
      .addHelpText('after', examples([`wellsync cleanup ${kind} --well "15/9-F-1 C"`]))
      .action(planning(shell, async ({ options, stdin }) => ofWells(kind, options, stdin)));
  }
  addPlanCommands(group, shell);
}

function addPlanCommands(group: Command, shell: Shell): void {
  group
    .command('show')
    .argument('<plan>', 'the id of a plan')
    .description('show a plan, and what became of it')
    .action(actionOf(shell, alone(showPlan)));
  group
    .command('plans')
    .description('list plans, the newest first')
    .action(actionOf(shell, alone(listPlans)));
  group
    .command('run')
    .argument('<name>', 'a selection of the configuration (cleanup.selections)')
    .description('plan and apply a saved selection in one run, within its own caps; nobody is asked')
    .addHelpText(
      'after',
      examples(['wellsync cleanup run retired-wells --dry-run', 'wellsync cleanup run retired-wells --inline']),
    )
    .action(actionOf(shell, alone(runSelection)));
}

const explanation = `
Without --apply nothing is deleted: a plan is made and kept, with what the
service shows of every target now, and a plan id. --apply PLAN runs exactly that
plan, once: it refuses one that is older than cleanup.planMaxAgeHours, that was
applied, that is of another service, or of which the service shows something
else by now. At a terminal it asks for the number of targets, unless --yes is
given. An empty selection is an error, never "all".

Order: time series, then well by well micro strings and wellbores. Every
deletion stands in the audit: wellsync audit deletions.

Exit codes
  0  planned; applied and done; without --wait or --inline: queued
  1  failed, also where a saved selection passes its caps
  2  wrong use, or a plan that is refused
  3  done, with targets that were refused or are still there
  4  cancelled, not confirmed, or left by Ctrl-C before the end
  5  could not reach Redis, the warehouse or the service
${examples([
  'wellsync cleanup --file targets.csv',
  'wellsync cleanup --apply 3f9a-1c27-b04e --wait',
  'wellsync cleanup --from-query "SELECT \'wellbores\' AS kind, uwi AS well, NULL AS equipment, NULL AS source_id FROM …"',
])}`;

function cleanup(invocation: Cleanup): Promise<ExitCode> {
  const { file, fromQuery, apply } = invocation.options;
  const named = [file, fromQuery, apply].filter((option) => option !== undefined);
  if (named.length > 1) {
    throw new UsageError('--file, --from-query and --apply exclude each other', {
      hint: 'A plan is applied as it is: --apply names no targets.',
    });
  }
  if (apply !== undefined) return applyPlan(apply, invocation);
  if (file !== undefined) return plan(invocation, async ({ stdin }) => ofFile(file, stdin));
  if (fromQuery !== undefined) return plan(invocation, async (_, { warehouse }) => ofQuery(fromQuery, warehouse));
  throw new UsageError('nothing is named that should be cleaned up', {
    hint: 'Name targets by --file, --from-query, time-series, micro-strings or wellbores; or a plan by --apply.',
  });
}

/** Work that takes its targets, or its plan, from elsewhere than from these options of the group. */
function alone(work: Work<CleanupOptions>): Work<CleanupOptions> {
  return (invocation) => {
    const { file, fromQuery, apply } = invocation.options;
    if (file === undefined && fromQuery === undefined && apply === undefined) return work(invocation);
    throw new UsageError('--file, --from-query and --apply stand by themselves: nothing else is named beside them');
  };
}

type FindTargets = (invocation: Cleanup, installation: Installation) => Promise<readonly DeletionTarget[]>;

/** The action of a command that names targets of one kind. */
function planning(shell: Shell, find: FindTargets) {
  return actionOf(
    shell,
    alone((invocation) => plan(invocation, find)),
  );
}

async function plan(invocation: Cleanup, find: FindTargets): Promise<ExitCode> {
  const { options, output } = invocation;
  refuseWithoutApply(options);
  const config = configOf(invocation);
  await using installation = installationFor(config, output);
  const targets = await find(invocation, installation);
  const { maxTargets, maxShareOfWellsPercent } = config.cleanup;
  const made = await atService(installation, output, async (parts, look) => {
    sayWhatIsRead(targets.length, output);
    const caps = { maxTargets, maxShareOfWellsPercent };
    const request = { targets, caps, selection: null, createdBy: operatorName(), isUnattended: false };
    return makePlan({ ...request, keep: options.dryRun !== true }, parts, look);
  });
  if (options.dryRun) await printDryRun(made, output);
  else await printPlan(made, planStanding(made.plan, Date.now(), maxAgeMsOf(config)), output);
  return exitCodes.done;
}

function refuseWithoutApply({ yes, wait, inline }: CleanupOptions): void {
  if (yes === undefined && wait === undefined && inline === undefined) return;
  throw new UsageError('--yes, --wait and --inline go with --apply: a plan alone deletes nothing', {
    hint: 'Make the plan first, look at it, and apply it by its id.',
  });
}

async function showPlan(invocation: Cleanup): Promise<ExitCode> {
  const { output, args } = invocation;
  const config = configOf(invocation);
  await using installation = openInstallation(config, output);
  const { cleanupPlans } = installation.warehouse;
  const found = await findPlan(cleanupPlans, args[0] ?? '');
  const warned = await cleanupPlans.warnedTargets(found.planId, warningsTold);
  await printPlan({ plan: found, warned }, planStanding(found, Date.now(), maxAgeMsOf(config)), output);
  return exitCodes.done;
}

async function listPlans(invocation: Cleanup): Promise<ExitCode> {
  const { output } = invocation;
  const config = configOf(invocation);
  await using installation = openInstallation(config, output);
  const plans = await installation.warehouse.cleanupPlans.list(plansListed);
  if (output.json) await output.document(plans.map((each) => planDocument({ plan: each, warned: [] })));
  else await output.print(plansText(plans, Date.now(), maxAgeMsOf(config)));
  return exitCodes.done;
}
