/** `wellsync coverage`: how complete the warehouse's daily production is, as a summary with a heat map, by well or by month. */
import type { Command } from 'commander';
import { dayText, type WellCoverage } from '../core/coverage.ts';
import { UsageError } from '../core/errors.ts';
import type { CoverageSurvey } from '../warehouse/warehouse.ts';
import { actionOf, collected, configOf, examples, wholeNumber, type Invocation, type Shell } from './command-line.ts';
import { monthTable, summaryText, wellTable, type CoverageFrame } from './coverage-text.ts';
import { dayBounds } from './day-bounds.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { openInstallation } from './installation.ts';
import type { Output } from './output.ts';
import { printJsonLines } from './query-formats.ts';

interface CoverageOptions {
  readonly uwi?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly byWell?: true;
  readonly byMonth?: true;
  readonly limit: number;
}

export function addCoverageCommand(program: Command, shell: Shell): void {
  program
    .command('coverage')
    .description('say how complete the daily production in the warehouse is')
    .option('--uwi <uwi>', 'only this well; may be given more than once', collected)
    .option('--from <day>', 'from this day on; without it, each well from its first known day')
    .option('--to <day>', 'up to this day, which is the first one left out; without it, today')
    .option('--by-well', 'a line a well, the worst first; with --json all of them, by name')
    .option('--by-month', 'a line a month, all wells together')
    .option('--limit <wells>', 'wells shown at most', wholeNumber, 20)
    .addHelpText('after', explanation)
    .action(actionOf(shell, showCoverage));
}

const explanation = `
Every day is in one of four ways: present (there is a row), quarantined (there is
only a record that breaks the contract), missing (a verified read brought
nothing), or never read. Days are those of the configured zone, and of a well's
own where that is known. A day counts as read when it was over and a complete
read held all of it; a window that is held counts as not read.
${examples([
  'wellsync coverage',
  'wellsync coverage --uwi "15/9-F-1 C" --from 2014-01-01 --to 2015-01-01 --by-month',
  'wellsync coverage --by-well --json',
  'wellsync export daily-production --from-warehouse --gaps --inline',
])}`;

async function showCoverage(invocation: Invocation<CoverageOptions>): Promise<ExitCode> {
  const { options, output } = invocation;
  if (options.byWell && options.byMonth) throw new UsageError('--by-well and --by-month exclude each other');
  const config = configOf(invocation);
  const { timeZone } = config;
  const bounds = dayBounds({ from: options.from, to: options.to, timeZone, nowMs: Date.now() });
  await using installation = openInstallation(config, output);
  const question = { ...bounds, ...(options.uwi === undefined ? {} : { uwis: options.uwi }) };
  const frame: CoverageFrame = {
    timeZone,
    from: bounds.fromDay === undefined ? null : dayText(bounds.fromDay),
    to: dayText(bounds.toDay),
  };
  await installation.warehouse.coverage.survey(question, (survey) => show(survey, frame, options, output));
  return exitCodes.done;
}

async function show(
  survey: CoverageSurvey,
  frame: CoverageFrame,
  { byWell, byMonth, limit }: CoverageOptions,
  output: Output,
): Promise<void> {
  if (byWell && output.json) return printJsonLines(survey.wells(), output);
  if (byMonth && output.json) return output.document(await survey.months());
  const { wells, emptyWells, ...days } = await survey.totals();
  if (output.json) return output.document({ ...frame, wells, emptyWells, days, months: await survey.months() });
  if (byMonth) return output.print(monthTable(await survey.months()));
  const worst = await survey.worstWells(limit);
  const more = wells - worst.length;
  if (byWell) return output.print(wellTable(worst, more));
  const rows = await heatRows(survey, worst);
  return output.print(summaryText({ frame, totals: { wells, emptyWells, ...days }, rows, more, width: output.width }));
}

async function heatRows(survey: CoverageSurvey, wells: readonly WellCoverage[]) {
  const cells = await survey.cells(wells.map(({ uwi }) => uwi));
  return wells.map(({ uwi }) => ({ name: uwi, months: cells.filter((cell) => cell.uwi === uwi) }));
}
