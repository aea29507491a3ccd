/** `wellsync runs rejects`: prints the rows that a push rejected, to correct and push, or the path of their file. */
import type { Command } from 'commander';
import type { RejectsOptions } from '../actions/rejects.ts';
import { actionOf, examples, type Invocation, type Shell } from './command-line.ts';

export function addRejectsCommand(group: Command, shell: Shell): void {
  group
    .command('rejects')
    .argument('<run>', 'the id of a run, or a unique beginning of it')
    .description('print the rows that a push rejected, as CSV')
    .option('--path', 'print only where the file lies')
    .addHelpText('after', `${explanation}${examples(rejectsExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<RejectsOptions>) =>
        (await import('../actions/rejects.ts')).printRejects(invocation),
      ),
    );
}

const explanation = `
Each row has its line, its column and the reason in front of the original cells.
Fix the cells and push the file as it is: those three columns are ignored.
Nothing is printed where nothing was rejected; the exit code is 0 then as well.
`;
const rejectsExamples = [
  'wellsync runs rejects 20240331-061500-4f2a9c > rejects.csv',
  'wellsync push network-pipes rejects.csv --wait',
];
