/** Checks that bytes are UTF-8 text, and names the likely encoding where they are not. */
import { isUtf8 } from 'node:buffer';

/** Bytes that `guessFromStart` examines. */
export const startBytes = 64;

const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);

/** The length of a UTF-8 byte order mark at the start of a file. */
export function bomLength(start: Buffer): number {
  return start.subarray(0, utf8Bom.length).equals(utf8Bom) ? utf8Bom.length : 0;
}

/** The encoding that the first bytes of a file indicate; undefined when they do not rule out UTF-8. */
export function guessFromStart(start: Buffer): string | undefined {
  const [first, second, third, fourth] = start;
  if (first === 0xff && second === 0xfe) return third === 0 && fourth === 0 ? 'UTF-32 LE' : 'UTF-16 LE';
  if (first === 0xfe && second === 0xff) return 'UTF-16 BE';
  const nulsAt = (parity: number): number =>
    start.subarray(0, startBytes).filter((byte, index) => byte === 0 && index % 2 === parity).length;
  const [even, odd] = [nulsAt(0), nulsAt(1)];
  if (even === 0 && odd === 0) return undefined;
  if (even > 0 && odd > 0) return 'UTF-32 or a binary file';
  return odd > 0 ? 'UTF-16 LE without a byte order mark' : 'UTF-16 BE without a byte order mark';
}

/**
 * The likely encoding of a byte that is not UTF-8. 0x80 to 0x9f are control characters in Latin-1, which files do not
 * contain.
 */
export function guessFromByte(byte: number): string {
  return byte >= 0x80 && byte <= 0x9f ? 'Windows-1252' : 'Latin-1 (ISO 8859-1) or Windows-1252';
}

/** The whole characters of a block and, when they end before the block does, the invalid byte behind them. */
export interface CheckedText {
  readonly text: Buffer;
  readonly faultyByte: number | undefined;
}

/** Checks a stream of bytes, block by block. A character cut by the end of a block waits for the next block. */
export class Utf8Check {
  #cut: Buffer = Buffer.alloc(0);

  /** `text` starts with the cut character of the previous block. */
  check(block: Buffer): CheckedText {
    const bytes = this.#cut.length === 0 ? block : Buffer.concat([this.#cut, block]);
    const end = bytes.length - unfinishedLength(bytes);
    const whole = bytes.subarray(0, end);
    this.#cut = bytes.subarray(end);
    if (isUtf8(whole)) return { text: whole, faultyByte: undefined };
    const faultAt = firstFault(whole);
    return { text: whole.subarray(0, faultAt), faultyByte: whole[faultAt] };
  }

  /** First byte of a character that the end of the file cuts; undefined when there is none. */
  end(): number | undefined {
    return this.#cut[0];
  }
}

/** Bytes at the end that may start a longer character, at most 3. */
function unfinishedLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return characterLength(byte) > back ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

function characterLength(lead: number): number {
  return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

/** Offset of the first invalid character. Tests characters one by one, at most once per file. */
function firstFault(bytes: Buffer): number {
  let offset = 0;
  while (offset < bytes.length) {
    const lead = bytes[offset] ?? 0;
    const length = lead < 0x80 ? 1 : characterLength(lead);
    if (!isUtf8(bytes.subarray(offset, offset + length))) return offset;
    offset += length;
  }
  return offset;
}
