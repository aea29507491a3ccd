/**
 * Reads a file of network pipes as a stream: bytes -> rows -> checked rows -> entries, with bounded memory whatever its
 * size (G8, DESIGN.md section 4.3). Every row ends in exactly one entry.
 */
import { UsageError } from '../core/errors.ts';
import type { FilePosition } from '../core/pipe-slices.ts';
import { firstBytes, readContent, sourceName, type PipeSource } from './content.ts';
import type { CsvRow } from './csv-row.ts';
import { CsvRows } from './csv-rows.ts';
import { bomLength, guessFromByte, guessFromStart, startBytes, Utf8Check } from './encoding.ts';
import { defaultPipeLimits, type PipeLimits } from '../core/pipe-fields.ts';
import { ItemAssembler } from './form.ts';
import { readHeader, type HeaderOptions, type PipeHeader } from './header.ts';
import type { PipeEntry } from './items.ts';
import { RowChecker } from './row-check.ts';

export interface ReadPipesOptions extends Partial<HeaderOptions> {
  /** `auto` finds the form by the cells; the others insist. */
  readonly form?: 'auto' | 'wide' | 'long';
  readonly limits?: PipeLimits;
  /** A longer row is taken for one whose quote is not closed; a longer line ends the reading. */
  readonly maxRowBytes?: number;
  /** Rows of one item in the long form, at most: about 1 KB of memory each. More end the reading. */
  readonly maxSegments?: number;
  /** Where an earlier reading of the same content stopped: the end of an entry. The rows before it are not looked at. */
  readonly from?: FilePosition;
  readonly signal?: AbortSignal;
}

/** The entries that a block of the file completed, in the order of the file. May be none. */
export interface PipeBatch {
  readonly header: PipeHeader;
  readonly entries: readonly PipeEntry[];
  /** What the file is known to be by now. */
  readonly form: FilePosition['form'];
}

const defaultMaxRowBytes = 1024 * 1024;
const defaultMaxSegments = 20_000;

/**
 * Gives a batch for each 64 KiB of content; the event loop gets its turn in between. The first batch comes as soon as the
 * header is read. Throws UsageError for a file that cannot be read as a whole: no header or a wrong one, not UTF-8
 * (entries before the fault were given), an unreadable or damaged file; AbortedError on the signal.
 */
export async function* readPipes(
  source: PipeSource,
  options: ReadPipesOptions = {},
): AsyncGenerator<PipeBatch, void, undefined> {
  const reading = new PipeReading(sourceName(source), options);
  for await (const bytes of contentFromStart(source, options.signal)) {
    reading.write(bytes);
    const batch = reading.batch();
    if (batch !== undefined) yield batch;
    reading.throwFault();
  }
  yield reading.end();
  reading.throwFault();
}

/** The first block is long enough to tell an encoding by. */
async function* contentFromStart(
  source: PipeSource,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  const content = readContent(source, signal);
  yield await firstBytes(content, startBytes);
  yield* content;
}

/** One reading: the pieces in a row, and where in the content it stands. */
class PipeReading {
  readonly #name: string;
  readonly #options: ReadPipesOptions;
  readonly #utf8 = new Utf8Check();
  /** Gives the header and, unless the reading goes on somewhere, the rows behind it. */
  #head: CsvRows | undefined;
  /** Gives the rows that are looked at. */
  #body: CsvRows | undefined;
  #header: PipeHeader | undefined;
  #checker: RowChecker | undefined;
  #assembler: ItemAssembler | undefined;
  #entries: PipeEntry[] = [];
  #byte = 0;
  /** Text before the header was known, of a reading that goes on somewhere. */
  #ahead: Buffer = Buffer.alloc(0);
  #fault: UsageError | undefined;

  constructor(name: string, options: ReadPipesOptions) {
    this.#name = name;
    this.#options = options;
  }

  write(bytes: Buffer): void {
    const { text, faultyByte } = this.#utf8.check(this.#head === undefined ? this.#start(bytes) : bytes);
    this.#parse(() => this.#feed(text));
    if (faultyByte !== undefined) this.#fault ??= this.#notUtf8(faultyByte);
  }

  /** What the bytes so far completed; undefined before the header is. */
  batch(): PipeBatch | undefined {
    if (this.#header === undefined || this.#assembler === undefined) return undefined;
    const entries = this.#entries;
    this.#entries = [];
    return { header: this.#header, entries, form: this.#assembler.form };
  }

  end(): PipeBatch {
    const cutCharacter = this.#utf8.end();
    if (cutCharacter !== undefined) this.#fault ??= this.#notUtf8(cutCharacter);
    this.#parse(() => {
      if (this.#options.from === undefined || this.#body === undefined) this.#head?.end();
      if (this.#options.from !== undefined) this.#endBody();
      this.#assembler?.end();
    });
    const batch = this.batch();
    if (batch !== undefined) return batch;
    throw this.#fault ?? new UsageError(`${this.#name} is empty`, { hint: 'Its first line must name the columns.' });
  }

  /** To be called after a batch was given: what came before a fault counts, wherever the blocks of the file end. */
  throwFault(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  #start(bytes: Buffer): Buffer {
    const encoding = guessFromStart(bytes);
    if (encoding !== undefined) throw this.#wrongEncoding(`it looks like ${encoding}`);
    const byte = bomLength(bytes);
    this.#byte = byte;
    this.#head = new CsvRows(this.#format(), { byte, line: 1 }, (row) => this.#takeHead(row));
    return bytes.subarray(byte);
  }

  #format(): { readonly delimiter: string; readonly maxRowBytes: number } {
    return {
      delimiter: this.#options.delimiter ?? ',',
      maxRowBytes: this.#options.maxRowBytes ?? defaultMaxRowBytes,
    };
  }

  #feed(text: Buffer): void {
    this.#byte += text.length;
    const isOnePass = this.#options.from === undefined;
    if (isOnePass || this.#body === undefined) this.#head?.write(text);
    if (!isOnePass) this.#goOn(text);
  }

  #endBody(): void {
    this.#goOn(Buffer.alloc(0));
    this.#body?.end();
  }

  /** Gives the body what lies behind the place where it goes on; held until the header is known. */
  #goOn(text: Buffer): void {
    this.#ahead = Buffer.concat([this.#ahead, text]);
    const { from } = this.#options;
    if (this.#body === undefined || from === undefined) return;
    const skipped = Math.max(0, from.byte - (this.#byte - this.#ahead.length));
    const rest = this.#ahead.subarray(skipped);
    this.#ahead = Buffer.alloc(0);
    if (rest.length > 0) this.#body.write(rest);
  }

  /** A fault of the file as a whole waits until the entries before it were given. */
  #parse(step: () => void): void {
    if (this.#fault !== undefined) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.#fault = error;
    }
  }

  #takeHead(row: CsvRow): void {
    if (this.#header === undefined) this.#open(row);
    else if (this.#options.from === undefined) this.#takeRow(row);
  }

  #open(row: CsvRow): void {
    const { from, form = 'auto', limits = defaultPipeLimits, maxSegments = defaultMaxSegments } = this.#options;
    this.#header = readHeader(row, { ...this.#options, delimiter: this.#format().delimiter }, this.#name);
    this.#checker = new RowChecker(this.#header, limits);
    const knownForm = form === 'auto' ? (from?.form ?? 'undecided') : form;
    this.#assembler = new ItemAssembler(this.#header, { form: knownForm, maxSegments }, (entry) => {
      this.#entries.push(entry);
    });
    this.#body = from === undefined ? this.#head : new CsvRows(this.#format(), from, (next) => this.#takeRow(next));
  }

  #takeRow(row: CsvRow): void {
    if (this.#checker !== undefined) this.#assembler?.add(this.#checker.check(row));
  }

  #notUtf8(byte: number): UsageError {
    const line = (this.#body ?? this.#head)?.lineOf(this.#byte) ?? 1;
    const place = `byte 0x${byte.toString(16).toUpperCase()} on line ${line} (byte ${this.#byte + 1} of the text)`;
    return this.#wrongEncoding(`${place} looks like ${guessFromByte(byte)}`);
  }

  #wrongEncoding(why: string): UsageError {
    return new UsageError(`${this.#name} is not UTF-8: ${why}`, {
      hint: 'Save it as UTF-8 and push it then; iconv -f … -t UTF-8 does it.',
    });
  }
}
