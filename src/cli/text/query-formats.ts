/** The rows of a query in three forms: streamed as JSON or CSV, or the first ones as a table. */
import { pipeline, Readable } from 'node:stream';
import { stringify } from 'csv-stringify';
import type { QueryResult } from '../../app/warehouse/query-file.ts';
import { counted, csvForm, distinctNames, figure, ndjsonLine, printable } from '../../core/base/text.ts';
import { headWithUnit, type Units } from '../../core/daily/units.ts';
import type { Output } from '../output.ts';
import { fitColumns, padded, tableText, widestOf } from './table.ts';

/** Characters per write: a write for each row would take longer than the query. */
const pieceLength = 64 * 1024;

/** An array of objects, a row a line. Columns of the same name get numbers: `x`, `x_2`. */
export async function printJson({ columns, rows }: QueryResult, output: Output): Promise<void> {
  const names = distinctNames(columns.map((column) => column.name));
  await printJsonLines(rows, output, (row) => Object.fromEntries(names.map((name, position) => [name, row[position]])));
}

/** An object a line. */
export async function printNdjson({ columns, rows }: QueryResult, output: Output): Promise<void> {
  const names = distinctNames(columns.map((column) => column.name));
  let piece = '';
  for await (const row of rows) {
    if (output.isClosed) return;
    piece += ndjsonLine(names, row);
    if (piece.length < pieceLength) continue;
    await output.write(piece);
    piece = '';
  }
  await output.write(piece);
}

/** An array of the shown form of each item, an item a line. */
export async function printJsonLines<T>(
  items: AsyncIterable<T>,
  output: Output,
  shownAs: (item: T) => unknown = (item) => item,
): Promise<void> {
  let piece = '[';
  let separator = '\n';
  for await (const item of items) {
    if (output.isClosed) return;
    piece += separator + JSON.stringify(shownAs(item));
    separator = ',\n';
    if (piece.length < pieceLength) continue;
    await output.write(piece);
    piece = '';
  }
  await output.write(`${piece}\n]\n`);
}

/** CSV with a header, with the units of columns in it; null is an empty cell, the empty text `""`, a nested value its JSON. */
export async function printCsv({ columns, rows }: QueryResult, output: Output, units: Units = {}): Promise<void> {
  const headers = distinctNames(columns.map((column) => column.name)).map((name) => headWithUnit(name, units));
  // An error of the rows is thrown by the loop over the lines; pipe() would pass none on.
  const lines = pipeline(Readable.from(rows), stringify(csvForm(headers)), () => undefined);
  for await (const piece of lines) {
    if (output.isClosed) return;
    await output.write(String(piece));
  }
}

/** The first `limit` rows, in as many columns as fit the terminal, with the number of the omitted ones. */
export async function printTable({ columns, rows }: QueryResult, output: Output, limit: number): Promise<void> {
  const shown: string[][] = [];
  let rowCount = 0;
  for await (const row of rows) {
    rowCount += 1;
    if (rowCount <= limit) shown.push(row.map(cellText));
  }
  const { columnCount, cells } = fitColumns([columns.map((column) => column.name), ...shown], output.width);
  const [heads = [], ...body] = cells;
  const table = tableText(
    heads.map((head, position) => ({ head, align: isNumeric(columns[position]?.type) ? 'right' : 'left' })),
    body,
  );
  const hidden = columns.slice(columnCount).map((column) => column.name);
  await output.print([table, ...restLines({ rowCount, limit, hidden })].join('\n'));
}

/** The first `limit` rows, a field a line. */
export async function printVertical({ columns, rows }: QueryResult, output: Output, limit: number): Promise<void> {
  const names = distinctNames(columns.map((column) => printable(column.name)));
  const nameWidth = widestOf(names);
  let rowCount = 0;
  for await (const row of rows) {
    rowCount += 1;
    if (rowCount > limit) continue;
    const lines = names.map((name, position) => `  ${padded(name, nameWidth)}  ${cellText(row[position])}`);
    await output.print([`row ${figure(rowCount)}`, ...lines, ''].join('\n'));
  }
  await output.print(restLines({ rowCount, limit, hidden: [] }).join('\n'));
}

function restLines(rest: { readonly rowCount: number; readonly limit: number; readonly hidden: readonly string[] }) {
  const { rowCount, limit, hidden } = rest;
  const more =
    rowCount > limit ? `, ${counted(rowCount - limit, 'more row')} not shown (--limit, --output, --json)` : '';
  const columns = hidden.length === 0 ? [] : [`No room for ${counted(hidden.length, 'column')}: ${hidden.join(', ')}`];
  return [`(${counted(Math.min(rowCount, limit), 'row')}${more})`, ...columns];
}

function cellText(value: unknown): string {
  return printable(typeof value === 'string' ? value : JSON.stringify(value ?? null));
}

function isNumeric(type: string | undefined): boolean {
  return type !== undefined && /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/.test(type);
}
