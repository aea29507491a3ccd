/** The members of a plain record, found by the bytes of their names. */
import { columnOf } from '../core/daily/row-block.ts';
import { measureFields, type FieldKind } from '../core/daily/row.ts';

export interface PlainField {
  /** Its place in `plainFields`. */
  readonly index: number;
  readonly kind: FieldKind | 'xid' | 'date';
  readonly required: boolean;
  /** In `measureFields`; -1 for xid and date. */
  readonly position: number;
  /** Among the fields of its kind. */
  readonly n: number;
  readonly label: Label;
}

/** The name of a field as JSON writes it, with quotes, and the colon. */
export interface Label {
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
  return { index, kind, required, position, n, label: labelOf(name) };
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
  for (let place = at; place < last; place += 4, word += 1) {
    if (view.getInt32(place, true) !== words[word]) return false;
  }
  return view.getInt32(last, true) === words[word];
}

/** Whether the first `length` bytes of a word stand at `at`. */
export function hasBytes(bytes: Buffer, at: number, word: Uint8Array, length = word.length): boolean {
  for (let place = 0; place < length; place += 1) {
    if (bytes[at + place] !== word[place]) return false;
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
