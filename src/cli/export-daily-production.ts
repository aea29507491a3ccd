/** `wellsync export daily-production`: asks for a run over what is due, over a range of days, or over what is missing. */
import type { Command } from 'commander';
import { planGaps, planWindows } from '../../jobs/daily-production-plan.ts';
import { dailyProductionJobName, gapsJobName, type DailyProductionParams } from '../../jobs/daily-production.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { backfillBounds, type BackfillBounds } from './backfill-bounds.ts';
import { actionOf, collected, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { installationFor, dailyProductionSettings, historyFromMs, type Installation } from './installation.ts';
import { planDocument, planText } from './plan-text.ts';
import { startExplanation, startRun, withStartOptions, type RunWish, type StartOptions } from './start-run.ts';
import { targetsFrom, uwiKind, type Targets } from './target-input.ts';
import { counted, instantText } from './words.ts';

interface ExportWish extends RunWish {
  readonly params: DailyProductionParams;
}

interface ExportOptions extends StartOptions {
  readonly uwi?: readonly string[];
  readonly wells?: string;
  readonly fromWarehouse?: true;
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
    .option('--from-warehouse', 'the wells that the warehouse knows')
    .option('--from <day>', 'read from this day on: a backfill, which moves no watermark')
    .option('--to <day>', 'read up to this day, which is the first one left out')
    .option(
      '--gaps',
      'read the days that are missing in the warehouse or were never read, and what lies close between them',
    )
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
  'wellsync export daily-production --from-warehouse --gaps --dry-run',
];

async function exportDailyProduction(invocation: Invocation<ExportOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  const config = configOf(invocation);
  const nowMs = Date.now();
  const { from, to } = options;
  const { timeZone } = config;
  const bounds = backfillBounds({ from, to, timeZone, historyFromMs: historyFromMs(config), nowMs });
  await using installation = installationFor(config, output);
  const wells = await wellsOf(invocation, installation);
  const wish = wishOf(options, wells, bounds, nowMs);
  return options.dryRun
    ? await showPlan(invocation, installation, wish)
    : await startRun(invocation, installation, wish);
}

function wellsOf({ options, stdin }: Invocation<ExportOptions>, { config, warehouse }: Installation): Promise<Targets> {
  const known = options.fromWarehouse ? () => knownUwis(warehouse, config.wells.uwiField) : undefined;
  return targetsFrom(
    uwiKind,
    { names: options.uwi ?? [], file: options.wells, known },
    { names: config.export.wells, file: config.export.wellsFile },
    stdin,
  );
}

/** Those that were read before, and those of its table of wells. */
async function knownUwis(
  { dailyProduction, wells }: Warehouse,
  uwiField: string | undefined,
): Promise<readonly string[]> {
  const ofWells = await wells.known(uwiField);
  return [...(await dailyProduction.uwis()), ...ofWells.map(({ uwi }) => uwi)];
}

function wishOf(options: ExportOptions, wells: Targets, bounds: BackfillBounds, nowMs: number): ExportWish {
  const params: DailyProductionParams = {
    uwis: [...wells.names],
    nowMs,
    ...bounds,
    allowShrink: options.allowShrink ?? false,
  };
  return {
    job: options.gaps ? gapsJobName : dailyProductionJobName,
    params,
    what: whatText(options, wells, bounds),
    facts: { wells: wells.names.length, repeatedWells: wells.repeatedCount },
  };
}

function whatText({ gaps }: ExportOptions, wells: Targets, { fromMs, toMs }: BackfillBounds): string {
  const part = gaps ? 'the gaps in daily production' : 'daily production';
  const since = fromMs === undefined ? '' : ` from ${instantText(fromMs)}`;
  const until = toMs === undefined ? '' : ` to ${instantText(toMs)}`;
  const repeated = wells.repeatedCount === 0 ? '' : ` (${counted(wells.repeatedCount, 'repeated name')} left out)`;
  return `${part} of ${counted(wells.names.length, 'well')}${since}${until}${repeated}`;
}

/** The plan needs the warehouse alone: neither Redis nor the service is asked. */
async function showPlan(
  { output }: Invocation<ExportOptions>,
  { warehouse, config }: Installation,
  { job, params }: ExportWish,
): Promise<ExitCode> {
  const planned = job === gapsJobName ? planGaps : planWindows;
  const plan = { job, units: await planned(params, dailyProductionSettings(config), { warehouse }) };
  if (output.json) await output.document(planDocument(plan));
  else await output.print(planText(plan));
  return exitCodes.done;
}
