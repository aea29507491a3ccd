/** `wellsync inbox`: changes the owner of the inbox. */
import type { Command } from 'commander';
import type { InboxFlags } from '../actions/inbox.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addInboxCommand(program: Command, shell: Shell): void {
  const group = program.command('inbox').description('change the installation that an inbox belongs to');
  group
    .command('adopt')
    .description('make this installation the owner of inbox.folder, in the place of another one')
    .option('--dry-run', 'say whose it is and would be, and change nothing')
    .option('--yes', 'do not ask; needed without a terminal')
    .addHelpText('after', `${explanation}${examples(['wellsync inbox adopt --dry-run', 'wellsync inbox adopt --yes'])}`)
    .action(
      actionOf(shell, async (invocation: Invocation<InboxFlags>) =>
        (await import('../actions/inbox.ts')).adoptInbox(invocation),
      ),
    );
}

const explanation = `
An inbox belongs to the installation whose worker was the first to take files from
it: a warehouse, its service and, for a DuckDB file, the place where it lies. Others
are refused, so that a copied configuration sends no file to another service. Adopt
it after a warehouse was moved to another disk, or restored from a backup. Workers of
the owner before take no more files; what is in working/ is worked again.
`;
