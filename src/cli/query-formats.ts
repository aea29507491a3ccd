/** Owns the three forms in which the rows of a query are printed: streamed as JSON or CSV, or the first ones as a table. */
import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify';
import type { QueryResult } from '../warehouse/warehouse.ts';
import type { Output } from './output.ts';
import { fitColumns } from './fit-columns.ts';
import { tableText } from './table.ts';
import { counted } from './words.ts';

/** Written together: a write a row would take longer than the query. */
const pieceLength = 64 * 1024;

/** An array of objects, a row a line. Columns of one name are told apart: `x`, `x_2`. */
export async function printJson({ columns, rows }: QueryResult, output: Output): Promise<void> {
  const names = distinctNames(columns.map((column) => column.name));
  await printJsonLines(rows, output, (row) => Object.fromEntries(names.map((name, position) => [name, row[position]])));
}

/** An array of what each item is shown as, an item a line. */
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

function distinctNames(names: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? name : `${name}_${count}`;
  });
}

/** With a header; null is an empty cell, a nested value its JSON. */
export async function printCsv({ columns, rows }: QueryResult, output: Output): Promise<void> {
  const headers = distinctNames(columns.map((column) => column.name));
  const lines = Readable.from(rows).pipe(
    stringify({
      header: true,
      columns: headers.map((header, position) => ({ key: String(position), header })),
      // Its own way with a boolean is 1 or nothing.
      cast: { boolean: String },
    }),
  );
  for await (const piece of lines) {
    if (output.isClosed) return;
    await output.write(String(piece));
  }
}

/** The first `limit` rows, in as many columns as the terminal has room for, with what was left out. */
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

function restLines(rest: { readonly rowCount: number; readonly limit: number; readonly hidden: readonly string[] }) {
  const { rowCount, limit, hidden } = rest;
  const more = rowCount > limit ? `, ${counted(rowCount - limit, 'more row')} not shown (--limit, --json, --csv)` : '';
  const columns = hidden.length === 0 ? [] : [`No room for ${counted(hidden.length, 'column')}: ${hidden.join(', ')}`];
  return [`(${counted(Math.min(rowCount, limit), 'row')}${more})`, ...columns];
}

function cellText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

function isNumeric(type: string | undefined): boolean {
  return type !== undefined && /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/.test(type);
}
