/**
 * Reads a page of plain records from its bytes straight into the columns of its window, in one pass and without an object
 * a record. Plain is a record with a UUID, a date-time whose day is not too late, and no members but the measure fields, each
 * of its kind, null where that is allowed, or absent. The scan writes what JSON.parse and the check of records
 * (core/daily/record-check.ts) would; property tests compare them. For anything else it ends at the first byte that is not
 * plain, and the page is parsed and checked.
 */
import { mostTextChars, type RecordRules } from '../core/daily/record-check.ts';
import { columnOf, type RowBlock, type RowColumnsBuilder } from '../core/daily/row-columns.ts';
import {
  type FieldKind,
  measureFields,
  noneNullable,
  type NullableFields,
  readXidBytes,
  xidBytes,
  xidChars,
} from '../core/daily/row.ts';
import { instantOfDateTime, instantOfUtcBytes, type ProductionCalendar } from '../core/time/production-day.ts';

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
const [smallN, smallT] = [0x6e, 0x74];
const [firstPrintable, lastPrintable] = [0x20, 0x7e];
const [nullWord, trueWord, falseWord] = [Buffer.from('null'), Buffer.from('true'), Buffer.from('false')];

/** Returned instead of a position. */
const notPlain = -1;
/** Longer than any usual date-time. */
const mostDateChars = 40;
/** The number that was read last: returned as a value it would be an object of V8's for each. */
const number = new Float64Array(1);

/**
 * `bytes`: JSON text in ASCII that begins an array. Writes its records to the places of `rows` behind the last row, takes none of
 * them in, and returns their count. Undefined for a page with anything but plain records, with one that breaks
 * the `rules`, or with more than `mostRecords`.
 */
export function readPlainPage(
  bytes: Buffer,
  rows: RowColumnsBuilder,
  calendar: ProductionCalendar,
  mostRecords: number,
  rules: RecordRules = {},
): number | undefined {
  const reader = new PlainRecordReader(bytes, calendar, rules);
  let count = 0;
  const first = rows.next;
  const last = lastOf(bytes);
  // No loop of the scan passes this bracket, so that nothing is read beyond the bytes.
  if (bytes[last] !== closeBracket || bytes[0] !== openBracket) return undefined;
  let at = skipSpace(bytes, 1);
  if (at === last) return count;
  for (;;) {
    if (count >= mostRecords) return undefined;
    if (first + count >= rows.block.capacity) rows.reserve(count + rowsLeft(bytes, at, count));
    at = reader.read(at, rows.block, first + count);
    if (at === notPlain) return undefined;
    count += 1;
    at = skipSpace(bytes, at);
    if (bytes[at] !== comma) break;
    at = skipSpace(bytes, at + 1);
  }
  return at === last ? count : undefined;
}

/** The position of the last byte that is not white space; -1 for none. */
function lastOf(bytes: Buffer): number {
  let at = bytes.length - 1;
  while (at >= 0 && isSpace(bytes[at])) at -= 1;
  return at;
}

/** A page may end with other things than records: room for more is made as they come. */
const mostReserved = 1_000;

/** About how many records follow `at`, if they are as long as the `count` before; at least a quarter of those. */
function rowsLeft(bytes: Buffer, at: number, count: number): number {
  const left = Math.min(mostReserved, ((bytes.length - at) / at) * count);
  return Math.ceil(Math.max(1, count / 4, left));
}

class PlainRecordReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #calendar: ProductionCalendar;
  readonly #latestDay: number;
  readonly #nullable: NullableFields;
  #rowIndex = 0;
  #record = 0;
  /** The last record that had each field. */
  readonly #seen = new Int32Array(plainFields.length);
  /** The text that was read last, by the number of the field among those of text. */
  readonly #textsBefore: string[] = [];
  /** The field that last followed each; the last entry is that of the first field. */
  readonly #following = [...plainFields.slice(1), undefined, plainFields[0]];

  constructor(bytes: Buffer, calendar: ProductionCalendar, rules: RecordRules) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#calendar = calendar;
    this.#latestDay = rules.latestDay ?? Infinity;
    this.#nullable = rules.nullable ?? noneNullable;
  }

  /** Reads the record that begins at `start` into the row `rowIndex` of the block. Returns the position behind it, or `notPlain`. */
  read(start: number, block: RowBlock, rowIndex: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const end = bytes.length;
    if (bytes[start] !== openBrace) return notPlain;
    this.#rowIndex = rowIndex;
    this.#record += 1;
    block.defaulted[rowIndex] = 0;
    let before = plainFields.length;
    let members = 0;
    for (let at = skipSpace(bytes, start + 1); ; at = skipSpace(bytes, at + 1)) {
      let field = this.#following[before];
      let valueAt: number;
      // The order of the record before is tried first.
      if (field !== undefined && hasLabel(view, at, end, field.label)) valueAt = at + field.label.length;
      else {
        field = fieldAt(bytes, at);
        if (field === undefined) return notPlain;
        valueAt = behindColon(bytes, at + field.label.length - 1);
        if (valueAt === notPlain) return notPlain;
        this.#following[before] = field;
      }
      if (this.#seen[field.index] === this.#record) return notPlain;
      this.#seen[field.index] = this.#record;
      before = field.index;
      members += 1;
      at = this.#value(field, skipSpace(bytes, valueAt), block);
      if (at === notPlain) return notPlain;
      at = skipSpace(bytes, at);
      if (bytes[at] === comma) continue;
      if (bytes[at] !== closeBrace) return notPlain;
      return members === plainFields.length || this.#writeAbsent(block) ? at + 1 : notPlain;
    }
  }

  #value(field: PlainField, at: number, block: RowBlock): number {
    switch (field.kind) {
      case 'double':
        return this.#double(field, at, block);
      case 'int32':
        return this.#int32(field, at, block);
      case 'boolean':
        return this.#boolean(field, at, block);
      case 'string':
        return this.#text(field, at, block);
      case 'xid':
        return this.#xid(at, block);
      case 'date':
        return this.#date(at, block);
    }
  }

  #double(field: PlainField, at: number, block: RowBlock): number {
    const cell = field.n * block.capacity + this.#rowIndex;
    if (this.#bytes[at] === smallN) {
      block.doubles[cell] = 0;
      return this.#null(field, at, block);
    }
    const end = readNumber(this.#bytes, at, number, 0);
    const value = number[0] ?? 0;
    if (end === notPlain || !Number.isFinite(value)) return notPlain;
    // Adding 0 makes -0 a 0.
    block.doubles[cell] = value + 0;
    block.nulls[field.position * block.capacity + this.#rowIndex] = 0;
    return end;
  }

  #int32(field: PlainField, at: number, block: RowBlock): number {
    const cell = field.n * block.capacity + this.#rowIndex;
    if (this.#bytes[at] === smallN) {
      block.int32s[cell] = 0;
      return this.#null(field, at, block);
    }
    const end = readNumber(this.#bytes, at, number, 0);
    const value = number[0] ?? 0;
    if (end === notPlain || (value | 0) !== value) return notPlain;
    block.int32s[cell] = value;
    block.nulls[field.position * block.capacity + this.#rowIndex] = 0;
    return end;
  }

  #boolean(field: PlainField, at: number, block: RowBlock): number {
    const code = this.#bytes[at];
    if (code === smallN) return this.#null(field, at, block);
    const word = code === smallT ? trueWord : falseWord;
    if (!hasBytes(this.#bytes, at, word)) return notPlain;
    block.booleans[field.n * block.capacity + this.#rowIndex] = code === smallT ? 1 : 0;
    block.nulls[field.position * block.capacity + this.#rowIndex] = 0;
    return at + word.length;
  }

  #text(field: PlainField, at: number, block: RowBlock): number {
    const texts = block.texts[field.n];
    if (texts === undefined) return notPlain;
    if (this.#bytes[at] === smallN) {
      texts[this.#rowIndex] = null;
      return this.#null(field, at, block);
    }
    const end = textEnd(this.#bytes, at, mostTextChars);
    if (end === notPlain) return notPlain;
    texts[this.#rowIndex] = this.#textBetween(field, at + 1, end - 1);
    block.nulls[field.position * block.capacity + this.#rowIndex] = 0;
    return end;
  }

  /** Returns the last text of the field again if it is the same: codes repeat, and comparing is quicker than making one. */
  #textBetween({ n }: PlainField, from: number, end: number): string {
    const before = this.#textsBefore[n];
    if (before !== undefined && isText(this.#bytes, from, end, before)) return before;
    const text = this.#bytes.toString('latin1', from, end);
    this.#textsBefore[n] = text;
    return text;
  }

  #null(field: PlainField, at: number, block: RowBlock): number {
    if ((field.required && !this.#nullable.has(field.name)) || !hasBytes(this.#bytes, at, nullWord)) return notPlain;
    block.nulls[field.position * block.capacity + this.#rowIndex] = 1;
    return at + nullWord.length;
  }

  #xid(at: number, block: RowBlock): number {
    const [from, end] = [at + 1, at + 1 + xidChars];
    if (this.#bytes[at] !== quote || this.#bytes[end] !== quote) return notPlain;
    return readXidBytes(this.#bytes, from, block.xids, this.#rowIndex * xidBytes) ? end + 1 : notPlain;
  }

  #date(at: number, block: RowBlock): number {
    const end = textEnd(this.#bytes, at, mostDateChars);
    if (end === notPlain) return notPlain;
    const instantMs =
      instantOfUtcBytes(this.#bytes, at + 1, end - at - 2) ??
      instantOfDateTime(this.#bytes.toString('latin1', at + 1, end - 1), this.#calendar);
    const day = instantMs === undefined ? undefined : this.#calendar.dayNumberOf(instantMs);
    if (instantMs === undefined || day === undefined || day > this.#latestDay) return notPlain;
    block.instantsMs[this.#rowIndex] = instantMs;
    block.days[this.#rowIndex] = day;
    return end;
  }

  /** Fills the fields that the record does not have. False where it may not be without them. */
  #writeAbsent(block: RowBlock): boolean {
    const rowIndex = this.#rowIndex;
    for (const { index, kind, required, position, n } of plainFields) {
      if (this.#seen[index] === this.#record) continue;
      if (kind === 'xid' || kind === 'date') return false;
      if (required) block.defaulted[rowIndex] = 1;
      block.nulls[position * block.capacity + rowIndex] = required ? 0 : 1;
      if (kind === 'double') block.doubles[n * block.capacity + rowIndex] = 0;
      else if (kind === 'int32') block.int32s[n * block.capacity + rowIndex] = 0;
      else if (kind === 'string') (block.texts[n] ?? [])[rowIndex] = null;
    }
    return true;
  }
}

/** Whether the bytes from `from` to `end` are a text in ASCII. */
function isText(bytes: Buffer, from: number, end: number, text: string): boolean {
  if (end - from !== text.length) return false;
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[from + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** The position behind the text of at most `mostChars` printable characters that begins at `start`, or `notPlain`. */
function textEnd(bytes: Buffer, start: number, mostChars: number): number {
  if (bytes[start] !== quote) return notPlain;
  const last = Math.min(start + 1 + mostChars, bytes.length - 1);
  for (let at = start + 1; at <= last; at += 1) {
    const code = bytes[at] ?? 0;
    if (code === quote) return at + 1;
    if (code < firstPrintable || code > lastPrintable || code === backslash) return notPlain;
  }
  return notPlain;
}

// What a plain record is made of, read from its bytes: members by their names, and numbers.

interface PlainField {
  /** Its index in `plainFields`. */
  readonly index: number;
  readonly name: string;
  readonly kind: FieldKind | 'xid' | 'date';
  readonly required: boolean;
  /** In `measureFields`; -1 for xid and date. */
  readonly position: number;
  /** Among the fields of its kind. */
  readonly n: number;
  readonly label: Label;
}

/** The name of a field as JSON writes it, with quotes, and the colon. */
interface Label {
  readonly bytes: Uint8Array;
  readonly length: number;
  /** Its bytes by fours, little-endian; the last are its last four. */
  readonly words: Int32Array;
}

/** All of one shape: each is read for each value of a page. */
function plainField(
  name: string,
  kind: PlainField['kind'],
  required: boolean,
  position: number,
  n: number,
  index: number,
): PlainField {
  return { index, name, kind, required, position, n, label: labelOf(name) };
}

/** xid, date and all measure fields. */
const plainFields: readonly PlainField[] = [
  plainField('xid', 'xid', true, -1, 0, 0),
  plainField('date', 'date', true, -1, 0, 1),
  ...measureFields.map(({ name, kind, required }, position) =>
    plainField(name, kind, required, position, columnOf[position] ?? 0, position + 2),
  ),
];

function labelOf(name: string): Label {
  const bytes = Buffer.from(`"${name}":`);
  const words = Int32Array.from({ length: Math.ceil(bytes.length / 4) }, (_, word) =>
    bytes.readInt32LE(Math.min(word * 4, bytes.length - 4)),
  );
  return { bytes, length: bytes.length, words };
}

const colon = 0x3a;

/** By the length of the label: a name that is looked for meets at most six. */
const fieldsByLength: ReadonlyArray<readonly PlainField[]> = Array.from(
  { length: 1 + Math.max(...plainFields.map(({ label }) => label.length)) },
  (_, length) => plainFields.filter(({ label }) => label.length === length),
);

/**
 * Whether the label stands at `at`, before `end`. Four bytes are compared at a time: names are more than half of a page, and byte by
 * byte they took 0.4 us a row more.
 */
function hasLabel(view: DataView, at: number, end: number, { words, length }: Label): boolean {
  const last = at + length - 4;
  if (last + 4 > end) return false;
  let word = 0;
  for (let offset = at; offset < last; offset += 4, word += 1) {
    if (view.getInt32(offset, true) !== words[word]) return false;
  }
  return view.getInt32(last, true) === words[word];
}

/** Whether the first `length` bytes of a word stand at `at`. */
function hasBytes(bytes: Buffer, at: number, word: Uint8Array, length = word.length): boolean {
  for (let index = 0; index < length; index += 1) {
    if (bytes[at + index] !== word[index]) return false;
  }
  return true;
}

/** The field whose quoted name begins at `at`, whatever follows it; undefined for any other bytes. */
function fieldAt(bytes: Buffer, at: number): PlainField | undefined {
  if (bytes[at] !== quote) return undefined;
  let end = at + 1;
  while (end - at < fieldsByLength.length && bytes[end] !== quote) end += 1;
  const length = end - at + 2;
  return fieldsByLength[length]?.find(({ label }) => hasBytes(bytes, at, label.bytes, length - 1));
}

/** The position behind the colon that follows a name, after white space or none; -1 where none does. */
function behindColon(bytes: Buffer, nameEnd: number): number {
  const at = skipSpace(bytes, nameEnd);
  return bytes[at] === colon ? at + 1 : -1;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

/** White space of JSON: space, tab, line feed, carriage return. */
function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

// Numbers of JSON (RFC 8259 section 6), to the same double as JSON.parse.

const [plus, minus, period, zero, nine, largeE, smallE] = [0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x45, 0x65];

/** A whole number of so many digits is exact in a double, and so is a power of ten up to 10^22. */
const exactDigits = 15;
const exactPowers = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));
/** No exponent beyond it changes a number of few digits: it is 0 or infinite. */
const mostExponent = 100_000;

/**
 * Reads the number that begins at `start` and writes it to `target[cell]`; it may be -0 or infinite. Returns the position
 * behind it; -1 where no number of JSON begins.
 */
export function readNumber(bytes: Buffer, start: number, target: Float64Array, cell: number): number {
  const isNegative = bytes[start] === minus;
  let at = isNegative ? start + 1 : start;
  const wholeAt = at;
  let code = bytes[at] ?? 0;
  let mantissa = 0;
  if (code === zero) code = bytes[(at += 1)] ?? 0;
  else {
    for (; code >= zero && code <= nine; code = bytes[(at += 1)] ?? 0) mantissa = mantissa * 10 + (code - zero);
  }
  let digits = at - wholeAt;
  if (digits === 0) return -1;
  let exponent = 0;
  if (code === period) {
    const fractionAt = at + 1;
    code = bytes[(at += 1)] ?? 0;
    for (; code >= zero && code <= nine; code = bytes[(at += 1)] ?? 0) mantissa = mantissa * 10 + (code - zero);
    exponent = fractionAt - at;
    if (exponent === 0) return -1;
    digits -= exponent;
  }
  if (code === smallE || code === largeE) {
    const end = exponentEnd(bytes, at + 1);
    if (end < 0) return -1;
    exponent += exponentIn(bytes, at + 1, end);
    at = end;
  }
  if (digits > exactDigits || exponent < -22 || exponent > 22)
    target[cell] = Number(bytes.toString('latin1', start, at));
  else {
    // One operation on two exact numbers is rounded once, and so correctly.
    const value = exponent < 0 ? mantissa / (exactPowers[-exponent] ?? 1) : mantissa * (exactPowers[exponent] ?? 1);
    target[cell] = isNegative ? -value : value;
  }
  return at;
}

/** The position behind the exponent, sign included, that begins at `start`; -1 where none does. */
function exponentEnd(bytes: Buffer, start: number): number {
  const first = bytes[start] === minus || bytes[start] === plus ? start + 1 : start;
  let at = first;
  for (let code = bytes[at] ?? 0; code >= zero && code <= nine; code = bytes[at] ?? 0) at += 1;
  return at === first ? -1 : at;
}

function exponentIn(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === minus;
  let value = 0;
  for (let at = isNegative || bytes[start] === plus ? start + 1 : start; at < end && value < mostExponent; at += 1)
    value = value * 10 + ((bytes[at] ?? 0) - zero);
  return isNegative ? -value : value;
}
