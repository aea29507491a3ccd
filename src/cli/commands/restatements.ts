/** `wellsync restatements`: values that the service changed later, field by field. */
import type { Command } from 'commander';
import type { RestatementsOptions } from '../actions/restatements.ts';
import { actionOf, collected, examples, type Invocation, type Shell, wholeNumber } from './command-line.ts';

export function addRestatementsCommand(program: Command, shell: Shell): void {
  program
    .command('restatements')
    .description('list what the service said otherwise later: a line a field')
    .option('--since <day>', 'noticed from this day on (or an ISO date-time); without it, in the last 7 days')
    .option('--until <day>', 'noticed before this day; without it, until now')
    .option('--uwi <uwi>', 'only of this well; may be given more than once', collected)
    .option('--csv', 'print CSV with a header')
    .option('--limit <lines>', 'lines of the table at most; --json and --csv always print all', wholeNumber, 100)
    .addHelpText('after', explanation)
    .action(
      actionOf(shell, async (invocation: Invocation<RestatementsOptions>) =>
        (await import('../actions/restatements.ts')).listRestatements(invocation),
      ),
    );
}

const explanation = `
updated   the record says something else
replaced  the record has a new xid, and may say something else too
removed   the service has the record no more; the line names no field

The whole warehouse as it was known at a time is in the SQL function
daily_production_as_known, exact to the commit.
${examples([
  'wellsync restatements',
  'wellsync restatements --since 2024-03-03',
  'wellsync restatements --since 2024-03-03 --uwi "15/9-F-1 C" --csv > restated.csv',
  `wellsync query "SELECT sum(oil_rate) FROM daily_production_as_known('2024-03-03 06:00:00Z')"`,
])}`;
