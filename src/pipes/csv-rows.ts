/**
 * Owns the way from bytes to rows of a CSV file: csv-parse does the parsing where a line takes a parser, this knows where
 * each row lies in the file and sees to it that a row with broken quotes costs that row alone.
 *
 *   A quote that is opened and not closed makes any parser swallow the lines that follow. A row of several lines whose
 *   quoting is broken, or that never ends, is cut at its first line end: that line is at fault, and the parser starts
 *   anew behind it. Rows are the same whatever blocks the bytes come in.
 */
import { UsageError } from '../core/errors.ts';
import { figure } from '../core/figure.ts';
import type { CsvRow } from './csv-row.ts';
import { hasPlainDelimiter, takeRegularLines } from './regular-lines.ts';
import { quoteFault, RowParser, type CsvFormat, type Ended } from './row-parser.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;

/** After a new start the parser gets little at first: a file full of broken rows must not be parsed over and over. */
const firstStepBytes = 1024;
const maxStepBytes = 64 * 1024;

/** Cuts bytes into rows, in order. `start` is where the first byte stands. Empty lines are no rows. */
export class CsvRows {
  readonly #format: CsvFormat;
  readonly #onRow: (row: CsvRow) => void;
  /** Made when a line takes one. */
  #parser: RowParser | undefined;
  #isRestarting = false;
  #stepBytes = maxStepBytes;
  /** The bytes from the start of the row at hand on. */
  #window: Buffer = Buffer.alloc(0);
  #windowByte: number;
  /** Where the parser at hand started, and how far it was fed. */
  #parserByte: number;
  #fedByte: number;
  #parserLines = 0;
  /** Where the next row starts. */
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

  /** The line that holds the byte: to name the place of a fault in bytes that were just written. */
  lineOf(byte: number): number {
    return this.#line + newlinesIn(this.#window.subarray(this.#byte - this.#windowByte, byte - this.#windowByte));
  }

  write(bytes: Buffer): void {
    const rest = this.#window.subarray(this.#byte - this.#windowByte);
    this.#window = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    this.#windowByte = this.#byte;
    this.#takeRows();
  }

  /** What needs no parser goes round it, also behind a row that did: so rows never depend on where blocks end. */
  #takeRows(): void {
    for (;;) {
      const from = this.#byte;
      this.#takeRegularLines();
      const lineEnd = this.#window.indexOf(newline, this.#byte - this.#windowByte);
      const end = lineEnd === -1 ? this.#window.length : lineEnd + 1;
      // The parser would tell later, and where depends on how much it was fed.
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
      if (cells.length > 0) this.#give(this.#rowTo(endByte, cells, true));
      else this.#passLine(endByte);
    });
    // Whatever the parser was fed of these lines.
    if (this.#byte > from) this.#restart();
  }

  /** By bytes, which is what every way to a row can tell; the parser counts characters. */
  #isOverlong(endByte: number): boolean {
    return endByte - this.#byte > this.#format.maxRowBytes;
  }

  #passLine(endByte: number): void {
    this.#byte = endByte;
    this.#line += 1;
  }

  /** Gives the last row, where the file does not end with a line end. */
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
    else this.#give(row);
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

  #give(row: CsvRow): void {
    this.#byte = row.endByte;
    this.#line = row.lastLine + 1;
    this.#onRow(row);
  }

  /** Gives the first line of the row at hand as a fault, and has the parser start anew behind it. */
  #cutLine(parserFault?: Error): void {
    this.#skipEmptyLines();
    const offset = this.#byte - this.#windowByte;
    const lineEnd = this.#window.indexOf(newline, offset);
    const endByte = this.#windowByte + (lineEnd === -1 ? this.#window.length : lineEnd + 1);
    if (this.#isOverlong(endByte)) throw this.#tooLong(parserFault);
    const fault = 'a quote is opened on this line and not closed as it should be';
    this.#give(this.#rowTo(endByte, [], true, fault));
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
