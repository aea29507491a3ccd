/** `wellsync testing-server`: serves the seven endpoints locally until it is stopped. */
import type { TestingServerFlags } from '../actions/testing-server.ts';
import { InvalidArgumentError, type Command } from 'commander';
import { actionOf, collected, examples, type Invocation, type Shell } from './command-line.ts';

/** The help lists the options of the server's schema, which loads slowly: it is loaded only for a help request. */
export async function addTestingServerCommand(program: Command, shell: Shell, argv: readonly string[]): Promise<void> {
  const optionNames = isHelp(argv) ? (await import('../actions/testing-server-options.ts')).optionList() : '';
  program
    .command('testing-server')
    .description('serve the endpoints of the Production Data Service locally, from memory')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on; 0 takes any free one', wholeNumber, 4010)
    .option('--daily <file>', 'serve daily production from NDJSON: uwi and the fields of DailyProduction, a row a line')
    .option('--seed <number>', 'seed of the generated field and of everything that is drawn', wholeNumber)
    .option('--wells <count>', 'wells of the generated field', wholeNumber)
    .option('--from <day>', 'first day of the generated field, by default 2021-01-01')
    .option('--to <day>', 'the day after its last, by default 2024-01-01')
    .option('--page-base <0|1>', 'number of the first page', wholeNumber)
    .option('--default-limit <rows>', 'rows of a page when no limit is sent', wholeNumber)
    .option('--max-limit <rows>', 'largest limit that is granted', wholeNumber)
    .option('--latency-ms <ms>', 'delay before every request is handled', wholeNumber)
    .option('--fault <name=rate>', 'share of requests that end in this fault; may be given more than once', collected)
    .option('--option <name=value>', 'any option of the list below; may be given more than once', collected)
    .addHelpText('after', `\n${optionNames}\n${tokenNote}\n${examples(commandExamples)}`)
    .action(
      actionOf(shell, async (invocation: Invocation<TestingServerFlags>) =>
        (await import('../actions/testing-server.ts')).serve(invocation),
      ),
    );
}

const tokenNote = `
Set WELLSYNC_TESTING_TOKEN to have every request under /api carry that token, and
every change under /testing, which is for this machine alone.
Outside /api, /testing/state shows what it has, /testing/requests what it was
asked.`;

const commandExamples = [
  'wellsync testing-server --wells 50 --from 2020-01-01 --to 2025-01-01',
  'wellsync testing-server --daily volve.ndjson --page-base 0 --max-limit 500',
  'wellsync testing-server --fault unavailable=0.05 --fault tooManyRequests=0.02 --option order=shuffled',
];

function isHelp(argv: readonly string[]): boolean {
  return argv.includes('testing-server') && argv.some((word) => ['-h', '--help', 'help'].includes(word));
}

function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
