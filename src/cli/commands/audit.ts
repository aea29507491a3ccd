/**
 * `wellsync audit`: what was deleted, by whom and with which outcome, and the check that nobody changed these records.
 */
import type { Command } from 'commander';
import type { DeletionOptions, VerifyOptions } from '../actions/audit.ts';
import { actionOf, examples, type Invocation, type Shell, wholeNumber } from './command-line.ts';

const actions = () => import('../actions/audit.ts');

export function addAuditCommand(program: Command, shell: Shell): void {
  const group = program
    .command('audit')
    .description('what was deleted at the service, and whether the record of it is whole');
  group
    .command('deletions')
    .description('list deletions, the newest first')
    .option('--since <day>', 'from this day on, or from an ISO date-time on')
    .option('--target <id>', 'of this equipment, well or record, by its source id')
    .option('--run <run>', 'of this run')
    .option('--csv', 'print CSV with a header')
    .option('--limit <rows>', 'rows of the table at most; --json and --csv always print all', wholeNumber, 100)
    .addHelpText(
      'after',
      `${columnsExplanation}${examples(['wellsync audit deletions --since 2024-03-01', 'wellsync audit deletions --target "15/9-F-1 C" --csv'])}`,
    )
    .action(
      actionOf(shell, async (invocation: Invocation<DeletionOptions>) => (await actions()).listDeletions(invocation)),
    );
  group
    .command('verify')
    .description('prove that no row of the audit was changed, removed or added')
    .option('--kept <hash>', 'a hash that an earlier verify showed: it must still stand in the audit')
    .addHelpText('after', `${verifyExplanation}${examples(['wellsync audit verify'])}`)
    .action(
      actionOf(shell, async (invocation: Invocation<VerifyOptions>) => (await actions()).verifyAudit(invocation)),
    );
}

const columnsExplanation = `
In CSV, JSON and the table deletion_audit, owner_id is the source id of the well,
or of the equipment for a time series, and source_id that of the time series.
`;

const verifyExplanation = `
Every row holds the hash (SHA-256) of its content and of the row before it, and
every deletion that a run has settled must stand in a row. The hash of the last
row stands for all of them: keep it elsewhere, and --kept shows later that nobody
rewrote the whole audit. Exit code 1 where a row is broken.
`;
