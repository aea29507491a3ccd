/**
 * `wellsync push`: starts a run that sends a file of network pipes, and leaves, follows or works it; or only checks the
 * file.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { PushOptions } from '../actions/push.ts';
import { actionOf, examples, type Invocation, type Shell, wholeNumber } from './command-line.ts';
import { emptyOption } from './empty-option.ts';
import { inlineOption, skipIfRunningOption, waitOption } from './start-options.ts';

export function addPushCommand(program: Command, shell: Shell): void {
  const group = program.command('push').description('send data to the service');
  group
    .command('network-pipes')
    .argument('<file>', 'a CSV file, gzip or not; - is standard input')
    .description('send the network pipes of a CSV file to the bulk endpoint')
    .option('--dry-run', 'check everything, send nothing')
    .option('--check-topology', 'report repeated and parallel pipes, self-loops, open and dead ends, unconnected parts')
    .option('--again', 'push a file again whose content has been pushed')
    .option('--chunk-items <count>', 'pipes in a request, at most', wholeNumber)
    .addOption(new Option('--long', 'one row a segment, consecutive rows make a pipe').conflicts('wide'))
    .option('--wide', 'one row a pipe')
    .option('--delimiter <character>', 'stands between cells; tab is a tab (push.delimiter)', delimiter)
    .addOption(emptyOption())
    .option('--ignore-unknown-columns', 'leave columns aside that are no field of a pipe')
    .addOption(waitOption())
    .addOption(inlineOption())
    .addOption(skipIfRunningOption())
    .addHelpText('after', explanation)
    .action(
      actionOf(shell, async (invocation: Invocation<PushOptions>) =>
        (await import('../actions/push.ts')).pushNetworkPipes(invocation),
      ),
    );
}

const explanation = `
The first line names the columns: the ten fields of a pipe, in any order and
case (push.aliases in the configuration gives them other names). Array cells are
JSON arrays or lists with ";"; the long form is recognised by itself.

Every date of a pipe is sent, in the order of the file, those of one pipe in requests
one after the other; of one date the last row wins. push.pipeIdentity: with-date lets
dates share a request, for a service that keeps every date of a pipe.
Rows that are wrong, and pipes that the service refuses, land in one rejects file,
with line, column and reason; the rest arrives. A file whose content has been pushed is not pushed again without
--again. The file must stay as it is, where workers can read it, until the run has
ended; standard input is kept in the data folder until then.

Exit codes
  0  done, or pushed before; without --wait or --inline: queued
  1  failed
  2  wrong use
  3  done, with rejected rows
  4  cancelled, or interrupted by Ctrl-C
  5  could not reach Redis, the warehouse or the service
${examples([
  'wellsync push network-pipes pipes.csv --dry-run --check-topology',
  'wellsync push network-pipes pipes.csv --wait',
  'zcat pipes.csv.gz | wellsync push network-pipes - --inline --json',
])}`;

function delimiter(text: string): string {
  const character = text === 'tab' || text === '\\t' ? '\t' : text;
  if (/^[^"\r\n]$/.test(character)) return character;
  throw new InvalidArgumentError('It must be one character, and no quote.');
}
