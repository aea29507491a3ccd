/**
 * Collects and counts the records of one read while its pages arrive. Every record counts in exactly one place (G2).
 */
import { checkRecord, type CheckedRecord } from '../core/daily/record-check.ts';
import type { PageAnswer } from '../core/paging/page.ts';
import type { DailyProductionRow, QuarantinedRecord } from '../core/daily/row.ts';
import type { ProductionCalendar } from '../core/time/production-day.ts';
import type { WindowReading } from '../core/daily/reading.ts';
import type { Secrets } from '../core/base/secrets.ts';
import { cleanedExcerpt } from './cleaned-excerpt.ts';
import { DAY_MS, isInside, type Window } from '../core/time/window.ts';
import type { RecordPage } from './record-page.ts';

/**
 * Place of a record: the row or the checked record inside the window; `outside` when its date is not inside. A plain
 * row, without defaults and extra fields, is stored alone to save memory: 60 years are 22,000 of them (G8).
 */
type Place = DailyProductionRow | CheckedRecord | 'outside';

type PageKeys = Omit<Extract<PageAnswer, { kind: 'page' }>, 'kind'>;

export class RecordCounter {
  readonly #window: Window;
  readonly #secrets: Secrets;
  readonly #calendar: ProductionCalendar;
  /** One place for each record key, on whatever pages it came; the last arrival wins. */
  readonly #places = new Map<string, Place>();
  #read = 0;

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

  /**
   * Adds the page that answers the request for the window `requested`. Up to `again` repeated records were requested again on purpose
   * and do not count as read. Returns a key for each record, with its date when that has changed.
   */
  add(page: RecordPage, requested: Window, again: number): PageKeys {
    const countBefore = this.#places.size;
    const around = { fromMs: requested.fromMs - DAY_MS, toMs: requested.toMs + DAY_MS };
    let isBeyond = false;
    const keys: string[] = [];
    for (const raw of page.records) {
      const checked = checkRecord(raw, this.#calendar, page.textOf(keys.length));
      const instantMs = instantOf(checked);
      isBeyond ||= instantMs !== undefined && !isInside(around, instantMs);
      keys.push(this.#put(checked));
    }
    const repeated = keys.length - (this.#places.size - countBefore);
    this.#read += keys.length - Math.min(again, repeated);
    return { keys, isBeyond };
  }

  #put(checked: CheckedRecord): string {
    const key = keyOf(checked);
    const before = this.#places.get(key);
    const place = this.#placeOf(checked);
    this.#places.set(key, place);
    const instantMs = instantOf(place);
    return before === undefined || instantOf(before) === instantMs ? key : `${key} ${instantMs}`;
  }

  #placeOf(checked: CheckedRecord): Place {
    if (!this.#isInside(checked)) return 'outside';
    const isPlain = checked.kind === 'row' && !checked.defaulted && checked.extraFields.length === 0;
    return isPlain ? checked.row : checked;
  }

  /** A record without a readable date counts as inside: it may belong to the window. */
  #isInside(checked: CheckedRecord): boolean {
    const instantMs = instantOf(checked);
    return instantMs === undefined || isInside(this.#window, instantMs);
  }

  /** The result of the read. Call it when all pages have come. */
  reading(requests: number, notices: readonly string[]): Omit<WindowReading, 'paging'> {
    const rows: DailyProductionRow[] = [];
    const quarantined: QuarantinedRecord[] = [];
    const extraFields = new Set<string>();
    let defaulted = 0;
    let outsideWindow = 0;
    for (const place of this.#places.values()) {
      if (place === 'outside') {
        outsideWindow += 1;
      } else if (!('kind' in place)) {
        rows.push(place);
      } else if (place.kind === 'quarantined') {
        quarantined.push(place.record);
      } else {
        rows.push(place.row);
        if (place.defaulted) defaulted += 1;
        for (const name of place.extraFields) extraFields.add(name);
      }
    }
    const counts = {
      read: this.#read,
      repeated: this.#read - this.#places.size,
      outsideWindow,
      quarantined: quarantined.length,
      defaulted,
      requests,
    };
    return { rows, quarantined, counts, notices: [...notices, ...extrasNotice(extraFields, this.#secrets)] };
  }
}

/** Instant of a record; undefined outside the window and for an unreadable date. */
function instantOf(place: Place): number | undefined {
  if (place === 'outside') return undefined;
  return 'kind' in place && place.kind === 'row' ? place.row.instantMs : place.instantMs;
}

/** Key of a record: its xid, or its text when the xid cannot be read, so that the same page again has no new key. */
export function keyOf(checked: CheckedRecord): string {
  return checked.kind === 'row' ? checked.row.xid : (checked.record.xid ?? checked.record.raw);
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
