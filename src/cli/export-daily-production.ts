/** `wellsync export daily-production`: asks for a run over what is due, over a range of days, or over what is missing. */
import type { Command } from 'commander';
import type { Config } from '../../config/schema.ts';
import { dailyProductionJobName, gapsJobName, type DailyProductionParams } from '../../jobs/daily-production.ts';
import { backfillBounds, type BackfillBounds } from './backfill-bounds.ts';
import { actionOf, collected, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { createInstallation, historyFromMs } from './installation.ts';
import { planDocument, planText } from './plan-text.ts';
import { startExplanation, startRun, withStartOptions, type RunWish, type StartOptions } from './start-run.ts';
import { wellsFrom, type Wells } from './wells-input.ts';
import { counted, instantText } from './words.ts';

interface ExportOptions extends StartOptions {
  readonly uwi?: readonly string[];
  readonly wells?: string;
  readonly from?: string;
  readonly to?: string;
  readonly gaps?: true;
  readonly allowShrink?: true;
  readonly dryRun?: true;
}

export function addExportDailyProduction(group: Command, shell: Shell): void {
  const command = group
    .command('daily-production')
    .description('pull daily production of wells into the warehouse')
    .option('--uwi <uwi>', 'a well; may be given more than once', collected)
    .option('--wells <file>', 'wells from a CSV file with the column uwi; - is standard input')
    .option('--from <day>', 'read from this day on: a backfill, which moves no watermark')
    .option('--to <day>', 'read up to this day, which is the first one left out')
    .option('--gaps', 'read only days that are missing in the warehouse or were never read')
    .option('--allow-shrink', 'let windows lose rows that would otherwise be held for your leave')
    .option('--dry-run', 'say what would be read, and start nothing');
  withStartOptions(command)
    .addHelpText('after', `${explanation}${startExplanation}${examples(exampleLines)}`)
    .action(actionOf(shell, exportDailyProduction));
}

const explanation = `
Without --from and --to every well goes on from its watermark, minus the lookback
that is due (export.lookback); a well seen for the first time gets its whole
history. A day is one of the configured time zone; an ISO date-time
(2024-03-31T06:00:00Z) will do too. Where no well is named, those of the
configuration are meant (export.wells).

--gaps reads, between --from and --to or else from the first known day of a well
to the last day that is over, just the days that the warehouse has nothing of:
see wellsync coverage. A well of which nothing is known is read as a whole.
`;

const exampleLines = [
  'wellsync export daily-production --uwi "15/9-F-1 C" --inline',
  'wellsync export daily-production --wells wells.csv --wait',
  'wellsync export daily-production --wells wells.csv --from 2024-03-01 --to 2024-04-01 --wait --json',
  'wellsync export daily-production --wells wells.csv --gaps --dry-run',
];

async function exportDailyProduction(invocation: Invocation<ExportOptions>): Promise<ExitCode> {
  const { options } = invocation;
  const config = configOf(invocation);
  const nowMs = Date.now();
  const { from, to } = options;
  const { timeZone } = config;
  const bounds = backfillBounds({ from, to, timeZone, historyFromMs: historyFromMs(config), nowMs });
  const wells = await wellsOf(invocation, config);
  const wish = wishOf(options, wells, bounds, nowMs);
  if (options.dryRun) return showPlan(invocation, config, wish);
  return startRun(invocation, config, async () => wish);
}

function wellsOf({ options, stdin }: Invocation<ExportOptions>, config: Config): Promise<Wells> {
  return wellsFrom(
    { uwis: options.uwi ?? [], file: options.wells },
    { uwis: config.export.wells, file: config.export.wellsFile },
    stdin,
  );
}

function wishOf(options: ExportOptions, wells: Wells, bounds: BackfillBounds, nowMs: number): RunWish {
  const params: DailyProductionParams = {
    uwis: [...wells.uwis],
    nowMs,
    ...bounds,
    allowShrink: options.allowShrink ?? false,
  };
  return {
    job: options.gaps ? gapsJobName : dailyProductionJobName,
    params,
    what: whatText(options, wells, bounds),
    facts: { wells: wells.uwis.length, repeatedWells: wells.repeatedCount },
  };
}

function whatText({ gaps }: ExportOptions, wells: Wells, { fromMs, toMs }: BackfillBounds): string {
  const part = gaps ? 'the gaps in daily production' : 'daily production';
  const since = fromMs === undefined ? '' : ` from ${instantText(fromMs)}`;
  const until = toMs === undefined ? '' : ` to ${instantText(toMs)}`;
  const repeated = wells.repeatedCount === 0 ? '' : ` (${counted(wells.repeatedCount, 'repeated name')} left out)`;
  return `${part} of ${counted(wells.uwis.length, 'well')}${since}${until}${repeated}`;
}

/** The plan needs the warehouse alone: neither Redis nor the service is asked. */
async function showPlan(
  { output }: Invocation<ExportOptions>,
  config: Config,
  { job: name, params }: RunWish,
): Promise<ExitCode> {
  await using installation = createInstallation(config);
  const { warehouse, jobs } = installation;
  const units = await jobs.find((job) => job.name === name)?.plan(params, { warehouse, now: Date.now });
  const plan = { job: name, units: units ?? [] };
  if (output.json) await output.document(planDocument(plan));
  else await output.print(planText(plan));
  return exitCodes.done;
}
