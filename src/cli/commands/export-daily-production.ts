/** `wellsync export daily-production`: a run over the new days, a range of days, or the missing days. */
import type { Command } from 'commander';
import type { DailyProductionOptions } from '../actions/export-daily-production.ts';
import { actionOf, collected, dayCount, examples, type Invocation, type Shell } from './command-line.ts';
import { emptyOption } from './empty-option.ts';
import { startExplanation, withStartOptions } from './start-options.ts';

export function addExportDailyProduction(group: Command, shell: Shell): void {
  const command = group
    .command('daily-production')
    .description('pull daily production of wells into the warehouse')
    .option('--uwi <uwi>', 'a well; may be given more than once', collected)
    .option('--wells <file>', 'wells from a CSV file with the column uwi; - is standard input')
    .addOption(emptyOption())
    .option('--from-warehouse', 'the wells that the warehouse knows')
    .option('--from <day>', 'read from this day on: a backfill, which moves no watermark')
    .option('--to <day>', 'read up to this day, which is the first one left out')
    .option(
      '--gaps',
      'read the days that are missing in the warehouse or were never read, and what lies close between them',
    )
    .option(
      '--lookback <days>',
      'read at least so many days again below the watermark: deeper than export.lookback',
      dayCount,
    )
    .option('--allow-shrink', 'remove rows of this request that would otherwise be held until they are released')
    .option('--dry-run', 'say what would be read, and start nothing');
  withStartOptions(command)
    .addHelpText('after', `${explanation}${startExplanation}${examples(exampleLines)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<DailyProductionOptions>) =>
        (await import('../actions/export-daily-production.ts')).exportDailyProduction(invocation),
      ),
    );
}

const explanation = `
Without --from and --to every well goes on from its watermark, minus the lookback
that is due (export.lookback). It reaches further back, to the day after the last
row of the well, and to days that are missing or quarantined (export.holeDays): a
well that delivers late loses nothing. A well without a row gets its whole history,
at every run until it has one. A day is one of the configured time zone; an ISO
date-time (2024-03-31T06:00:00Z) will do too. Where no well is named, those of the
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
