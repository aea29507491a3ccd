/** `wellsync token`: tokens of the HTTP API. */
import { type Command, Option } from 'commander';
import { roles } from '../../core/run/role.ts';
import type { TokenOptions } from '../actions/token.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addTokenCommand(program: Command, shell: Shell): void {
  const group = program.command('token').description('tokens of the HTTP API');
  group
    .command('create')
    .description('make a token, and the line of the configuration that lets it in')
    .argument('<name>', 'who will use it: its name stands in runs, plans and the audit')
    .addOption(
      new Option('--role <role>', 'what it may do: each role includes those before it')
        .choices(roles)
        .makeOptionMandatory(),
    )
    .option('--expires <day>', 'its last day (YYYY-MM-DD): it ends with it, in UTC; without it, never')
    .addHelpText(
      'after',
      `${explanation}${examples([
        'wellsync token create nightly --role operate',
        'wellsync token create visitor --role read --expires 2027-01-31',
      ])}`,
    )
    .action(
      actionOf(shell, async (invocation: Invocation<TokenOptions>) =>
        (await import('../actions/token.ts')).createToken(invocation),
      ),
    );
}

const explanation = `
  read     see runs, plans, coverage and production
  operate  start, cancel and retry runs, upload files, make plans of a cleanup
  delete   apply plans

Nothing keeps the token itself: where it is lost, make another one. To revoke one,
remove its line from http.tokens. wellsync doctor tells of one that ends within 14 days.
`;
