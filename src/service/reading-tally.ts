/** Owns the account of one read while its pages come: every record that arrived is in exactly one of its places (G2). */
import { checkRecord, type CheckedRecord } from '../core/record-check.ts';
import type { PageAnswer } from '../core/paging.ts';
import type { DailyProductionRow, QuarantinedRecord } from '../core/daily-production.ts';
import type { ProductionCalendar } from '../core/production-day.ts';
import type { WindowReading } from '../core/reading.ts';
import { DAY_MS, isInside, type Window } from '../core/window.ts';
import type { RecordPage } from './record-page.ts';

/**
 * Where a record belongs: the row or the record itself inside the window, `outside` where its date is not in there. A row
 * of which nothing else is to be said stands by itself: 60 years are 22,000 of them (G8).
 */
type Place = DailyProductionRow | CheckedRecord | 'outside';

type PageKeys = Omit<Extract<PageAnswer, { kind: 'page' }>, 'kind'>;

export class ReadingTally {
  readonly #window: Window;
  readonly #calendar: ProductionCalendar;
  /** One place for each record by its key, whatever pages it came on; the last arrival wins. */
  readonly #places = new Map<string, Place>();
  #read = 0;

  constructor(window: Window, calendar: ProductionCalendar) {
    this.#window = window;
    this.#calendar = calendar;
  }

  /** Records that are in memory by now. */
  get rowCount(): number {
    return this.#places.size;
  }

  /**
   * Takes in the answer to `asked`; up to `again` of its records may be ones that were asked for again, which do not count
   * as read. Each record's name is its key, and its date as well where that is not what it was.
   */
  add(page: RecordPage, asked: Window, again: number): PageKeys {
    const countBefore = this.#places.size;
    const around = { fromMs: asked.fromMs - DAY_MS, toMs: asked.toMs + DAY_MS };
    let isBeyond = false;
    const keys = page.records.map((raw, index) => {
      const checked = checkRecord(raw, this.#calendar, page.textOf(index));
      const instantMs = instantOf(checked);
      isBeyond ||= instantMs !== undefined && !isInside(around, instantMs);
      return this.#put(checked);
    });
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

  /** A record whose date cannot be read is held to be inside: it may be one of the window's. */
  #isInside(checked: CheckedRecord): boolean {
    const instantMs = instantOf(checked);
    return instantMs === undefined || isInside(this.#window, instantMs);
  }

  /** What was read, once all pages have come. */
  reading(requests: number, notices: readonly string[]): WindowReading {
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
    return { rows, quarantined, counts, notices: [...notices, ...extrasNotice(extraFields)] };
  }
}

/** Undefined outside the window, and where no date can be read. */
function instantOf(place: Place): number | undefined {
  if (place === 'outside') return undefined;
  return 'kind' in place && place.kind === 'row' ? place.row.instantMs : place.instantMs;
}

/** The xid; where that cannot be read, the record itself, so that the same page again brings nothing new. */
export function keyOf(checked: CheckedRecord): string {
  return checked.kind === 'row' ? checked.row.xid : (checked.record.xid ?? checked.record.raw);
}

const mostNamesShown = 20;

function extrasNotice(names: ReadonlySet<string>): readonly string[] {
  if (names.size === 0) return [];
  const shown = [...names].toSorted().slice(0, mostNamesShown).join(', ');
  const rest = names.size > mostNamesShown ? ` and ${names.size - mostNamesShown} more` : '';
  return [`extra fields kept in the column extras: ${shown}${rest}`];
}
