/** `wellsync query`: one read-only SQL statement over the warehouse, as a table, JSON, CSV or a file. */
import { text } from 'node:stream/consumers';
import type { App } from '../../app/app.ts';
import type * as QueryFile from '../../app/warehouse/query-file.ts';
import { UsageError } from '../../core/base/errors.ts';
import type { Units } from '../../core/daily/units.ts';
import { bytesText, counted } from '../../core/base/text.ts';
import { exitCodes } from '../../core/run/exit-code.ts';
import { type Call, type Flags, type ProgramCommand, type Texts, wholeNumber } from '../command.ts';
import type { Output } from '../output.ts';
import { listenForStop } from '../process/stop-signals.ts';

export function addQueryCommand(program: ProgramCommand): void {
  program
    .command('query')
    .argument('<sql>', 'one SELECT, or SHOW TABLES, DESCRIBE, SUMMARIZE; - reads it from standard input')
    .description('ask the warehouse in SQL; nothing can be changed this way')
    .option('--csv', 'print CSV with a header')
    .option('--ndjson', 'print a JSON object a line')
    .option('--vertical', 'print a field a line, for rows with many columns')
    .option('--output <file>', 'write a file: .csv, .csv.gz, .ndjson, .ndjson.gz, .parquet')
    .option('--units', 'units in the header of CSV, where a column has the name of one: oil_rate [bbl/d]')
    .option('--overwrite', 'replace the file of --output if it exists')
    .option('--limit <rows>', 'most rows of a table and of --vertical', wholeNumber, 100)
    .explained(explanation, [
      'wellsync query "SHOW TABLES"',
      'wellsync query "SELECT uwi, count(*) AS days, sum(oil_rate) AS oil FROM daily_production GROUP BY uwi"',
      'wellsync query --csv - < monthly.sql > monthly.csv',
      'wellsync query "FROM daily_production" --output daily.parquet',
    ])
    .runs(runQuery);
}

const explanation = `
A file of --output gets its name when it is whole, and its owner alone may read
it: chmod it to hand it over. In CSV an empty cell is null and "" the empty text.

The statement reads the warehouse alone: on DuckDB it opens no other file, and on
PostgreSQL it runs with the rights of the role, and what it does is taken back.

Cells that begin with = + - or @ stand as they are, also in CSV: a spreadsheet may
take them for formulas.

Parquet has the units of columns that are named as in daily_production in its
metadata, under the key units. CSV has them in its header with --units alone.
`;

type QueryOptions = Flags<'csv' | 'ndjson' | 'vertical' | 'units' | 'overwrite'> &
  Texts<'output'> & { readonly limit: number };

async function runQuery(call: Call<QueryOptions>): Promise<void> {
  const { options, output, stdin, args } = call;
  refuseTwoForms(call);
  const sql = args[0] === '-' ? await text(stdin) : (args[0] ?? '');
  if (sql.trim() === '') throw new UsageError('the query is empty', { hint: 'Try: wellsync query "SHOW TABLES"' });
  using stop = listenForStop(exitCodes.cancelled);
  await using app = await call.openStored();
  const { dailyUnits, unitsOfQuery } = await import('../../core/daily/units.ts');
  const units = dailyUnits(app.config.units);
  const { output: file, units: hasUnitHeads = false, overwrite: isOverwritten = false } = options;
  if (file === undefined) {
    const heads = hasUnitHeads ? unitsOfQuery(sql, units) : {};
    await app.warehouse.query(sql, (result) => print(result, call, heads), stop.signal);
  } else {
    await writeFile(app, { sql, file, isOverwritten, units, hasUnitHeads }, output, stop.signal);
  }
}

/** One form at a time; a file gets its form from its name, and --json then describes the file. */
function refuseTwoForms({ options, output }: Call<QueryOptions>): void {
  const forms = (['csv', 'ndjson', 'vertical', 'output'] as const).filter((form) => options[form] !== undefined);
  const given = [...forms, ...(output.json && options.output === undefined ? ['json'] : [])];
  const [first, second] = given.map((form) => `--${form}`);
  if (second !== undefined) throw new UsageError(`${first} and ${second} exclude each other`);
  if (options.units && !options.csv && options.output === undefined)
    throw new UsageError('--units needs --csv or --output');
  if (options.overwrite && options.output === undefined) throw new UsageError('--overwrite needs --output');
}

async function print(
  result: QueryFile.QueryResult,
  { options, output }: Call<QueryOptions>,
  heads: Units,
): Promise<void> {
  const { printCsv, printJson, printNdjson, printTable, printVertical } = await import('../text/query-formats.ts');
  if (output.json) return printJson(result, output);
  if (options.csv) return printCsv(result, output, heads);
  if (options.ndjson) return printNdjson(result, output);
  return options.vertical ? printVertical(result, output, options.limit) : printTable(result, output, options.limit);
}

async function writeFile(
  { warehouse }: Pick<App, 'warehouse'>,
  request: Parameters<typeof QueryFile.writeQueryFile>[1],
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const { writeQueryFile } = await import('../../app/warehouse/query-file.ts');
  const written = await writeQueryFile(warehouse, request, { file: '--output', overwrite: '--overwrite' }, signal);
  const { file, rows, bytes } = written;
  await output.print(`${counted(rows, 'row')} written to ${file} (${bytesText(bytes)}).`, written);
}
