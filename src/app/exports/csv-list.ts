/** Reads a list file: CSV in UTF-8 with a header, from a path or from standard input. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../../core/base/errors.ts';
import { fileReason } from '../../core/base/file-fault.ts';
import { counted, figure } from '../../core/base/text.ts';
import { openRegularFile } from '../../pipes/content.ts';

export interface CsvFile {
  /** Its path, or `standard input`. */
  readonly name: string;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** All column names, as written. */
  readonly header: readonly string[];
  /** Without empty lines; of each only the cells of the columns that were asked for. */
  readonly records: readonly ListRecord[];
}

/** The purpose of a list file, for its error messages. */
export interface CsvUse {
  /** Name of the file: `the wells file`. */
  readonly called: string;
  readonly pathHint: string;
  readonly headerHint: string;
  /** Name of a line: `well`. */
  readonly record: string;
  /** What messages call it, where it has no path here: an upload. */
  readonly name?: string;
  /** The columns to keep, in lower case; a list may have a hundred times as many cells as memory has room for. */
  readonly columns: readonly string[];
}

/** Limit of the records in a list, which is in memory as a whole: a longer one would end the process (G8). */
export const mostRecords = 150_000;
const maxMegabytes = 16;

/**
 * `file` may be `-` for standard input, if `stdin` is given. Throws UsageError for a file that cannot be read, is too
 * large, is not CSV or has no header.
 */
export async function readCsv(file: string, stdin: Readable | undefined, use: CsvUse): Promise<CsvFile> {
  const isStandardInput = file === '-' && stdin !== undefined;
  const name = use.name ?? (isStandardInput ? 'standard input' : file);
  const bytes = await readBytes(file, isStandardInput ? stdin : undefined, use, stdin !== undefined);
  if (bytes === undefined) throw tooLong(name, `${maxMegabytes} MB`);
  const refuseMore = (): never => {
    throw tooLong(name, `${figure(mostRecords)} rows`);
  };
  const { header, records } = parseList(bytes, name, { columns: use.columns, mostRecords, refuseMore });
  if (header === undefined) throw new UsageError(`${name} is empty`, { hint: use.headerHint });
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { name, sha256, header, records };
}

export function tooLong(name: string, most: string): UsageError {
  return new UsageError(`${name} is longer than the ${most} that a list may have`, {
    hint: 'Nothing was started. Take it in parts, one after another.',
  });
}

/** A pipe may never begin, so that none is opened by its name: not that of a shell, `<(…)`, either. */
const pipeHint =
  'What another program writes is read from standard input: give - for the file, and pipe it into the command.';

/** Undefined if there are more bytes than a list may have. `mayBePiped`: whether `-` is taken. */
async function readBytes(
  file: string,
  stdin: Readable | undefined,
  { called, pathHint }: CsvUse,
  mayBePiped: boolean,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of stdin ?? (await openRegularFile(file)).createReadStream()) {
      const bytes = Buffer.from(part as Buffer | string);
      length += bytes.length;
      if (length > maxMegabytes * 1024 * 1024) return undefined;
      parts.push(bytes);
    }
    return Buffer.concat(parts);
  } catch (error) {
    const isPipe = ['ENOTREG', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '');
    const hint = isPipe && mayBePiped ? pipeHint : pathHint;
    throw new UsageError(`${called} ${file} cannot be read: ${fileReason(error)}`, { hint, cause: error });
  }
}

const mostIssuesShown = 20;

/**
 * The cells of the one column that was asked for, trimmed. Throws UsageError if it is missing, and with every empty
 * cell at once; EmptyListError if nothing follows the header.
 */
export function columnOf({ name, header, records }: CsvFile, column: string, use: CsvUse): readonly string[] {
  if (!header.some((cell) => cell.trim().toLowerCase() === column)) {
    throw new UsageError(`${name} has no column ${column}: its first line holds ${namesShown(header)}`, {
      hint: use.headerHint,
    });
  }
  if (records.length === 0) throw new EmptyListError(`${name} names no ${use.record}: nothing follows its header`);
  const cells = records.map(({ line, cells: [text = ''] }) => ({ line, text: text.trim() }));
  refuseEmpty(cells, column, name);
  return cells.map(({ text }) => text);
}

const mostNamesShown = 20;

/** Names of columns in a message, in quotes and cut: a file of another kind may have a million. */
export function namesShown(names: readonly string[]): string {
  const shown = names.slice(0, mostNamesShown).map((name) => JSON.stringify(name.trim().slice(0, 40)));
  const more = names.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${figure(more)} more` : ''}`;
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
  const rows = counted(empty.length, 'row');
  const article = /^[aeio]/.test(column) ? 'an' : 'a';
  throw new UsageError(`${name} has ${rows} without ${article} ${column}`, {
    issues: firstIssues(empty),
    hint: 'Nothing was started. Fill the cells or delete the lines.',
  });
}

/** The first issues, as many as a screen holds, and the number of the others. */
export function firstIssues(issues: readonly string[]): readonly string[] {
  const more = issues.length - mostIssuesShown;
  return [...issues.slice(0, mostIssuesShown), ...(more > 0 ? [`and ${more} more`] : [])];
}

/** Parses the bytes of a list file. Keeps of each record only the cells that were asked for. Pure. */
interface ListRecord {
  /** Number of its first line, from 1. */
  readonly line: number;
  /** Number of its cells in the file. */
  readonly width: number;
  /** Its cells in the columns that were asked for, in the order of the file; an absent cell is empty. */
  readonly cells: readonly string[];
}

interface ParsedList {
  /** Undefined for a text without a record. */
  readonly header: readonly string[] | undefined;
  readonly records: readonly ListRecord[];
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/** Longest record in characters: room for a million columns, which are in memory at one time. */
const maxRecordLength = 2 * 1024 * 1024;

interface ListLimits {
  /** The columns to keep, in lower case. */
  readonly columns: readonly string[];
  readonly mostRecords: number;
  /** Throws what is said of a list with more. */
  readonly refuseMore: () => never;
}

/** Throws UsageError for bytes that are no text in UTF-8, and for a line that is not CSV. */
function parseList(bytes: Buffer, name: string, limits: ListLimits): ParsedList {
  refuseOtherText(bytes, name);
  const records: ListRecord[] = [];
  let header: readonly string[] | undefined;
  let kept: readonly number[] = [];
  // The last line of a record; it equals the first line except for quoted newlines.
  let line = 0;
  const take = (cells: string[], context: { readonly lines: number }): null => {
    line = context.lines;
    if (header === undefined) {
      header = cells;
      kept = cells.flatMap((cell, index) => (limits.columns.includes(cell.trim().toLowerCase()) ? [index] : []));
      return null;
    }
    if (records.length === limits.mostRecords) limits.refuseMore();
    records.push({ line, width: cells.length, cells: kept.map((index) => cells[index] ?? '') });
    return null;
  };
  try {
    parse(bytes, {
      bom: true,
      on_record: take,
      // Both ends of lines may be mixed; a lone carriage return ends a line only where nothing else does.
      record_delimiter: bytes.includes(newline) ? ['\r\n', '\n'] : ['\r'],
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: maxRecordLength,
    });
  } catch (error) {
    throw error instanceof CsvError ? faultOf(error, bytes, name, line) : error;
  }
  return { header, records };
}

/** A text with a NUL is either UTF-16 that happens to be valid UTF-8, or not text. */
function refuseOtherText(bytes: Buffer, name: string): void {
  if (isUtf8(bytes) && !bytes.includes(0)) return;
  throw new UsageError(`${name} is not a text in UTF-8`, { hint: 'Save it as CSV, UTF-8.' });
}

function faultOf(error: CsvError, bytes: Buffer, name: string, linesBefore: number): UsageError {
  const isOpen = error.code === 'CSV_QUOTE_NOT_CLOSED';
  const isLong = error.code === 'CSV_MAX_RECORD_SIZE';
  const line = isOpen || isLong ? nextRowLine(bytes, linesBefore) : Number(error['lines']);
  return new UsageError(`${name} is not CSV: line ${line}: ${faults[error.code] ?? 'it cannot be read'}`, {
    hint: isLong
      ? 'Is it a list, a line for each entry, with every quote closed?'
      : 'Nothing was started. Fix the line.',
    cause: error,
  });
}

/** Replaces the parser's messages, which name no remedy. */
const faults: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is opened in this row and never closed',
  INVALID_OPENING_QUOTE: 'a quote stands inside a cell: double it, and quote the whole cell',
  CSV_INVALID_CLOSING_QUOTE: 'text follows a closing quote: double a quote that stands inside a cell',
  CSV_MAX_RECORD_SIZE: `it is longer than ${figure(maxRecordLength)} characters`,
};

/**
 * Number of the row after `linesBefore` lines. For an open quote the parser reports the end of the file, not its start.
 */
function nextRowLine(bytes: Buffer, linesBefore: number): number {
  let [line, start] = [1, 0];
  for (;;) {
    const end = bytes.indexOf(newline, start);
    if (end === -1) return line;
    const isEmpty = end === start || (end === start + 1 && bytes[start] === carriageReturn);
    if (line > linesBefore && !isEmpty) return line;
    line += 1;
    start = end + 1;
  }
}

// A list of targets or rows that names none: a file that holds its header alone, or an empty array.

/**
 * A file without a row is more often a broken export of another system than a night without work: it is refused, unless
 * the operator says that it may be empty.
 */
export class EmptyListError extends UsageError {
  override readonly name = 'EmptyListError';

  constructor(message: string, hint = 'Nothing was started.') {
    super(message, { hint, action: { kind: 'allow-empty' } });
  }
}
