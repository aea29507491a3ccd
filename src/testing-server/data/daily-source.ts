/** The port to daily production, and a source of rows made by a test. */
import { type GivenRecord, rowFromText, type WellRow } from './daily-row.ts';
import { WellRows } from './well-rows.ts';

/**
 * Wells by uwi with their rows. A source never changes: edits while the server runs are kept over it (daily-store.ts).
 */
export interface DailySource {
  readonly uwis: readonly string[];
  rowCount(uwi: string): number;
  /** Rows of a uwi of {@link uwis}; cheap to call again. */
  rows(uwi: string): WellRows;
}

/**
 * A source of the given rows, valid or not; `uwis` adds wells without rows. Throws TypeError for a record without a
 * uwi.
 */
export function givenDaily(records: Iterable<GivenRecord>, uwis: Iterable<string> = []): DailySource {
  return sourceOf(
    Array.from(records, (record) => rowFromText(JSON.stringify(record))),
    uwis,
  );
}

export function sourceOf(rows: Iterable<WellRow>, uwis: Iterable<string> = []): DailySource {
  const wells = new Map(Array.from(uwis, (uwi) => [uwi, new WellRows([])]));
  for (const [uwi, ofWell] of grouped(rows, (row) => row.uwi))
    wells.set(uwi, new WellRows(ofWell.map(({ row }) => row)));
  const rowsOf = (uwi: string): WellRows => wells.get(uwi) ?? new WellRows([]);
  return { uwis: [...wells.keys()], rows: rowsOf, rowCount: (uwi) => rowsOf(uwi).count };
}

export function grouped<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
