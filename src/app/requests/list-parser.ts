/** Parses the bytes of a list file. Keeps of each record only the cells that were asked for. Pure. */
import { isUtf8 } from 'node:buffer';
import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../../core/base/errors.ts';
import { figure } from '../../core/base/text.ts';

export interface ListRecord {
  /** Number of its first line, from 1. */
  readonly line: number;
  /** Number of its cells in the file. */
  readonly width: number;
  /** Its cells in the columns that were asked for, in the order of the file; an absent cell is empty. */
  readonly cells: readonly string[];
}

export interface ParsedList {
  /** Undefined for a text without a record. */
  readonly header: readonly string[] | undefined;
  readonly records: readonly ListRecord[];
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/** Longest record in characters: room for a million columns, which are in memory at one time. */
const maxRecordLength = 2 * 1024 * 1024;

export interface ListLimits {
  /** The columns to keep, in lower case. */
  readonly columns: readonly string[];
  readonly mostRecords: number;
  /** Throws what is said of a list with more. */
  readonly refuseMore: () => never;
}

/** Throws UsageError for bytes that are no text in UTF-8, and for a line that is not CSV. */
export function parseList(bytes: Buffer, name: string, limits: ListLimits): ParsedList {
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
