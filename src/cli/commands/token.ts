/** `wellsync token`: tokens of the HTTP API. */
import { Option } from 'commander';
import { type Role, roles } from '../../core/base/action.ts';
import type { Call, ProgramCommand } from '../command.ts';

export function addTokenCommand(program: ProgramCommand): void {
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
    .explained(explanation, [
      'wellsync token create nightly --role operate',
      'wellsync token create visitor --role read --expires 2027-01-31',
    ])
    .runs(createToken);
}

const explanation = `
  read     see runs, plans, coverage and production
  operate  start, cancel and retry runs, upload files, make plans of a cleanup
  delete   apply plans

Nothing keeps the token itself: where it is lost, make another one. To revoke one,
remove its line from http.tokens. wellsync doctor tells of one that ends within 14 days.
`;

interface TokenOptions {
  readonly role: Role;
  /** YYYY-MM-DD, its last day. */
  readonly expires?: string;
}

/** Shows the token this once: nothing keeps it. */
async function createToken({ options, args, output }: Call<TokenOptions>): Promise<void> {
  const { issueToken } = await import('../../app/access/access.ts');
  const [name = ''] = args;
  const { role, expires } = options;
  const { token, entry } = issueToken({ name, role, expires }, { nowMs: Date.now(), names: { expires: '--expires' } });
  const until = expires === undefined ? '' : ` until the end of ${expires} (UTC)`;
  const line = Object.entries({ ...entry, name: JSON.stringify(name) }).map(([key, value]) => `${key}: ${value}`);
  await output.print(
    `Token of ${name}, which may ${role}${until}. It is shown this once:\n\n  ${token}\n\n` +
      `Add its hash to the configuration; a server takes it within 5 s:\n\n` +
      `http:\n  tokens:\n    - { ${line.join(', ')} }`,
    { token, ...entry },
  );
}
