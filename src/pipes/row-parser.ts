import { Parser } from 'csv-parse';
import { parse as parseAtOnce } from 'csv-parse/sync';

/** The wrapper around csv-parse: parses rows, and checks the quotes of a row strictly. */
const recordDelimiters = ['\r\n', '\n'];

export interface CsvFormat {
  readonly delimiter: string;
  /** A longer row of several lines counts as one with an unclosed quote. */
  readonly maxRowBytes: number;
}

/** End of a parsed row, counted from the start of the parser. */
export interface Ended {
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
export class RowParser extends Parser {
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
