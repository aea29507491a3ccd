/**
 * Collects and counts the records of one read while its pages arrive. Every record counts in exactly one place (G2).
 */
import type { Secrets } from '../core/base/secrets.ts';
import { charsPerRow, type WindowReading } from '../core/daily/reading.ts';
import {
  type CheckedRecord,
  checkRecord,
  isCut,
  type RecordRules,
  type RecordText,
} from '../core/daily/record-check.ts';
import { type RowBlocks, RowColumnsBuilder } from '../core/daily/row-columns.ts';
import { type QuarantinedRecord, readXid, xidBytes } from '../core/daily/row.ts';
import type { PageAnswer, RowKey } from '../core/paging/chain-and-passes.ts';
import type { ProductionCalendar } from '../core/time/production-day.ts';
import { DAY_MS, isInside, type Window } from '../core/time/window.ts';
import { cleanedExcerpt } from './classification.ts';
import { readPlainPage } from './plain-page.ts';
import type { RecordPage } from './record-page.ts';

type Quarantined = Extract<CheckedRecord, { kind: 'quarantined' }>;

/** A page may consist of records that are no rows: room for more is made as rows come. */
const mostReserved = 1_000;

/** Place of a record: that of its row in the columns, its entry of the quarantine, or `outside` the window. */
type Position = number | Quarantined | 'outside';

interface Arrival {
  readonly key: RowKey;
  /** Undefined for a date that is unreadable or in the future. */
  readonly instantMs: number | undefined;
}

export type PageKeys = Omit<Extract<PageAnswer, { kind: 'page' }>, 'kind'>;

export class RecordCounter {
  readonly #window: Window;
  readonly #secrets: Secrets;
  readonly #calendar: ProductionCalendar;
  readonly #rules: RecordRules;
  readonly #numbers = new RecordNumbers();
  /** One place for each record, by its number, on whatever pages it came; the last arrival wins. */
  readonly #positions: Position[] = [];
  readonly #rows: RowColumnsBuilder;
  /** Names of the extra fields of rows, by their place. */
  readonly #extraFields = new Map<number, readonly string[]>();
  #lastNames: readonly string[] = [];
  /** Days of UTC that records are dated on, inside the window or not. */
  readonly #days = new Set<number>();
  /** Records without a place in time: each may be of a day of its own. */
  #undated = 0;
  #read = 0;
  /** Characters of the texts of records, as they came first. */
  #textChars = 0;
  #hasPlainPages = true;

  /**
   * `secrets`: what no notice may show, not even as the name of a field. `blocks`: where the rows take their room, and to
   * which they may be released.
   */
  constructor(
    window: Window,
    calendar: ProductionCalendar,
    secrets: Secrets,
    { blocks, ...rules }: RecordRules & { readonly blocks?: RowBlocks | undefined } = {},
  ) {
    this.#window = window;
    this.#secrets = secrets;
    this.#calendar = calendar;
    this.#rules = rules;
    this.#rows = new RowColumnsBuilder(blocks);
  }

  /** Records in memory. */
  get rowCount(): number {
    return this.#positions.length;
  }

  /** Different days of the records. */
  get dayCount(): number {
    return this.#days.size + this.#undated;
  }

  /** The records in memory and their texts, in rows without a text. */
  get heldRows(): number {
    return this.#positions.length + Math.floor(this.#textChars / charsPerRow);
  }

  /**
   * Adds the page that answers the request for the window `requested`. Up to `again` repeated records were requested again
   * on purpose and do not count as read. Returns a key for each record, with its date when that has changed.
   */
  add(page: RecordPage, requested: Window, again: number): PageKeys {
    const countBefore = this.#positions.length;
    const around = aroundOf(requested);
    let isBeyond = false;
    if (Array.isArray(page.records)) this.#rows.reserve(Math.min(page.records.length, mostReserved));
    const keys: RowKey[] = [];
    for (const raw of page.records) {
      const { key, instantMs } = this.#addChecked(raw, page.textOf(keys.length));
      isBeyond ||= instantMs !== undefined && !isInside(around, instantMs);
      if (instantMs === undefined) this.#undated += 1;
      else this.#days.add(Math.floor(instantMs / DAY_MS));
      keys.push(key);
    }
    this.#countRead(keys.length, countBefore, again);
    return { keys, isBeyond };
  }

  /**
   * As {@link add}, of the bytes of a page (plain-page.ts). Undefined for a page with anything but plain records: nothing
   * of it is counted, and no later page of the read is tried, so that little is read twice.
   */
  addPlainPage(bytes: Buffer, mostRecords: number, requested: Window, again: number): PageKeys | undefined {
    if (!this.#hasPlainPages) return undefined;
    const countBefore = this.#positions.length;
    const first = this.#rows.next;
    const count = readPlainPage(bytes, this.#rows, this.#calendar, mostRecords, this.#rules);
    this.#hasPlainPages = count !== undefined;
    if (count === undefined) return undefined;
    this.#numbers.reserve(count);
    const around = aroundOf(requested);
    let isBeyond = false;
    const keys: RowKey[] = [];
    const take = (position: number): void => {
      const { xids, instantsMs } = this.#rows.block;
      const instantMs = instantsMs[position] ?? 0;
      isBeyond ||= !isInside(around, instantMs);
      this.#days.add(Math.floor(instantMs / DAY_MS));
      keys.push(this.#takeIn(this.#numbers.ofXid(xids, position * xidBytes), position, instantMs));
    };
    // A page begins with rows that came before or lie outside the window: those behind them move up at once.
    const passed = this.#countWithoutPosition(first, count);
    for (let position = first; position < first + passed; position += 1) take(position);
    const rest = count - passed;
    this.#rows.block.moveRows(first + passed, first, rest);
    for (let position = first; position < first + rest; position += 1) take(position);
    this.#countRead(count, countBefore, again);
    return { keys, isBeyond };
  }

  /**
   * Rows at the start of a page, of `count` rows from the place `first` on, that take no new place: they stay in the place that
   * they have, or lie outside the window and had none.
   */
  #countWithoutPosition(first: number, count: number): number {
    const { xids, instantsMs } = this.#rows.block;
    for (let index = 0; index < count; index += 1) {
      const number = this.#numbers.knownXid(xids, (first + index) * xidBytes);
      const hasPosition = number !== undefined && typeof this.#positions[number] === 'number';
      // One that leaves its place is none of them: the same record may come back into the window further on.
      if (hasPosition !== isInside(this.#window, instantsMs[first + index] ?? 0)) return index;
    }
    return count;
  }

  /** Takes in the row that was written to the place `from`, not before the place behind the last row. */
  #takeIn(number: number, from: number, instantMs: number): RowKey {
    const before = this.#positions[number];
    const beforeMs = this.#instantAt(before);
    if (!isInside(this.#window, instantMs)) return this.#settle(number, before, beforeMs, 'outside');
    const position = typeof before === 'number' ? before : this.#rows.next;
    if (position !== from) this.#rows.block.copyRow(from, position);
    this.#rows.put(position);
    if (before === undefined) for (const texts of this.#rows.block.texts) this.#textChars += lengthOf(texts[position]);
    if (this.#extraFields.size > 0) this.#extraFields.delete(position);
    return this.#settle(number, before, beforeMs, position);
  }

  #countRead(records: number, countBefore: number, again: number): void {
    const repeated = records - (this.#positions.length - countBefore);
    this.#read += records - Math.min(again, repeated);
  }

  #addChecked(raw: unknown, text: RecordText): Arrival {
    const checked = checkRecord(raw, this.#calendar, text, this.#rules);
    const number = this.#numbers.ofText(keyOf(checked));
    const before = this.#positions[number];
    const beforeMs = this.#instantAt(before);
    const { instantMs } = checked.kind === 'row' ? checked.row : checked;
    // A record without a readable date, or of the future, counts as inside: it may belong to the window.
    const isIn = instantMs === undefined || isInside(this.#window, instantMs);
    const position = isIn ? this.#positionOf(checked, before) : 'outside';
    if (position !== 'outside' && before === undefined) this.#textChars += textChars(checked);
    return { key: this.#settle(number, before, beforeMs, position), instantMs };
  }

  #positionOf(checked: CheckedRecord, before: Position | undefined): Position {
    if (checked.kind === 'quarantined') return checked;
    const position = typeof before === 'number' ? before : this.#rows.next;
    this.#rows.putRow(position, checked.row, checked.defaulted);
    this.#extraFields.delete(position);
    if (checked.extraFields.length > 0) this.#extraFields.set(position, this.#shared(checked.extraFields));
    return position;
  }

  /** The same list for all rows with these extra fields: a service that sends one sends it with every record. */
  #shared(names: readonly string[]): readonly string[] {
    if (names.length !== this.#lastNames.length || names.some((name, index) => name !== this.#lastNames[index]))
      this.#lastNames = names;
    return this.#lastNames;
  }

  /** Notes the place of a record. Returns its key: its number, with the date when that has changed. */
  #settle(number: number, before: Position | undefined, beforeMs: number | undefined, position: Position): RowKey {
    if (before !== position) this.#positions[number] = position;
    if (typeof before === 'number' && before !== position) {
      this.#rows.drop(before);
      this.#extraFields.delete(before);
    }
    const afterMs = this.#instantAt(position);
    return before === undefined || beforeMs === afterMs ? number : `${number} ${afterMs}`;
  }

  /** Instant of a record; undefined outside the window, and for a date that is unreadable or in the future. */
  #instantAt(position: Position | undefined): number | undefined {
    if (typeof position === 'number') return this.#rows.block.instantsMs[position];
    return typeof position === 'object' ? position.instantMs : undefined;
  }

  /** The result of the read. Call it once, when all pages have come. */
  reading(requests: number, notices: readonly string[]): Omit<WindowReading, 'paging' | 'isVerified'> {
    const quarantined: QuarantinedRecord[] = [];
    let outsideWindow = 0;
    for (const position of this.#positions) {
      if (position === 'outside') outsideWindow += 1;
      else if (typeof position === 'object') quarantined.push(position.record);
    }
    const counts = {
      read: this.#read,
      repeated: this.#read - this.#positions.length,
      outsideWindow,
      quarantined: quarantined.length,
      defaulted: this.#rows.defaultedCount,
      requests,
    };
    const extraFields = new Set([...new Set(this.#extraFields.values())].flat());
    const allNotices = [...notices, ...extrasNotice(extraFields, this.#secrets)];
    return { rows: this.#rows.rows(), quarantined, counts, notices: allNotices };
  }
}

function textChars(checked: CheckedRecord): number {
  if (checked.kind === 'quarantined') return checked.record.raw.length;
  const { extras, measures } = checked.row;
  return measures.reduce<number>((sum, measure) => sum + lengthOf(measure), lengthOf(extras));
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}

/** A service with other bounds or another zone answers a window with a day more on both sides, and no more. */
function aroundOf({ fromMs, toMs }: Window): Window {
  return { fromMs: fromMs - DAY_MS, toMs: toMs + DAY_MS };
}

/**
 * Key of a record: its xid, or its text when the xid cannot be read, so that the same page again has no new key. Of a long
 * text the start alone is kept; the reason has the digest of the whole.
 */
export function keyOf(checked: CheckedRecord): string {
  if (checked.kind === 'row') return checked.row.xid;
  const { xid, raw, reason } = checked.record;
  return xid ?? (isCut(raw) ? reason : raw);
}

const mostNamesShown = 20;

function extrasNotice(names: ReadonlySet<string>, secrets: Secrets): readonly string[] {
  if (names.size === 0) return [];
  const shown = [...names]
    .toSorted()
    .slice(0, mostNamesShown)
    .map((name) => cleanedExcerpt(name, secrets))
    .join(', ');
  const rest = names.size > mostNamesShown ? ` and ${names.size - mostNamesShown} more` : '';
  return [`extra fields kept in the column extras: ${shown}${rest}`];
}

// Numbers the records of a read by their keys, from 0 in the order in which they first came. An xid is looked up by its
// bytes: as text it would be two objects of V8's for each record.

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
