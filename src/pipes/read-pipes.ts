/**
 * Streams the entries of a file of network pipes: bytes -> rows -> checked rows -> entries. Memory is bounded whatever
 * the size of the file (G8, docs/design.md section 4.3). Every row ends in exactly one entry.
 */
import { UsageError } from '../core/base/errors.ts';
import type { FilePosition } from '../core/pipes/chunks-in-order.ts';
import { defaultPipeLimits, listFields, pipeFields, type PipeKey, type PipeLimits } from '../core/pipes/pipe.ts';
import {
  bomLength,
  firstBytes,
  guessFromByte,
  guessFromStart,
  type PipeSource,
  readContent,
  sourceName,
  startBytes,
  Utf8Check,
} from './content.ts';
import { type CsvRow, CsvRows } from './csv-rows.ts';
import { type HeaderOptions, type PipeHeader, readHeader } from './header.ts';
import { itemOfRow, itemOfRows, type PipeEntry, rejectedRows } from './items.ts';
import { type CellFault, type CheckedRow, isListText, RowChecker } from './row-check.ts';

export interface ReadPipesOptions extends Partial<HeaderOptions> {
  /** `auto` recognises the form from the cells; the others set it. */
  readonly form?: 'auto' | 'wide' | 'long';
  readonly limits?: PipeLimits;
  /** A longer row of several lines counts as one with an unclosed quote; a longer line ends the read. */
  readonly maxRowBytes?: number;
  /** Most rows of one item in the long form, about 1 KB of memory each. More end the read. */
  readonly maxSegments?: number;
  /** Position at which an earlier read of the same content stopped: the end of an entry. Earlier rows are skipped. */
  readonly from?: FilePosition;
  readonly signal?: AbortSignal;
  /** Bytes of content in a batch; 8 KiB by default. */
  readonly blockBytes?: number;
}

/** Entries completed by one block of the file, in order. May be empty. */
export interface PipeBatch {
  readonly header: PipeHeader;
  readonly entries: readonly PipeEntry[];
  /** Form of the file as known so far. */
  readonly form: FilePosition['form'];
}

/**
 * Bytes parsed between two turns of the event loop: some fifty rows. A request needs a few turns until it is answered, and
 * its rows are in memory as long. With 24 KiB and more the collector copied them again and again: a push took up to 1.7
 * times as long (bench/push.bench.ts).
 */
const defaultBlockBytes = 8 * 1024;
const defaultMaxRowBytes = 1024 * 1024;
const defaultMaxSegments = 20_000;

/**
 * Yields a batch for each block of content, with a turn of the event loop in between; the first batch once the header
 * is read. Throws UsageError for a file that cannot be read as a whole: a missing or wrong header, bytes that are not
 * UTF-8 (entries before the fault are yielded first), an unreadable or damaged file. Throws AbortedError on the signal.
 */
export async function* readPipes(
  source: PipeSource,
  options: ReadPipesOptions = {},
): AsyncGenerator<PipeBatch, void, undefined> {
  const reader = new PipeReader(sourceName(source), options);
  for await (const bytes of contentFromStart(source, options)) {
    reader.write(bytes);
    const batch = reader.batch();
    if (batch !== undefined) yield batch;
    reader.throwFault();
  }
  yield reader.end();
  reader.throwFault();
}

/** The content; its first block is long enough to recognise an encoding. */
async function* contentFromStart(
  source: PipeSource,
  { signal, blockBytes = defaultBlockBytes }: Pick<ReadPipesOptions, 'signal' | 'blockBytes'>,
): AsyncGenerator<Buffer, void, undefined> {
  const content = readContent(source, signal, blockBytes);
  try {
    yield await firstBytes(content, startBytes);
    yield* content;
  } finally {
    // A consumer that stops at the first block has not begun the second: nothing else would close the source.
    await content.return();
  }
}

/** One read of a file: the stages in sequence, and the position in the content. */
class PipeReader {
  readonly #name: string;
  readonly #options: ReadPipesOptions;
  readonly #utf8 = new Utf8Check();
  /** Parses the header and, when reading from the start, the rows behind it. */
  #head: CsvRows | undefined;
  /** Parses the rows to check. */
  #body: CsvRows | undefined;
  #header: PipeHeader | undefined;
  #checker: RowChecker | undefined;
  #assembler: ItemAssembler | undefined;
  #entries: PipeEntry[] = [];
  #byte = 0;
  /** Text held until the header is known, when reading from a later position. */
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

  /** Entries completed since the last batch; undefined before the header is read. */
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

  /** Call it after each batch: entries before a fault count, wherever the blocks of the file end. */
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
    if (!isOnePass) this.#feedBody(text);
  }

  #endBody(): void {
    this.#feedBody(Buffer.alloc(0));
    this.#body?.end();
  }

  /** Feeds the body the text behind the start position; held until the header is known. */
  #feedBody(text: Buffer): void {
    this.#ahead = Buffer.concat([this.#ahead, text]);
    const { from } = this.#options;
    if (this.#body === undefined || from === undefined) return;
    const skipped = Math.max(0, from.byte - (this.#byte - this.#ahead.length));
    const rest = this.#ahead.subarray(skipped);
    this.#ahead = Buffer.alloc(0);
    if (rest.length > 0) this.#body.write(rest);
  }

  /** A fault of the whole file waits until the entries before it are yielded. */
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
    const position = `byte 0x${byte.toString(16).toUpperCase()} on line ${line} (byte ${this.#byte + 1} of the text)`;
    return this.#wrongEncoding(`${position} looks like ${guessFromByte(byte)}`);
  }

  #wrongEncoding(why: string): UsageError {
    return new UsageError(`${this.#name} is not UTF-8: ${why}`, {
      hint: 'Save it as UTF-8 and push it then; iconv -f … -t UTF-8 does it.',
    });
  }
}

// Assembles rows into items: one row in the wide form, consecutive rows of one pipe in the long form. Recognises which
// of the two forms a file has (docs/decisions/0004-pipes-long-form.md).
//
//   undecided --(a list cell)--------------------------------------> wide
//   undecided --(two rows of one pipe: numbers differ, rest equal)--> long
//
// While the form is undecided, every row means the same in both forms, so no item is ever taken back.

export interface FormOptions {
  /** Form from a checkpoint, or as set by the operator. */
  readonly form: FilePosition['form'];
  /** Most rows of one item in the long form. They wait until the item is complete; more end the read. */
  readonly maxSegments: number;
}

/**
 * Takes checked rows in the order of the file and emits entries in that order. Throws UsageError beyond `maxSegments`.
 */
class ItemAssembler {
  readonly #header: PipeHeader;
  readonly #options: FormOptions;
  readonly #emit: (entry: PipeEntry) => void;
  #form: FilePosition['form'];
  /** Consecutive rows of one pipe, kept while the file may be in the long form. */
  #pending: CheckedRow[] = [];
  /** Rows without a readable id behind them, which belong to the same pipe if the next row does. */
  #strays: CheckedRow[] = [];

  constructor(header: PipeHeader, options: FormOptions, emit: (entry: PipeEntry) => void) {
    this.#header = header;
    this.#options = options;
    this.#emit = emit;
    this.#form = options.form;
  }

  get form(): FilePosition['form'] {
    return this.#form;
  }

  add(checked: CheckedRow): void {
    if (this.#form === 'undecided' && checked.hasList) {
      this.end();
      this.#form = 'wide';
    }
    if (this.#form === 'wide') this.#emitAlone(checked);
    else if (checked.sourceId === undefined) this.#addStray(checked);
    else this.#addPending(checked);
  }

  /** Emits the rows that wait; also at the end of the file. */
  end(): void {
    const pending = this.#pending.splice(0);
    const strays = this.#strays.splice(0);
    if (pending.length === 1 && pending[0] !== undefined) this.#emitAlone(pending[0]);
    else if (pending.length > 1) this.#emitGroup(pending);
    for (const stray of strays) this.#emitAlone(stray);
  }

  #addStray(checked: CheckedRow): void {
    if (this.#pending.length === 0) this.#emitAlone(checked);
    else this.#strays.push(checked);
    // Too many to be broken rows of one pipe: this bounds the memory.
    if (this.#strays.length > this.#options.maxSegments) this.end();
  }

  #addPending(checked: CheckedRow): void {
    const first = this.#pending.find(isGood);
    const isSamePipe = this.#pending.length > 0 && isSame(this.#pending[0], checked);
    const isSameItem = isSamePipe && (first === undefined || !isGood(checked) || first.scalars === checked.scalars);
    if (!isSameItem) this.end();
    this.#pending.push(...this.#strays.splice(0), this.#asSegment(checked));
    if (first !== undefined && isSameItem && this.#form === 'undecided' && isNextSegment(first, checked)) {
      this.#form = 'long';
    }
    if (this.#pending.length > this.#options.maxSegments) throw this.#tooMany(checked);
  }

  /** The row with a fault for each list, which no cell of the long form holds. */
  #asSegment(checked: CheckedRow): CheckedRow {
    if (this.#form !== 'long' || !checked.hasList) return checked;
    const reason =
      'holds a list in a file of the long form, where a cell is one number: insist on the wide form if it is none';
    const columns = listFields.filter((_, index) => isListText(this.#cell(checked, index)));
    return { ...checked, faults: [...checked.faults, ...columns.map((column) => ({ column, reason }))] };
  }

  #cell({ row }: CheckedRow, list: number): string {
    const field = pipeFields.length - listFields.length + list;
    return row.cells[this.#header.columnOf[field] ?? -1] ?? '';
  }

  #emitGroup(rows: readonly CheckedRow[]): void {
    if (this.#form === 'long') this.#emitLong(rows);
    else if (rows.every((checked) => !isGood(checked) || !hasNumbers(checked))) {
      for (const checked of rows) this.#emitAlone(checked);
    } else {
      const reason = `the same row ${rows.length} times, and nothing tells whether these are equal segments or a repeated line: insist on the long or on the wide form`;
      this.#rejectAll(rows, reason);
    }
  }

  #emitLong(rows: readonly CheckedRow[]): void {
    const guilty = rows.find((checked) => !isGood(checked));
    const gaps = guilty === undefined ? gapFaults(rows) : [];
    if (guilty !== undefined) {
      this.#rejectAll(rows, `belongs to the pipe of line ${guilty.row.line}, which is rejected`);
    } else if (gaps.length > 0) {
      this.#reject(
        rows.map(({ row }) => ({ row, faults: gaps })),
        keyOf(rows),
      );
    } else this.#emit(itemOfRows(rows, this.#form));
  }

  #tooMany({ row }: CheckedRow): UsageError {
    const { maxSegments } = this.#options;
    return new UsageError(`line ${row.line}: more than ${maxSegments} rows of one pipe follow each other`, {
      hint: 'Are these segments of one pipe?',
      action: { kind: 'push-wide' },
    });
  }

  /** Rejects the rows: those with faults for their own reasons, the others for `reason`. */
  #rejectAll(rows: readonly CheckedRow[], reason: string): void {
    this.#reject(
      rows.map(({ row, faults }) => ({ row, faults: faults.length > 0 ? faults : [{ column: '', reason }] })),
      keyOf(rows),
    );
  }

  #emitAlone(checked: CheckedRow): void {
    if (isGood(checked)) this.#emit(itemOfRow(checked, this.#form));
    else this.#reject([checked], keyOf([checked]));
  }

  #reject(rows: ReadonlyArray<Pick<CheckedRow, 'row' | 'faults'>>, key: PipeKey | undefined): void {
    this.#emit(rejectedRows(rows, this.#header, this.#form, key));
  }
}

/** Of rows of one pipe. */
function keyOf(rows: readonly CheckedRow[]): PipeKey | undefined {
  const keyed = rows.find(({ isKeyed }) => isKeyed);
  if (keyed?.network === undefined || keyed.sourceId === undefined) return undefined;
  return { network: keyed.network, sourceId: keyed.sourceId, version: keyed.version };
}

function isGood({ faults }: CheckedRow): boolean {
  return faults.length === 0;
}

function isSame(left: CheckedRow | undefined, right: CheckedRow): boolean {
  return left?.sourceId === right.sourceId && left?.network === right.network;
}

function hasNumbers({ lists }: CheckedRow): boolean {
  return lists.some((list) => list !== undefined);
}

/** Whether two rows of one pipe differ in their numbers and in nothing else. */
function isNextSegment(first: CheckedRow, next: CheckedRow): boolean {
  return isGood(next) && listFields.some((_, index) => first.lists[index] !== next.lists[index]);
}

/**
 * Faults of columns with an empty cell between two numbers: the segment without a number could not be identified later.
 */
function gapFaults(rows: readonly CheckedRow[]): readonly CellFault[] {
  return listFields.flatMap((column, index) => {
    const filled = rows.map(({ lists }) => lists[index] !== undefined);
    const gap = filled.indexOf(false, Math.max(0, filled.indexOf(true)));
    if (gap === -1 || !filled.includes(true) || !filled.includes(true, gap)) return [];
    return [{ column, reason: `is empty on line ${rows[gap]?.row.line ?? 0}, between two numbers of the pipe` }];
  });
}
