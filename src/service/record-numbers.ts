/**
 * Numbers the records of a read by their keys, from 0 in the order in which they first came. An xid is looked up by its
 * bytes: as text it would be two objects of V8's for each record.
 */
import { readXid, xidBytes } from '../core/daily/row.ts';

const wordsPerXid = xidBytes / 4;
const leastRecords = 4;
const slotsPerRecord = 2;
const unused = -1;

/** Differs by process: a service cannot foresee the slots of its xids, though some share one under any seed. */
const seed = Math.trunc(Math.random() * 2 ** 32);

export class RecordNumbers {
  /** The xid of each number, as four words; zeros where the key is a text. */
  #xids = new Int32Array(leastRecords * wordsPerXid);
  /** Open addressing: the number of the xid that fell there, or `unused`. At most half are used. */
  #slots = new Int32Array(leastRecords * slotsPerRecord).fill(unused);
  readonly #texts = new Map<string, number>();
  #count = 0;

  /** The number of the xid that begins at `offset` in `bytes` (../core/daily/row.ts); the next one if it is new. */
  ofXid(bytes: Uint8Array, offset: number): number {
    const slot = this.#slotOf(bytes, offset);
    const known = this.#slots[slot] ?? unused;
    if (known !== unused) return known;
    const number = this.#next();
    this.#writeXid(number, bytes, offset);
    // More room may have moved the slots.
    this.#slots[this.#slotOf(bytes, offset)] = number;
    return number;
  }

  /** As {@link ofXid}; undefined if it is new. */
  knownXid(bytes: Uint8Array, offset: number): number | undefined {
    const known = this.#slots[this.#slotOf(bytes, offset)] ?? unused;
    return known === unused ? undefined : known;
  }

  /** The number of a key as text: of a UUID, in either case, that of its bytes. */
  ofText(key: string): number {
    if (readXid(key, scratch, 0)) return this.ofXid(scratch, 0);
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const number = this.#next();
    this.#texts.set(key, number);
    return number;
  }

  /** Makes room for `records` more, so that it grows once. */
  reserve(records: number): void {
    const needed = this.#count + records;
    if (needed * wordsPerXid <= this.#xids.length) return;
    const capacity = Math.max(needed, (2 * this.#xids.length) / wordsPerXid);
    const xids = new Int32Array(capacity * wordsPerXid);
    xids.set(this.#xids);
    this.#xids = xids;
    const before = this.#slots;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(capacity * slotsPerRecord))).fill(unused);
    for (const number of before) {
      if (number === unused) continue;
      const at = number * wordsPerXid;
      this.#slots[this.#slotFor(xids[at] ?? 0, xids[at + 1] ?? 0, xids[at + 2] ?? 0, xids[at + 3] ?? 0)] = number;
    }
  }

  #next(): number {
    this.reserve(1);
    this.#count += 1;
    return this.#count - 1;
  }

  #writeXid(number: number, bytes: Uint8Array, offset: number): void {
    for (let word = 0; word < wordsPerXid; word += 1)
      this.#xids[number * wordsPerXid + word] = wordAt(bytes, offset + 4 * word);
  }

  #slotOf(bytes: Uint8Array, at: number): number {
    return this.#slotFor(wordAt(bytes, at), wordAt(bytes, at + 4), wordAt(bytes, at + 8), wordAt(bytes, at + 12));
  }

  /** The slot that has the xid of these words, or the unused one where it belongs. */
  #slotFor(first: number, second: number, third: number, fourth: number): number {
    const [slots, xids] = [this.#slots, this.#xids];
    const mask = slots.length - 1;
    for (let slot = hashOf(first, second, third, fourth) & mask; ; slot = (slot + 1) & mask) {
      const number = slots[slot] ?? unused;
      if (number === unused) return slot;
      const at = number * wordsPerXid;
      const isIt = xids[at] === first && xids[at + 1] === second && xids[at + 2] === third && xids[at + 3] === fourth;
      if (isIt) return slot;
    }
  }
}

/** Room for the bytes of one xid. */
const scratch = new Uint8Array(xidBytes);

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

/** MurmurHash3 of four words. */
function hashOf(first: number, second: number, third: number, fourth: number): number {
  let hash = mixed(mixed(mixed(mixed(seed, first), second), third), fourth) ^ xidBytes;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

function mixed(hash: number, word: number): number {
  const scaled = Math.imul(word, 0xcc9e2d51);
  const turned = hash ^ Math.imul((scaled << 15) | (scaled >>> 17), 0x1b873593);
  return Math.imul((turned << 13) | (turned >>> 19), 5) + 0xe6546b64;
}
