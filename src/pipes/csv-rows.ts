/**
 * Splits the bytes of a CSV file into rows. csv-parse parses the lines that need a parser; this class tracks the
 * position of each row in the file and confines broken quotes to one row.
 *
 *   A quote that is opened and not closed makes any parser swallow the lines that follow. A row of several lines whose
 *   quoting is broken, or that never ends, is cut at its first line end: that line is at fault, and the parser starts
 *   anew behind it. Rows do not depend on the blocks in which the bytes come.
 */
import { UsageError } from '../core/base/errors.ts';
import { figure } from '../core/base/text.ts';
import { Parser } from 'csv-parse';
import { parse as parseAtOnce } from 'csv-parse/sync';

/**
 * Fast path for lines that are one row each with plain quotes, which nearly every line of nearly every file is, at a
 * fraction of a parser's cost (docs/decisions/0008-how-chunks-travel.md). All other lines go to the parser, so quotes
 * have one meaning: a test holds both to the same rows.
 */
const quote = 0x22;

/** Whether the delimiter is one ASCII character other than a quote or a line end. */
export function hasPlainDelimiter(delimiter: string): boolean {
  const code = delimiter.charCodeAt(0);
  return delimiter.length === 1 && code < 0x80 && code !== quote && code !== newline && code !== carriageReturn;
}

/**
 * Passes `take` the cells of each complete line from `from` on, and the offset behind its line end; an empty line has
 * no cells. Stops before the first line that needs a parser and before an incomplete line. Returns the offset at which
 * it stopped.
 */
export function takeRegularLines(
  bytes: Buffer,
  from: number,
  delimiter: string,
  take: (cells: readonly string[], end: number) => void,
): number {
  let at = from;
  for (let lineEnd = bytes.indexOf(newline, at); lineEnd !== -1; lineEnd = bytes.indexOf(newline, at)) {
    const isCrLf = lineEnd > at && bytes[lineEnd - 1] === carriageReturn;
    const cells = regularCells(bytes.toString('utf8', at, isCrLf ? lineEnd - 1 : lineEnd), delimiter);
    if (cells === undefined) return at;
    at = lineEnd + 1;
    take(cells, at);
  }
  return at;
}

const none: readonly string[] = [];

/**
 * Cells of a line without its line end; undefined when a quote stands inside a cell, or a cell continues on the next
 * line.
 */
function regularCells(line: string, delimiter: string): readonly string[] | undefined {
  if (line === '') return none;
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    const isQuoted = line.charCodeAt(at) === quote;
    const start = isQuoted ? at + 1 : at;
    const found = line.indexOf(isQuoted ? '"' : delimiter, start);
    if (isQuoted && found === -1) return undefined;
    const end = found === -1 ? line.length : found;
    const cell = line.slice(start, end);
    if (!isQuoted && cell.includes('"')) return undefined;
    cells.push(cell);
    const next = isQuoted ? end + 1 : end;
    if (next === line.length) return cells;
    if (line[next] !== delimiter) return undefined;
    at = next + 1;
  }
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/** First step after a restart, in bytes. Small, so that a file full of broken rows is not parsed over and over. */
const firstStepBytes = 1024;
const maxStepBytes = 64 * 1024;

/**
 * Splits bytes into rows, in order. `start` is the position of the first byte. Skips empty lines. Throws UsageError for
 * a line longer than `maxRowBytes`.
 */
export class CsvRows {
  readonly #format: CsvFormat;
  readonly #onRow: (row: CsvRow) => void;
  /** Created when a line needs a parser. */
  #parser: RowParser | undefined;
  #isRestarting = false;
  #stepBytes = maxStepBytes;
  /** Bytes from the start of the current row on. */
  #window: Buffer = Buffer.alloc(0);
  #windowByte: number;
  /** Byte at which the current parser started, and byte up to which it was fed. */
  #parserByte: number;
  #fedByte: number;
  #parserLines = 0;
  /** Position of the next row. */
  #byte: number;
  #line: number;
  readonly #hasRegularLines: boolean;

  constructor(
    format: CsvFormat,
    start: { readonly byte: number; readonly line: number },
    onRow: (row: CsvRow) => void,
  ) {
    this.#format = format;
    this.#onRow = onRow;
    this.#byte = this.#windowByte = this.#parserByte = this.#fedByte = start.byte;
    this.#line = start.line;
    this.#hasRegularLines = hasPlainDelimiter(format.delimiter);
  }

  /** The line of `byte`, which must be among the bytes last written. */
  lineOf(byte: number): number {
    return this.#line + newlinesIn(this.#window.subarray(this.#byte - this.#windowByte, byte - this.#windowByte));
  }

  write(bytes: Buffer): void {
    const rest = this.#window.subarray(this.#byte - this.#windowByte);
    this.#window = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    this.#windowByte = this.#byte;
    this.#takeRows();
  }

  /**
   * Takes regular lines without the parser, also behind a parsed row, so that rows never depend on block boundaries.
   */
  #takeRows(): void {
    for (;;) {
      const from = this.#byte;
      this.#takeRegularLines();
      const lineEnd = this.#window.indexOf(newline, this.#byte - this.#windowByte);
      const end = lineEnd === -1 ? this.#window.length : lineEnd + 1;
      // The parser would report it later, at a point that depends on how much it was fed.
      if (this.#isOverlong(this.#windowByte + end)) throw this.#tooLong();
      if (lineEnd !== -1) this.#parse();
      if (this.#byte === from) return;
    }
  }

  #takeRegularLines(): void {
    if (!this.#hasRegularLines) return;
    const from = this.#byte;
    takeRegularLines(this.#window, from - this.#windowByte, this.#format.delimiter, (cells, end) => {
      const endByte = this.#windowByte + end;
      if (this.#isOverlong(endByte)) throw this.#tooLong();
      if (cells.length > 0) this.#emit(this.#rowTo(endByte, cells, true));
      else this.#passLine(endByte);
    });
    // The parser may have been fed some of these lines.
    if (this.#byte > from) this.#restart();
  }

  /** Counts bytes, which both ways of parsing know; the parser itself counts characters. */
  #isOverlong(endByte: number): boolean {
    return endByte - this.#byte > this.#format.maxRowBytes;
  }

  #passLine(endByte: number): void {
    this.#byte = endByte;
    this.#line += 1;
  }

  /** Passes on the last row when the file does not end with a line end. */
  end(): void {
    this.#parse();
    for (;;) {
      const fault = this.#parser?.finish();
      if (fault !== undefined && !this.#isRestarting) this.#cutLine(fault);
      if (!this.#isRestarting) return;
      this.#restart();
      this.#parse();
    }
  }

  #parse(): void {
    const end = this.#windowByte + this.#window.length;
    while (this.#fedByte < end) {
      const from = this.#fedByte - this.#windowByte;
      const step = this.#window.subarray(from, from + this.#stepBytes);
      this.#fedByte += step.length;
      this.#stepBytes = Math.min(this.#stepBytes * 2, maxStepBytes);
      this.#parser ??= new RowParser(this.#format, (cells, ended) => this.#take(cells, ended));
      const fault = this.#parser.feed(step);
      if (fault !== undefined && !this.#isRestarting) this.#cutLine(fault);
      if (this.#isRestarting) this.#restart();
    }
  }

  #take(cells: readonly string[], { bytes, lines }: Ended): void {
    if (this.#isRestarting) return;
    const endByte = this.#parserByte + bytes;
    const isOneLine = lines === this.#parserLines + 1;
    this.#parserLines = lines;
    if (!isOneLine) this.#skipEmptyLines();
    const row = this.#rowTo(endByte, cells, isOneLine);
    const isBroken = row.lastLine > row.line && quoteFault(row, this.#format.delimiter) !== undefined;
    if (isBroken || this.#isOverlong(endByte)) this.#cutLine();
    else this.#emit(row);
  }

  #skipEmptyLines(): void {
    for (;;) {
      const offset = this.#byte - this.#windowByte;
      const width = this.#window[offset] === carriageReturn && this.#window[offset + 1] === newline ? 2 : 1;
      if (this.#window[offset + width - 1] !== newline) return;
      this.#byte += width;
      this.#line += 1;
    }
  }

  #rowTo(endByte: number, cells: readonly string[], isOneLine: boolean, fault?: string): CsvRow {
    const offset = this.#byte - this.#windowByte;
    // Without the last byte: the row's own line end.
    const inner = isOneLine ? 0 : newlinesIn(this.#window.subarray(offset, endByte - this.#windowByte - 1));
    return {
      cells,
      line: this.#line,
      lastLine: this.#line + inner,
      byte: this.#byte,
      endByte,
      fault,
      window: this.#window,
      offset,
    };
  }

  #emit(row: CsvRow): void {
    this.#byte = row.endByte;
    this.#line = row.lastLine + 1;
    this.#onRow(row);
  }

  /** Passes on the first line of the current row as a fault, and restarts the parser behind it. */
  #cutLine(parserFault?: Error): void {
    this.#skipEmptyLines();
    const offset = this.#byte - this.#windowByte;
    const lineEnd = this.#window.indexOf(newline, offset);
    const endByte = this.#windowByte + (lineEnd === -1 ? this.#window.length : lineEnd + 1);
    if (this.#isOverlong(endByte)) throw this.#tooLong(parserFault);
    const fault = 'a quote is opened on this line and not closed as it should be';
    this.#emit(this.#rowTo(endByte, [], true, fault));
    this.#isRestarting = true;
  }

  #tooLong(cause?: Error): UsageError {
    return new UsageError(`line ${this.#line} is longer than ${figure(this.#format.maxRowBytes)} bytes`, {
      hint: 'Is this a CSV file, and are its lines ended by LF or CRLF?',
      cause,
    });
  }

  #restart(): void {
    this.#isRestarting = false;
    this.#parser = undefined;
    this.#parserByte = this.#fedByte = this.#byte;
    this.#parserLines = 0;
    this.#stepBytes = firstStepBytes;
  }
}

function newlinesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

/** The position alone, to save memory when many rows are held. */
export function positionOf({ line, lastLine, byte, endByte, window, offset }: CsvRow): RowPosition {
  return { line, lastLine, byte, endByte, window, offset };
}

/** The wrapper around csv-parse: parses rows, and checks the quotes of a row strictly. */
const recordDelimiters = ['\r\n', '\n'];

interface CsvFormat {
  readonly delimiter: string;
  /** A longer row of several lines counts as one with an unclosed quote. */
  readonly maxRowBytes: number;
}

/** End of a parsed row, counted from the start of the parser. */
interface Ended {
  readonly bytes: number;
  readonly lines: number;
}

/** The fault of a row whose quotes break the strict rules of RFC 4180; undefined when they do not. */
export function quoteFault(row: CsvRow, delimiter: string): string | undefined {
  try {
    parseAtOnce(rawText(row), { delimiter, record_delimiter: recordDelimiters, relax_column_count: true });
    return undefined;
  } catch {
    return 'a quote stands inside a cell: double it, and quote the whole cell';
  }
}

/**
 * csv-parse's parser without the queues of a stream: it passes on each row, with its place in `info`, as soon as the
 * row is complete. With the queues a row takes twice the time (bench/pipes-read.bench.ts).
 */
class RowParser extends Parser {
  readonly #take: (cells: readonly string[], ended: Ended) => void;
  #fault: Error | undefined;

  constructor(format: CsvFormat, take: (cells: readonly string[], ended: Ended) => void) {
    super({
      delimiter: format.delimiter,
      record_delimiter: recordDelimiters,
      max_record_size: format.maxRowBytes,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
    });
    this.#take = take;
  }

  override push(cells: readonly string[] | null): boolean {
    if (cells !== null) this.#take(cells, this.info);
    return true;
  }

  feed(bytes: Buffer): Error | undefined {
    // oxlint-disable-next-line eslint/no-underscore-dangle -- the parser's only synchronous entry
    this._transform(bytes, 'utf8', (error) => {
      this.#fault = error ?? undefined;
    });
    return this.#fault;
  }

  finish(): Error | undefined {
    // oxlint-disable-next-line eslint/no-underscore-dangle -- the parser's only synchronous entry
    this._flush((error) => {
      this.#fault = error ?? undefined;
    });
    return this.#fault;
  }
}

/** One row with its place. */
export interface CsvRow extends RowPosition {
  readonly cells: readonly string[];
  /** Reason why the row cannot be parsed; it has no cells then. */
  readonly fault: string | undefined;
}

/** The text of the row in the file, without its line end. */
export function rawText({ window, offset, byte, endByte }: RowPosition): string {
  return window.toString('utf8', offset, offset + endByte - byte).replace(/\r?\n$/, '');
}

/** Position of a row. Lines count from 1, bytes from the start of the content; `endByte` includes the line end. */
export interface RowPosition {
  readonly line: number;
  readonly lastLine: number;
  readonly byte: number;
  readonly endByte: number;
  /** Bytes of the file around the row, and the row's offset in them. Only the few rows that need text decode it. */
  readonly window: Buffer;
  readonly offset: number;
}
