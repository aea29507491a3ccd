/** `wellsync cleanup`: plans deletions, shows plans, applies a confirmed one, and runs saved selections. */
import { type Command, Option } from 'commander';
import { targetKinds } from '../../core/cleanup/target.ts';
import type { CleanupOptions } from '../actions/cleanup.ts';
import { actionOf, collected, examples, type Invocation, type Shell } from './command-line.ts';
import { emptyOption } from './empty-option.ts';
import { inlineOption, skipIfRunningOption, waitOption } from './start-options.ts';

type Cleanup = Invocation<CleanupOptions>;

const actions = () => import('../actions/cleanup.ts');

export function addCleanupCommand(program: Command, shell: Shell): void {
  const group = program
    .command('cleanup')
    .description('delete records at the service: first a plan, then its application')
    .option('--file <file>', 'targets from a CSV file: kind,well,equipment,source_id; - is standard input')
    .option('--from-query <sql>', 'targets from one SELECT on the warehouse, with the same columns')
    .addOption(emptyOption())
    .option('--apply <plan>', 'run exactly this plan; the beginning of its id will do')
    .option('--include-producing', 'plan the targets of wells that produce too')
    .addOption(dryRunOption())
    .addOption(new Option('--yes', 'apply without a question; needed where there is no terminal'))
    .addOption(waitOption())
    .addOption(inlineOption())
    .addHelpText('after', explanation)
    .action(actionOf(shell, async (invocation: Cleanup) => (await actions()).cleanup(invocation)));
  group
    .command('time-series')
    .description('plan the deletion of time series records of one equipment id')
    .option('--equipment <id>', 'source id of the equipment', collected)
    .option('--source-id <id>', 'source id of a record; may be given more than once', collected)
    .addOption(dryRunOption())
    .addHelpText('after', examples(['wellsync cleanup time-series --equipment "EQ 7" --source-id "EQ 7:OilRate"']))
    .action(actionOf(shell, async (invocation: Cleanup) => (await actions()).planTimeSeries(invocation)));
  for (const kind of targetKinds.filter((each) => each !== 'time-series')) {
    group
      .command(kind)
      .description(`plan the deletion of all ${kind.replace('-', ' ')} of wells`)
      .option('--well <id>', 'source id of a well; may be given more than once', collected)
      .option('--wells <file>', 'wells from a CSV file with the column well; - is standard input')
      .addOption(emptyOption())
      .addOption(dryRunOption())
      .addHelpText('after', examples([`wellsync cleanup ${kind} --well "15/9-F-1 C"`]))
      .action(actionOf(shell, async (invocation: Cleanup) => (await actions()).planWells(kind, invocation)));
  }
  addPlanCommands(group, shell);
}

/** Of the group and of its commands alike. */
function dryRunOption(): Option {
  return new Option('--dry-run', 'check and show everything; keep no plan, start no run, delete nothing');
}

function addPlanCommands(group: Command, shell: Shell): void {
  group
    .command('show')
    .argument('<plan>', 'the id of a plan, or its beginning')
    .description('show a plan, and what became of it')
    .addHelpText('after', examples(['wellsync cleanup show 3f9a-1c27-b04e']))
    .action(actionOf(shell, async (invocation: Cleanup) => (await actions()).showPlan(invocation)));
  group
    .command('plans')
    .description('list plans, the newest first')
    .addHelpText('after', examples(['wellsync cleanup plans', 'wellsync cleanup plans --json']))
    .action(actionOf(shell, async (invocation: Cleanup) => (await actions()).listPlans(invocation)));
  group
    .command('run')
    .argument('<name>', 'a selection of the configuration (cleanup.selections)')
    .description('plan and apply a saved selection in one run, within its own caps; nobody is asked')
    .addOption(dryRunOption())
    .addOption(waitOption())
    .addOption(inlineOption())
    .addOption(skipIfRunningOption())
    .addHelpText(
      'after',
      examples(['wellsync cleanup run retired-wells --dry-run', 'wellsync cleanup run retired-wells --inline']),
    )
    .action(actionOf(shell, async (invocation: Cleanup) => (await actions()).runSavedSelection(invocation)));
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
  5  could not reach Redis, the warehouse or the service
${examples([
  'wellsync cleanup --file targets.csv',
  'wellsync cleanup --apply 3f9a-1c27-b04e --wait',
  'wellsync cleanup --apply 3f9a-1c27-b04e --yes --inline',
  'wellsync cleanup --from-query "SELECT \'wellbores\' AS kind, uwi AS well, NULL AS equipment, NULL AS source_id FROM …"',
])}`;
