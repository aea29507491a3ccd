/** `wellsync query`: one read-only SQL statement over the warehouse, as a table, JSON, CSV or a file. */
import type { Command } from 'commander';
import type { QueryOptions } from '../actions/query.ts';
import { actionOf, examples, type Invocation, type Shell, wholeNumber } from './command-line.ts';

export function addQueryCommand(program: Command, shell: Shell): void {
  program
    .command('query')
    .argument('<sql>', 'one SELECT, or SHOW TABLES, DESCRIBE, SUMMARIZE; - reads it from standard input')
    .description('ask the warehouse in SQL; nothing can be changed this way')
    .option('--csv', 'print CSV with a header')
    .option('--ndjson', 'print a JSON object a line')
    .option('--vertical', 'print a field a line, for rows with many columns')
    .option('--output <file>', 'write a file: .csv, .csv.gz, .ndjson, .ndjson.gz, .parquet')
    .option('--overwrite', 'replace the file of --output if it exists')
    .option('--limit <rows>', 'most rows of a table and of --vertical', wholeNumber, 100)
    .addHelpText(
      'after',
      `${explanation}${examples([
        'wellsync query "SHOW TABLES"',
        'wellsync query "SELECT uwi, count(*) AS days, sum(oil_rate) AS oil FROM daily_production GROUP BY uwi"',
        'wellsync query --csv - < monthly.sql > monthly.csv',
        'wellsync query "FROM daily_production" --output daily.parquet',
      ])}`,
    )
    .action(
      actionOf(shell, async (invocation: Invocation<QueryOptions>) =>
        (await import('../actions/query.ts')).runQuery(invocation),
      ),
    );
}

const explanation = `
A file of --output gets its name when it is whole, and its owner alone may read
it: chmod it to hand it over. In CSV an empty cell is null and "" the empty text.

The statement reads the warehouse alone: on DuckDB it opens no other file, and on
PostgreSQL it runs with the rights of the role, and what it does is taken back.

Cells that begin with = + - or @ stand as they are, also in CSV: a spreadsheet may
take them for formulas.
`;
