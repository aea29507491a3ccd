/** `wellsync export time-series` and `wellsync export wells`: what the service says of equipment and of wells themselves. */
import type { Command } from 'commander';
import type { DefinitionParams } from '../../jobs/definitions.ts';
import { timeSeriesJobName } from '../../jobs/time-series.ts';
import { wellsJobName } from '../../jobs/wells.ts';
import { actionOf, collected, configOf, examples, type Invocation, type Shell } from './command-line.ts';
import type { ExitCode } from './exit-codes.ts';
import { installationFor, type Installation } from './installation.ts';
import { startExplanation, startRun, withStartOptions, type StartOptions } from './start-run.ts';
import { equipmentKind, sourceWellKind, targetsFrom, type TargetKind, type TargetSources } from './target-input.ts';
import { counted } from './words.ts';

interface DefinitionOptions extends StartOptions {
  readonly fromWarehouse?: true;
  readonly allowShrink?: true;
}

interface TimeSeriesOptions extends DefinitionOptions {
  readonly equipment?: readonly string[];
  readonly equipmentFile?: string;
}

interface WellsOptions extends DefinitionOptions {
  readonly well?: readonly string[];
  readonly wells?: string;
}

export function addExportTimeSeries(group: Command, shell: Shell): void {
  const command = group
    .command('time-series')
    .description('pull the time series definitions of equipment into the warehouse')
    .option('--equipment <id>', 'a piece of equipment by its source id; may be given more than once', collected)
    .option('--equipment-file <file>', 'equipment from a CSV file with the column equipment; - is standard input')
    .option('--from-warehouse', 'the equipment that the warehouse knows')
    .option('--allow-shrink', 'let equipment lose records that would otherwise be held for your leave');
  withStartOptions(command)
    .addHelpText('after', `${timeSeriesExplanation}${startExplanation}${examples(timeSeriesExamples)}`)
    .action(actionOf(shell, exportTimeSeries));
}

const timeSeriesExplanation = `
Every record goes to the table time_series, and what it said before to
time_series_history. Equipment that loses all of its records, or more than
export.shrink allows, is held.
`;

const timeSeriesExamples = [
  'wellsync export time-series --equipment "EQ 15/9-F-1 C" --inline',
  'wellsync export time-series --equipment-file equipment.csv --wait',
];

export function addExportWells(group: Command, shell: Shell): void {
  const command = group
    .command('wells')
    .description('pull wells themselves into the warehouse')
    .option('--well <id>', 'a well by its source id; may be given more than once', collected)
    .option('--wells <file>', 'wells from a CSV file with the column well; - is standard input')
    .option('--from-warehouse', 'the wells that the warehouse knows');
  withStartOptions(command)
    .addHelpText('after', `${wellsExplanation}${startExplanation}${examples(wellsExamples)}`)
    .action(actionOf(shell, exportWells));
}

const wellsExplanation = `
The body of a well goes to the table well as it came, and as JSON into its column
document where it is; what it was before goes to well_history. JSON that says the
same in another order is no change. A well that the service no longer knows
fails, and stays as it was. With wells.timeZoneField the zone that a body
names decides the calendar day of the well's daily production.
`;

const wellsExamples = [
  'wellsync export wells --well "15/9-F-1 C" --inline',
  'wellsync export wells --wells source-wells.csv --wait',
  `wellsync query "SELECT source_id, document->>'$.status' AS status FROM well"`,
];

async function exportTimeSeries(invocation: Invocation<TimeSeriesOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using installation = installationFor(configOf(invocation), output);
  const { config, warehouse } = installation;
  return await exportDefinitions(invocation, installation, {
    job: timeSeriesJobName,
    kind: equipmentKind,
    what: 'time series definitions of',
    flags: { names: options.equipment ?? [], file: options.equipmentFile },
    configured: { names: config.export.equipment, file: config.export.equipmentFile },
    known: () => warehouse.timeSeries.equipment(),
  });
}

async function exportWells(invocation: Invocation<WellsOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  await using installation = installationFor(configOf(invocation), output);
  const { config } = installation;
  return await exportDefinitions(invocation, installation, {
    job: wellsJobName,
    kind: sourceWellKind,
    what: 'the bodies of',
    flags: { names: options.well ?? [], file: options.wells },
    configured: { names: config.export.sourceWells, file: config.export.sourceWellsFile },
    known: () => knownSourceIds(installation),
  });
}

/** Those of its table of wells; and those that daily production was read of, as long as a uwi is taken for a source id. */
async function knownSourceIds({ config, warehouse }: Installation): Promise<readonly string[]> {
  const ofWells = await warehouse.wells.known();
  const ofDailyProduction = config.wells.uwiField === undefined ? await warehouse.dailyProduction.uwis() : [];
  return [...ofWells.map(({ sourceId }) => sourceId), ...ofDailyProduction];
}

async function exportDefinitions(
  invocation: Invocation<DefinitionOptions>,
  installation: Installation,
  wanted: {
    readonly job: string;
    readonly kind: TargetKind;
    readonly what: string;
    readonly flags: TargetSources;
    readonly configured: TargetSources;
    readonly known: () => Promise<readonly string[]>;
  },
): Promise<ExitCode> {
  const { options, stdin } = invocation;
  const { job, kind, what, flags, configured, known } = wanted;
  const sources = { ...flags, known: options.fromWarehouse ? known : undefined };
  const { names, repeatedCount } = await targetsFrom(kind, sources, configured, stdin);
  const params: DefinitionParams = { targets: [...names], allowShrink: options.allowShrink ?? false };
  const repeated = repeatedCount === 0 ? '' : ` (${counted(repeatedCount, 'repeated name')} left out)`;
  return startRun(invocation, installation, {
    job,
    params,
    what: `${what} ${counted(names.length, kind.one, kind.many)}${repeated}`,
    facts: { targets: names.length, repeatedTargets: repeatedCount },
  });
}
