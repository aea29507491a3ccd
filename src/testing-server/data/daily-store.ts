/** The current daily production: its source, and the changes made while the server runs. */
import { type DailyRow, rowFromText } from './daily-row.ts';
import { type DailySource, grouped } from './daily-source.ts';
import { WellRows } from './well-rows.ts';

/** A row to insert or replace by its xid, or an xid to remove. */
export type DailyChange =
  | { readonly uwi: string; readonly row: DailyRow }
  | { readonly uwi: string; readonly remove: string };

export interface ChangeCounts {
  readonly upserted: number;
  readonly removed: number;
  /** Removals of rows that did not exist. */
  readonly unknown: number;
}

/** A change as a JSON line: a record with its `uwi`, or `{"uwi":…,"remove":xid}`. Throws SyntaxError or TypeError. */
export function changeFromText(text: string): DailyChange {
  const change = JSON.parse(text) as Partial<Record<string, unknown>> | null;
  if (typeof change?.['uwi'] === 'string' && typeof change['remove'] === 'string') {
    return { uwi: change['uwi'], remove: change['remove'] };
  }
  return rowFromText(text);
}

export class DailyStore {
  readonly #source: DailySource;
  readonly #known: ReadonlySet<string>;
  readonly #changed = new Map<string, WellRows>();

  constructor(source: DailySource) {
    this.#source = source;
    this.#known = new Set(source.uwis);
  }

  uwis(): string[] {
    return [...new Set([...this.#known, ...this.#changed.keys()])];
  }

  has(uwi: string): boolean {
    return this.#known.has(uwi) || this.#changed.has(uwi);
  }

  /** Rows of a well; undefined for an unknown well. */
  rows(uwi: string): WellRows | undefined {
    return this.#changed.get(uwi) ?? (this.#known.has(uwi) ? this.#source.rows(uwi) : undefined);
  }

  rowCount(): number {
    return this.uwis().reduce((sum, uwi) => sum + (this.#changed.get(uwi)?.count ?? this.#source.rowCount(uwi)), 0);
  }

  /** Applies the changes in order. A row of an unknown well adds the well. */
  change(changes: readonly DailyChange[]): ChangeCounts {
    const total = { upserted: 0, removed: 0, unknown: 0 };
    for (const [uwi, ofWell] of grouped(changes, (change) => change.uwi)) {
      const counts = this.#changeWell(uwi, ofWell);
      total.upserted += counts.upserted;
      total.removed += counts.removed;
      total.unknown += counts.unknown;
    }
    return total;
  }

  /** Discards every change. */
  reset(): void {
    this.#changed.clear();
  }

  #changeWell(uwi: string, changes: readonly DailyChange[]): ChangeCounts {
    const counts = { upserted: 0, removed: 0, unknown: 0 };
    const byXid = grouped(this.rows(uwi)?.rows() ?? [], (row) => row.xid);
    for (const change of changes) {
      if ('row' in change) {
        byXid.set(change.row.xid, [change.row]);
        counts.upserted += 1;
      } else if (byXid.delete(change.remove)) counts.removed += 1;
      else counts.unknown += 1;
    }
    if (counts.upserted + counts.removed > 0) this.#changed.set(uwi, new WellRows([...byXid.values()].flat()));
    return counts;
  }
}
