/** Owns the account of one read while its pages come: every record that arrived is in exactly one of its places (G2). */
import { checkRecord, type CheckedRecord } from '../core/record-check.ts';
import type { DailyProductionRow, QuarantinedRecord } from '../core/daily-production.ts';
import type { ProductionCalendar } from '../core/production-day.ts';
import type { WindowReading } from '../core/reading.ts';
import { isInside, type Window } from '../core/window.ts';

/** Where a record belongs: the row or the record itself inside the window, `outside` where its date is not in there. */
type Place = CheckedRecord | 'outside';

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

  /**
   * Takes in a page; up to `again` of its records may be ones that were asked for again, which do not count as read.
   * Returns what names each record as it is now: its key, with its date.
   */
  add(records: readonly unknown[], again: number): readonly string[] {
    const before = this.#places.size;
    const names = records.map((raw) => {
      const checked = checkRecord(raw, this.#calendar);
      const key = keyOf(checked);
      this.#places.set(key, this.#isInside(checked) ? checked : 'outside');
      return checked.kind === 'row' ? `${key} ${checked.row.instantMs}` : key;
    });
    const repeated = records.length - (this.#places.size - before);
    this.#read += records.length - Math.min(again, repeated);
    return names;
  }

  /** A record whose date cannot be read is held to be inside: it may be one of the window's. */
  #isInside(checked: CheckedRecord): boolean {
    const instantMs = checked.kind === 'row' ? checked.row.instantMs : checked.instantMs;
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
