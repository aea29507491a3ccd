/**
 * Collects and counts the records of one read while its pages arrive. Every record counts in exactly one place (G2).
 */
import { checkRecord, isCut, isRecord, type CheckedRecord, type RecordText } from '../core/daily/record-check.ts';
import { writePlainRecord } from '../core/daily/plain-record.ts';
import type { PageAnswer } from '../core/paging/page.ts';
import { readPlainPage } from './plain-page.ts';
import { RowColumnsBuilder } from '../core/daily/row-columns.ts';
import { measureFields, type QuarantinedRecord } from '../core/daily/row.ts';
import type { ProductionCalendar } from '../core/time/production-day.ts';
import type { WindowReading } from '../core/daily/reading.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { cleanedExcerpt } from './cleaned-excerpt.ts';
import { DAY_MS, isInside, type Window } from '../core/time/window.ts';
import type { RecordPage } from './record-page.ts';

type Quarantined = Extract<CheckedRecord, { kind: 'quarantined' }>;

/** A page may consist of records that are no rows: room for more is made as rows come. */
const mostReserved = 1_000;

/** Place of a record: that of its row in the columns, its entry of the quarantine, or `outside` the window. */
type Place = number | Quarantined | 'outside';

interface Arrival {
  readonly key: string;
  /** Undefined for an unreadable date. */
  readonly instantMs: number | undefined;
}

export type PageKeys = Omit<Extract<PageAnswer, { kind: 'page' }>, 'kind'>;

/** A row of columns takes about as many bytes. */
const charsPerRow = 330;
const textFields = measureFields.filter(({ kind }) => kind === 'string').map(({ name }) => name);

export class RecordCounter {
  readonly #window: Window;
  readonly #secrets: Secrets;
  readonly #calendar: ProductionCalendar;
  /** One place for each record key, on whatever pages it came; the last arrival wins. */
  readonly #places = new Map<string, Place>();
  readonly #rows = new RowColumnsBuilder();
  /** Names of the extra fields of rows, by their place. */
  readonly #extraFields = new Map<number, readonly string[]>();
  #lastNames: readonly string[] = [];
  #read = 0;
  /** Characters of the texts of records, as they came first. */
  #textChars = 0;
  #hasPlainPages = true;

  /** `secrets`: what no notice may show, not even as the name of a field. */
  constructor(window: Window, calendar: ProductionCalendar, secrets: Secrets) {
    this.#window = window;
    this.#secrets = secrets;
    this.#calendar = calendar;
  }

  /** Records in memory. */
  get rowCount(): number {
    return this.#places.size;
  }

  /** The records in memory and their texts, in rows without a text. */
  get heldRows(): number {
    return this.#places.size + Math.floor(this.#textChars / charsPerRow);
  }

  /**
   * Adds the page that answers the request for the window `requested`. Up to `again` repeated records were requested again on purpose
   * and do not count as read. Returns a key for each record, with its date when that has changed.
   */
  add(page: RecordPage, requested: Window, again: number): PageKeys {
    const countBefore = this.#places.size;
    const around = aroundOf(requested);
    let isBeyond = false;
    if (Array.isArray(page.records)) this.#rows.reserve(Math.min(page.records.length, mostReserved));
    const keys: string[] = [];
    for (const raw of page.records) {
      const { key, instantMs } = this.#addPlain(raw) ?? this.#addChecked(raw, page.textOf(keys.length));
      isBeyond ||= instantMs !== undefined && !isInside(around, instantMs);
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
    const countBefore = this.#places.size;
    const first = this.#rows.next;
    const xids = readPlainPage(bytes, this.#rows, this.#calendar, mostRecords);
    this.#hasPlainPages = xids !== undefined;
    if (xids === undefined) return undefined;
    const around = aroundOf(requested);
    let isBeyond = false;
    const take = (xid: string, place: number): string => {
      const instantMs = this.#rows.block.instantsMs[place] ?? 0;
      isBeyond ||= !isInside(around, instantMs);
      return this.#takeIn(xid, place, instantMs);
    };
    // A page begins with rows that came before or lie outside the window: those behind them move up at once.
    const passed = this.#countWithoutPlace(xids, first);
    const keys = xids.slice(0, passed).map((xid, index) => take(xid, first + index));
    const rest = xids.slice(passed);
    this.#rows.block.moveRows(first + passed, first, rest.length);
    for (const [index, xid] of rest.entries()) keys.push(take(xid, first + index));
    this.#countRead(keys.length, countBefore, again);
    return { keys, isBeyond };
  }

  /** Rows at the start of a page that take no new place. */
  #countWithoutPlace(xids: readonly string[], first: number): number {
    const { instantsMs } = this.#rows.block;
    const count = xids.findIndex(
      (xid, index) =>
        typeof this.#places.get(xid) !== 'number' && isInside(this.#window, instantsMs[first + index] ?? 0),
    );
    return count < 0 ? xids.length : count;
  }

  /** Takes in the row that was written to the place `from`, not before the place behind the last row. */
  #takeIn(key: string, from: number, instantMs: number): string {
    const before = this.#places.get(key);
    const beforeMs = this.#instantAt(before);
    if (!isInside(this.#window, instantMs)) return this.#settle(key, before, beforeMs, 'outside');
    const place = typeof before === 'number' ? before : this.#rows.next;
    if (place !== from) this.#rows.block.copyRow(from, place);
    this.#rows.put(place);
    if (before === undefined) for (const texts of this.#rows.block.texts) this.#textChars += lengthOf(texts[place]);
    if (this.#extraFields.size > 0) this.#extraFields.delete(place);
    return this.#settle(key, before, beforeMs, place);
  }

  #countRead(records: number, countBefore: number, again: number): void {
    const repeated = records - (this.#places.size - countBefore);
    this.#read += records - Math.min(again, repeated);
  }

  /** Undefined for a record that needs the full check, which then takes the same place. */
  #addPlain(raw: unknown): Arrival | undefined {
    if (!isRecord(raw) || typeof raw['xid'] !== 'string') return undefined;
    const key = raw['xid'].toLowerCase();
    const before = this.#places.get(key);
    const beforeMs = this.#instantAt(before);
    const place = typeof before === 'number' ? before : this.#rows.next;
    const instantMs = writePlainRecord(raw, this.#calendar, this.#rows.block, place);
    if (instantMs === undefined) return undefined;
    if (!isInside(this.#window, instantMs)) return { key: this.#settle(key, before, beforeMs, 'outside'), instantMs };
    this.#rows.put(place);
    if (before === undefined) for (const name of textFields) this.#textChars += lengthOf(raw[name]);
    if (this.#extraFields.size > 0) this.#extraFields.delete(place);
    return { key: this.#settle(key, before, beforeMs, place), instantMs };
  }

  #addChecked(raw: unknown, text: RecordText): Arrival {
    const checked = checkRecord(raw, this.#calendar, text);
    const key = keyOf(checked);
    const before = this.#places.get(key);
    const beforeMs = this.#instantAt(before);
    const { instantMs } = checked.kind === 'row' ? checked.row : checked;
    // A record without a readable date counts as inside: it may belong to the window.
    const isIn = instantMs === undefined || isInside(this.#window, instantMs);
    const place = isIn ? this.#placeOf(checked, before) : 'outside';
    if (place !== 'outside' && before === undefined) this.#textChars += textChars(checked);
    return { key: this.#settle(key, before, beforeMs, place), instantMs };
  }

  #placeOf(checked: CheckedRecord, before: Place | undefined): Place {
    if (checked.kind === 'quarantined') return checked;
    const place = typeof before === 'number' ? before : this.#rows.next;
    this.#rows.putRow(place, checked.row, checked.defaulted);
    this.#extraFields.delete(place);
    if (checked.extraFields.length > 0) this.#extraFields.set(place, this.#shared(checked.extraFields));
    return place;
  }

  /** The same list for all rows with these extra fields: a service that sends one sends it with every record. */
  #shared(names: readonly string[]): readonly string[] {
    if (names.length !== this.#lastNames.length || names.some((name, index) => name !== this.#lastNames[index]))
      this.#lastNames = names;
    return this.#lastNames;
  }

  /** Notes the place of a key. Returns the key, with the date when that has changed. */
  #settle(key: string, before: Place | undefined, beforeMs: number | undefined, place: Place): string {
    if (before !== place) this.#places.set(key, place);
    if (typeof before === 'number' && before !== place) {
      this.#rows.drop(before);
      this.#extraFields.delete(before);
    }
    const afterMs = this.#instantAt(place);
    return before === undefined || beforeMs === afterMs ? key : `${key} ${afterMs}`;
  }

  /** Instant of a record; undefined outside the window and for an unreadable date. */
  #instantAt(place: Place | undefined): number | undefined {
    if (typeof place === 'number') return this.#rows.block.instantsMs[place];
    return typeof place === 'object' ? place.instantMs : undefined;
  }

  /** The result of the read. Call it once, when all pages have come. */
  reading(requests: number, notices: readonly string[]): Omit<WindowReading, 'paging' | 'isVerified'> {
    const quarantined: QuarantinedRecord[] = [];
    let outsideWindow = 0;
    for (const place of this.#places.values()) {
      if (place === 'outside') outsideWindow += 1;
      else if (typeof place === 'object') quarantined.push(place.record);
    }
    const counts = {
      read: this.#read,
      repeated: this.#read - this.#places.size,
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
