/** `wellsync export time-series` and `wellsync export wells`: the service's records of equipment and of wells. */
import type { Command } from 'commander';
import type { TimeSeriesOptions, WellsOptions } from '../actions/export-definitions.ts';
import { actionOf, collected, examples, type Invocation, type Shell } from './command-line.ts';
import { emptyOption } from './empty-option.ts';
import { startExplanation, withStartOptions } from './start-options.ts';

export function addExportTimeSeries(group: Command, shell: Shell): void {
  const command = group
    .command('time-series')
    .description('pull the time series definitions of equipment into the warehouse')
    .option('--equipment <id>', 'equipment by its source id; may be given more than once', collected)
    .option('--equipment-file <file>', 'equipment from a CSV file with the column equipment; - is standard input')
    .addOption(emptyOption())
    .option('--from-warehouse', 'the equipment that the warehouse knows')
    .option('--allow-shrink', 'remove records that would otherwise be held until they are released');
  withStartOptions(command)
    .addHelpText('after', `${timeSeriesExplanation}${startExplanation}${examples(timeSeriesExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<TimeSeriesOptions>) =>
        (await import('../actions/export-definitions.ts')).exportTimeSeries(invocation),
      ),
    );
}

const timeSeriesExplanation = `
Every record goes to the table time_series, and what it said before to
time_series_history. Equipment that loses all of its records, or more than
export.shrink allows, keeps them until they are released.
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
    .addOption(emptyOption())
    .option('--from-warehouse', 'the wells that the warehouse knows');
  withStartOptions(command)
    .addHelpText('after', `${wellsExplanation}${startExplanation}${examples(wellsExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<WellsOptions>) =>
        (await import('../actions/export-definitions.ts')).exportWells(invocation),
      ),
    );
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
