/** `wellsync prune`: removes what was kept long enough. */
import type { Command } from 'commander';
import type { PruneOptions } from '../actions/prune.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addPruneCommand(program: Command, shell: Shell): void {
  program
    .command('prune')
    .description('remove runs, units, rejects and history that are older than the configuration says')
    .option('--dry-run', 'say what would be removed; remove nothing')
    .addHelpText('after', explanation)
    .action(
      actionOf(shell, async (invocation: Invocation<PruneOptions>) =>
        (await import('../actions/prune.ts')).pruneOld(invocation),
      ),
    );
}

const explanation = `
Workers do the same by themselves, once a day. It may be stopped at any time and
goes on the next time. The settings are retention.* and push.rememberDays.

Never removed: the audit with the plans and runs that it names, unfinished runs,
quarantined records, and one row for each file that was pushed within
push.rememberDays. History is removed only where retention.historyDays is set.
${examples(['wellsync prune --dry-run', 'wellsync prune'])}`;
