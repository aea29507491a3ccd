/** Reads a list file: CSV in UTF-8 with a header, from a path or from standard input. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../core/errors.ts';
import { fileReason } from '../core/file-fault.ts';
import { figure } from './words.ts';

export interface CsvRecord {
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export interface CsvFile {
  /** As the operator knows it: its path, or `standard input`. */
  readonly name: string;
  readonly header: readonly string[];
  /** Without empty lines. */
  readonly records: readonly CsvRecord[];
}

/** What a list file is for, in the words of its faults. */
export interface CsvUse {
  /** `the wells file`. */
  readonly called: string;
  readonly pathHint: string;
  readonly headerHint: string;
  /** What a line names: `well`. */
  readonly record: string;
}

/** A list is in memory as a whole: one that is longer is refused before it ends the process (G8). */
export const mostRecords = 150_000;
const maxMegabytes = 16;

/**
 * `file` may be `-` for standard input. Throws UsageError for a file that cannot be read, is too large, is no CSV or has
 * no header.
 */
export async function readCsv(file: string, stdin: Readable, use: CsvUse): Promise<CsvFile> {
  const name = file === '-' ? 'standard input' : file;
  const bytes = await readBytes(file === '-' ? stdin : createReadStream(file), file, use);
  if (bytes === undefined) throw tooLong(name, `${maxMegabytes} MB`);
  const [header, ...records] = parseCsv(decode(bytes, name), name);
  if (header === undefined) throw new UsageError(`${name} is empty`, { hint: use.headerHint });
  if (records.length > mostRecords) throw tooLong(name, `${figure(mostRecords)} rows`);
  return { name, header: header.cells, records };
}

export function tooLong(name: string, most: string): UsageError {
  return new UsageError(`${name} is longer than the ${most} that a list may have`, {
    hint: 'Nothing was started. Take it in parts, one after another.',
  });
}

/** Undefined where there are more than a list may have. */
async function readBytes(
  stream: Readable,
  file: string,
  { called, pathHint }: CsvUse,
): Promise<Uint8Array | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of stream) {
      const bytes = Buffer.from(part as Buffer | string);
      length += bytes.length;
      if (length > maxMegabytes * 1024 * 1024) return undefined;
      parts.push(bytes);
    }
    return Buffer.concat(parts);
  } catch (error) {
    throw new UsageError(`${called} ${file} cannot be read: ${fileReason(error)}`, { hint: pathHint, cause: error });
  }
}

/** A text with a NUL is one in UTF-16 that happens to be UTF-8 too, or none at all. */
function decode(bytes: Uint8Array, name: string): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return new TextDecoder().decode(bytes);
  throw new UsageError(`${name} is not a text in UTF-8`, { hint: 'Save it as CSV, UTF-8.' });
}

function parseCsv(text: string, name: string): readonly CsvRecord[] {
  // The line on which a record ends, which is the line of its start for all but quoted newlines.
  const lines: number[] = [];
  try {
    const note = (cells: string[], context: { readonly lines: number }): string[] => {
      lines.push(context.lines);
      return cells;
    };
    const records = parse(text, {
      on_record: note,
      relax_column_count: true,
      skip_empty_lines: true,
      to: mostRecords + 2,
    });
    return records.map((cells, index) => ({ line: lines[index] ?? 0, cells }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = error.code === 'CSV_QUOTE_NOT_CLOSED' ? nextRowLine(text, lines.at(-1) ?? 0) : Number(error['lines']);
    throw new UsageError(`${name} is not CSV: line ${line}: ${quoteFaults[error.code] ?? 'it cannot be read'}`, {
      hint: 'Nothing was started. Mend the line.',
      cause: error,
    });
  }
}

/** The parser's own words say nothing of what to do. */
const quoteFaults: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened in this row and never closed',
  INVALID_OPENING_QUOTE: 'a quote stands inside a cell: double it, and quote the whole cell',
  CSV_INVALID_CLOSING_QUOTE: 'text follows a closing quote: double a quote that stands inside a cell',
};

/** Of the row behind so many lines; the parser tells where an open quote ends, which is the end of the file. */
function nextRowLine(text: string, linesBefore: number): number {
  const behind = text.split(/\r?\n/).slice(linesBefore);
  return (
    linesBefore +
    1 +
    Math.max(
      0,
      behind.findIndex((line) => line !== ''),
    )
  );
}

const mostIssuesShown = 20;

/** The cells of one column, trimmed. Throws UsageError where it is missing, and with every empty cell at once. */
export function columnOf({ name, header, records }: CsvFile, column: string, use: CsvUse): readonly string[] {
  const position = header.findIndex((cell) => cell.trim().toLowerCase() === column);
  if (position < 0) {
    const found = header.map((cell) => JSON.stringify(cell.trim().slice(0, 40))).join(', ');
    throw new UsageError(`${name} has no column ${column}: its first line holds ${found}`, { hint: use.headerHint });
  }
  if (records.length === 0) throw new UsageError(`${name} names no ${use.record}: nothing follows its header`);
  const cells = records.map(({ line, cells: row }) => ({ line, text: (row[position] ?? '').trim() }));
  refuseEmpty(cells, column, name);
  return cells.map(({ text }) => text);
}

function refuseEmpty(
  cells: ReadonlyArray<{ readonly line: number; readonly text: string }>,
  column: string,
  name: string,
): void {
  const empty = cells
    .filter(({ text }) => text === '')
    .map(({ line }) => `line ${line}: the cell of ${column} is empty`);
  if (empty.length === 0) return;
  const rows = empty.length === 1 ? 'a row' : `${empty.length} rows`;
  const article = /^[aeio]/.test(column) ? 'an' : 'a';
  throw new UsageError(`${name} has ${rows} without ${article} ${column}`, {
    issues: firstIssues(empty),
    hint: 'Nothing was started. Fill the cells or delete the lines.',
  });
}

/** As many as a screen takes, and how many more there are. */
export function firstIssues(issues: readonly string[]): readonly string[] {
  const more = issues.length - mostIssuesShown;
  return [...issues.slice(0, mostIssuesShown), ...(more > 0 ? [`and ${more} more`] : [])];
}
