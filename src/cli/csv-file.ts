/** Reads a list file: CSV in UTF-8 with a header, from a path or from standard input. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../core/errors.ts';

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

/** `file` may be `-` for standard input. Throws UsageError for a file that cannot be read, is no CSV or has no header. */
export async function readCsv(file: string, stdin: Readable, use: CsvUse): Promise<CsvFile> {
  const name = file === '-' ? 'standard input' : file;
  const bytes = file === '-' ? await buffer(stdin) : await readBytes(file, use);
  const [header, ...records] = parseCsv(decode(bytes, name), name);
  if (header === undefined) throw new UsageError(`${name} is empty`, { hint: use.headerHint });
  return { name, header: header.cells, records };
}

async function readBytes(file: string, { called, pathHint }: CsvUse): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : code;
    throw new UsageError(`${called} ${file} cannot be read: ${reason}`, { hint: pathHint, cause: error });
  }
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new UsageError(`${name} is not a text in UTF-8`, { hint: 'Save it as CSV, UTF-8.', cause: error });
  }
}

function parseCsv(text: string, name: string): readonly CsvRecord[] {
  try {
    // `info.lines` counts the line on which a record ends, which is the line of its start for all but quoted newlines.
    const records: unknown = parse(text, { info: true, relax_column_count: true, skip_empty_lines: true });
    return (records as ReadonlyArray<{ readonly info: { readonly lines: number }; readonly record: string[] }>).map(
      ({ info, record }) => ({ line: info.lines, cells: record }),
    );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UsageError(`${name} is not CSV: ${error.message}`, { cause: error });
  }
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
