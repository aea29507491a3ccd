/** Owns csv-parse: the parser that rows come out of where a line takes one, and the strict look at the quotes of a row. */
import { Parser } from 'csv-parse';
import { parse as parseAtOnce } from 'csv-parse/sync';
import { rawText, type CsvRow } from './csv-row.ts';

const recordDelimiters = ['\r\n', '\n'];

export interface CsvFormat {
  readonly delimiter: string;
  /** A row longer than this is taken for one whose quote is not closed. */
  readonly maxRowBytes: number;
}

/** Why the row's quotes are broken by the strict rules of RFC 4180; undefined when they are not. */
export function quoteFault(row: CsvRow, delimiter: string): string | undefined {
  try {
    parseAtOnce(rawText(row), { delimiter, record_delimiter: recordDelimiters, relax_column_count: true });
    return undefined;
  } catch {
    return 'a quote stands inside a cell: double it, and quote the whole cell';
  }
}

/** Where a row ends that the parser gives, counted from where the parser started. */
export interface Ended {
  readonly bytes: number;
  readonly lines: number;
}

/**
 * csv-parse's parser, fed and read without the queues of a stream: rows leave it the moment they are complete, with
 * their place in `info`. Half of the time of a row goes into those queues otherwise (bench/pipes-read.bench.ts).
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
    // oxlint-disable-next-line eslint/no-underscore-dangle -- the parser's own door, which is synchronous
    this._transform(bytes, 'utf8', (error) => {
      this.#fault = error ?? undefined;
    });
    return this.#fault;
  }

  finish(): Error | undefined {
    // oxlint-disable-next-line eslint/no-underscore-dangle -- the parser's own door, which is synchronous
    this._flush((error) => {
      this.#fault = error ?? undefined;
    });
    return this.#fault;
  }
}
