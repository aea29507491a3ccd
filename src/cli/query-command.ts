/** `wellsync query`: one reading SQL statement over the warehouse, as a table, JSON or CSV. */
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { UsageError } from '../core/errors.ts';
import type { QueryResult } from '../warehouse/warehouse.ts';
import { actionOf, configOf, examples, wholeNumber, type Invocation, type Shell } from './command-line.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { openInstallation } from './installation.ts';
import { listenForStop } from './stop-signals.ts';
import { printCsv, printJson, printTable } from './query-formats.ts';

interface QueryOptions {
  readonly csv?: true;
  readonly limit: number;
}

export function addQueryCommand(program: Command, shell: Shell): void {
  program
    .command('query')
    .argument('<sql>', 'one SELECT, or SHOW TABLES, DESCRIBE, SUMMARIZE; - reads it from standard input')
    .description('ask the warehouse in SQL; nothing can be changed this way')
    .option('--csv', 'print CSV with a header')
    .option('--limit <rows>', 'rows of the table at most; --json and --csv always print all', wholeNumber, 100)
    .addHelpText(
      'after',
      `${explanation}${examples([
        'wellsync query "SHOW TABLES"',
        'wellsync query "SELECT uwi, count(*) AS days, sum(oil_rate) AS oil FROM daily_production GROUP BY uwi"',
        'wellsync query --csv - < monthly.sql > monthly.csv',
      ])}`,
    )
    .action(actionOf(shell, runQuery));
}

const explanation = `
The statement runs with your rights: it may read files of this machine, as
read_csv and read_text do. Do not run one that you have not read.
`;

async function runQuery(invocation: Invocation<QueryOptions>): Promise<ExitCode> {
  const { options, output, stdin, args } = invocation;
  if (options.csv && output.json) throw new UsageError('--csv and --json exclude each other');
  const sql = args[0] === '-' ? await text(stdin) : (args[0] ?? '');
  if (sql.trim() === '') throw new UsageError('the query is empty', { hint: 'Try: wellsync query "SHOW TABLES"' });
  using stop = listenForStop(exitCodes.cancelled);
  await using installation = openInstallation(configOf(invocation), output);
  const print = async (result: QueryResult): Promise<void> => {
    if (output.json) await printJson(result, output);
    else if (options.csv) await printCsv(result, output);
    else await printTable(result, output, options.limit);
  };
  await installation.warehouse.query(sql, print, stop.signal);
  return exitCodes.done;
}
