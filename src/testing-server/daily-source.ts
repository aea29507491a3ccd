/** Owns where daily production comes from: the port that the server reads, and the source of rows that a test makes. */
import { type GivenRecord, rowFromText, type WellRow } from './daily-row.ts';
import { grouped } from './grouped.ts';
import { WellRows } from './well-rows.ts';

/** Wells by uwi with their rows. A source never changes: what is edited while the server runs lies over it. */
export interface DailySource {
  readonly uwis: readonly string[];
  rowCount(uwi: string): number;
  /** Only for a uwi of {@link uwis}; cheap to ask again. */
  rows(uwi: string): WellRows;
}

/** The rows given, right or wrong, served as they are; `uwis` adds wells without rows. Throws TypeError on a record without a uwi. */
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
