/** `wellsync coverage`: how complete the warehouse's daily production is. */
import type { Command } from 'commander';
import type { CoverageOptions } from '../actions/coverage.ts';
import { actionOf, collected, examples, type Invocation, type Shell, wholeNumber } from './command-line.ts';

export function addCoverageCommand(program: Command, shell: Shell): void {
  program
    .command('coverage')
    .description('say how complete the daily production in the warehouse is')
    .option('--uwi <uwi>', 'only this well; may be given more than once', collected)
    .option('--from <day>', 'from this day on; without it, each well from its first known day')
    .option('--to <day>', 'up to this day, which is the first one left out; without it, today')
    .option('--by-well', 'a line a well, the one with the most holes first; with --json all of them, by name')
    .option('--by-month', 'a line a month, all wells together')
    .option('--stale', 'the wells without a new day for long (freshness.warnAfterDays), the latest first')
    .option('--unknown', 'the wells whose daily production the service does not know (404), the latest first')
    .option('--limit <wells>', 'wells shown at most', wholeNumber, 20)
    .addHelpText('after', explanation)
    .action(
      actionOf(shell, async (invocation: Invocation<CoverageOptions>) =>
        (await import('../actions/coverage.ts')).showCoverage(invocation),
      ),
    );
}

const explanation = `
Every day is in one of four ways: present (there is a row), quarantined (a record
of it breaks the contract; the row from before stays), missing (a verified read
brought nothing), or never read. Holes are the days that are quarantined, never
read, or missing before the last day of the well. A plugged well (wells.plugged)
is complete with its last day. Days are those of the configured zone, and of a well's
own where that is known. A day counts as read when it was over and a complete
read held all of it; a month with held rows counts as not read. Days after a well's
last row that unverified reads alone have passed are left out.
${examples([
  'wellsync coverage',
  'wellsync coverage --uwi "15/9-F-1 C" --from 2014-01-01 --to 2015-01-01 --by-month',
  'wellsync coverage --by-well --json',
  'wellsync coverage --stale',
  'wellsync export daily-production --from-warehouse --gaps --inline',
])}`;
