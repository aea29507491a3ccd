/** Record identifiers: UUIDs as text and as bytes. */

/** Bytes of an xid, in the order in which it is written. */
export const xidBytes = 16;

/** Characters of an xid as text. */
export const xidChars = 36;
const hyphenCode = 45;
const hyphenPlaces: readonly number[] = [8, 13, 18, 23];

/** Where the two digits of each byte begin in the text. */
const bytePlaces = Uint8Array.from(
  Array.from({ length: xidChars }, (_, place) => place)
    .filter((place) => !hyphenPlaces.includes(place))
    .filter((_, digit) => digit % 2 === 0),
);

const noDigit = 0xff;
/** Value of a hexadecimal digit, by its character code. */
const digitValues = new Uint8Array(128).fill(noDigit);
for (let value = 0; value < 16; value += 1) {
  const digit = value.toString(16);
  digitValues[digit.charCodeAt(0)] = value;
  digitValues[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Writes the bytes of a UUID, in either case, to `bytes` from `offset` on. False for other text: some may be written. */
export function readXid(text: string, bytes: Uint8Array, offset: number): boolean {
  if (text.length !== xidChars || !hasHyphens(text)) return false;
  for (let byte = 0; byte < xidBytes; byte += 1) {
    const place = bytePlaces[byte] ?? 0;
    const high = digitValues[text.charCodeAt(place)] ?? noDigit;
    const low = digitValues[text.charCodeAt(place + 1)] ?? noDigit;
    if (high === noDigit || low === noDigit) return false;
    bytes[offset + byte] = high * 16 + low;
  }
  return true;
}

/** As {@link readXid}, of the text in ASCII that begins at `start` in `text`. */
export function readXidBytes(text: Uint8Array, start: number, bytes: Uint8Array, offset: number): boolean {
  for (const place of hyphenPlaces) {
    if (text[start + place] !== hyphenCode) return false;
  }
  for (let byte = 0; byte < xidBytes; byte += 1) {
    const place = start + (bytePlaces[byte] ?? 0);
    const high = digitValues[text[place] ?? 0] ?? noDigit;
    const low = digitValues[text[place + 1] ?? 0] ?? noDigit;
    if (high === noDigit || low === noDigit) return false;
    bytes[offset + byte] = high * 16 + low;
  }
  return true;
}

function hasHyphens(text: string): boolean {
  return (
    text.charCodeAt(8) === hyphenCode &&
    text.charCodeAt(13) === hyphenCode &&
    text.charCodeAt(18) === hyphenCode &&
    text.charCodeAt(23) === hyphenCode
  );
}

/** The xid of a row as text in lower case. */
export function xidText(xids: Uint8Array, row: number): string {
  const digits = Array.from(xids.subarray(row * xidBytes, (row + 1) * xidBytes), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
