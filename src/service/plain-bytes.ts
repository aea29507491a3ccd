/** What a plain record is made of, read from its bytes: members by their names, and numbers. */
import { columnOf } from '../core/daily/row-block.ts';
import { type FieldKind, measureFields } from '../core/daily/row.ts';

export interface PlainField {
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
export const plainFields: readonly PlainField[] = [
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

const [quote, colon] = [0x22, 0x3a];

/** By the length of the label: a name that is looked for meets at most six. */
const fieldsByLength: ReadonlyArray<readonly PlainField[]> = Array.from(
  { length: 1 + Math.max(...plainFields.map(({ label }) => label.length)) },
  (_, length) => plainFields.filter(({ label }) => label.length === length),
);

/**
 * Whether the label stands at `at`, before `end`. Four bytes are compared at a time: names are more than half of a page, and byte by
 * byte they took 0.4 us a row more.
 */
export function hasLabel(view: DataView, at: number, end: number, { words, length }: Label): boolean {
  const last = at + length - 4;
  if (last + 4 > end) return false;
  let word = 0;
  for (let offset = at; offset < last; offset += 4, word += 1) {
    if (view.getInt32(offset, true) !== words[word]) return false;
  }
  return view.getInt32(last, true) === words[word];
}

/** Whether the first `length` bytes of a word stand at `at`. */
export function hasBytes(bytes: Buffer, at: number, word: Uint8Array, length = word.length): boolean {
  for (let index = 0; index < length; index += 1) {
    if (bytes[at + index] !== word[index]) return false;
  }
  return true;
}

/** The field whose quoted name begins at `at`, whatever follows it; undefined for any other bytes. */
export function fieldAt(bytes: Buffer, at: number): PlainField | undefined {
  if (bytes[at] !== quote) return undefined;
  let end = at + 1;
  while (end - at < fieldsByLength.length && bytes[end] !== quote) end += 1;
  const length = end - at + 2;
  return fieldsByLength[length]?.find(({ label }) => hasBytes(bytes, at, label.bytes, length - 1));
}

/** The position behind the colon that follows a name, after white space or none; -1 where none does. */
export function behindColon(bytes: Buffer, nameEnd: number): number {
  const at = skipSpace(bytes, nameEnd);
  return bytes[at] === colon ? at + 1 : -1;
}

export function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

/** White space of JSON: space, tab, line feed, carriage return. */
export function isSpace(code: number | undefined): boolean {
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
