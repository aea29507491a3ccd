import { text } from 'node:stream/consumers';
import type { App } from '../../app/app.ts';
import { type QueryResult, writeQueryFile } from '../../app/warehouse/query-file.ts';
import { UsageError } from '../../core/base/errors.ts';
import { bytesText, counted } from '../../core/base/text.ts';
import { type ExitCode, exitCodes } from '../../core/run/exit-code.ts';
import type { Invocation } from '../commands/command-line.ts';
import type { Output } from '../output.ts';
import { listenForStop } from '../process/stop-signals.ts';
import { printCsv, printJson, printNdjson, printTable, printVertical } from '../text/query-formats.ts';
import { configOf } from './config.ts';
import { openApp } from './open-app.ts';

export interface QueryOptions {
  readonly csv?: true;
  readonly ndjson?: true;
  readonly vertical?: true;
  readonly output?: string;
  readonly overwrite?: true;
  readonly limit: number;
}

export async function runQuery(invocation: Invocation<QueryOptions>): Promise<ExitCode> {
  const { options, output, stdin, args } = invocation;
  refuseTwoForms(invocation);
  const sql = args[0] === '-' ? await text(stdin) : (args[0] ?? '');
  if (sql.trim() === '') throw new UsageError('the query is empty', { hint: 'Try: wellsync query "SHOW TABLES"' });
  using stop = listenForStop(exitCodes.cancelled);
  await using app = openApp(configOf(invocation), output);
  if (options.output === undefined) {
    await app.warehouse.query(sql, (result) => print(result, invocation), stop.signal);
  } else {
    await writeFile(app, { sql, file: options.output, isOverwritten: options.overwrite ?? false }, output, stop.signal);
  }
  return exitCodes.done;
}

/** One form at a time; a file gets its form from its name, and --json then describes the file. */
function refuseTwoForms({ options, output }: Invocation<QueryOptions>): void {
  const forms = (['csv', 'ndjson', 'vertical', 'output'] as const).filter((form) => options[form] !== undefined);
  const given = [...forms, ...(output.json && options.output === undefined ? ['json'] : [])];
  const [first, second] = given.map((form) => `--${form}`);
  if (second !== undefined) throw new UsageError(`${first} and ${second} exclude each other`);
  if (options.overwrite && options.output === undefined) throw new UsageError('--overwrite needs --output');
}

function print(result: QueryResult, { options, output }: Invocation<QueryOptions>): Promise<void> {
  if (output.json) return printJson(result, output);
  if (options.csv) return printCsv(result, output);
  if (options.ndjson) return printNdjson(result, output);
  return options.vertical ? printVertical(result, output, options.limit) : printTable(result, output, options.limit);
}

async function writeFile(
  { warehouse }: Pick<App, 'warehouse'>,
  request: Parameters<typeof writeQueryFile>[1],
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const written = await writeQueryFile(warehouse, request, { file: '--output', overwrite: '--overwrite' }, signal);
  if (output.json) return output.document(written);
  const { file, rows, bytes } = written;
  await output.print(`${counted(rows, 'row')} written to ${file} (${bytesText(bytes)}).`);
}
