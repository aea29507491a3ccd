/** The stored rows of some days of wells, for the checks: by columns, as few as they need. */
import { readDays } from '../../../core/checks/evaluate.ts';
import { daysOfRows, valuesBy } from '../../../core/checks/counted-days.ts';
import { checkedFields, codeField, columnOfField, type WellDays } from '../../../core/checks/well-days.ts';
import type { DailyTables } from '../daily/daily-tables.ts';
import { conflictOfRecord, doesCount } from '../daily/row-fields.ts';
import { epochMs, numberOfDay } from '../session.ts';
import type { TouchedWell } from './touched-wells.ts';

/** Rows that are in memory at one time (G8): some 3 MB. */
const mostRows = 20_000;

/** Parts of the wells of which no more rows are expected than may be in memory; a well is in one of them. */
export function partsOfWells(wells: readonly TouchedWell[]): ReadonlyArray<readonly TouchedWell[]> {
  const parts: TouchedWell[][] = [];
  let rows = Infinity;
  for (const well of wells) {
    const { fromDay, toDay } = readDays(well);
    const expected = well.rows ?? toDay - fromDay + 1;
    if (rows + expected > mostRows) {
      parts.push([]);
      rows = 0;
    }
    parts.at(-1)?.push(well);
    rows += expected;
  }
  return parts;
}

const fields = checkedFields.map(
  (field) => `coalesce(CAST(d.${columnOfField[field]} AS DOUBLE PRECISION), CAST('NaN' AS DOUBLE PRECISION))`,
);
const day = `coalesce(d.production_day, CAST(d.date AT TIME ZONE 'UTC' AS DATE))`;

/** Of each well the rows of the days on which its findings may rest, by its key; a well without one is absent. */
export async function readCheckedDays(
  tables: DailyTables,
  wells: readonly TouchedWell[],
): Promise<ReadonlyMap<number, WellDays>> {
  const ranges = wells.map((well) => ({ wellId: well.wellId, ...readDays(well) }));
  const { sql, values: bound } = tables.rowsOfDays(ranges);
  const double = (value: string): string => `CAST(${value} AS DOUBLE PRECISION)`;
  // Of two records of a day the one that counts is checked: it is the last one.
  const { numbers, texts, length } = await tables.session.columns(
    `SELECT ${double('d.well_id')}, ${double(numberOfDay(day))}, ${double(epochMs('d.date'))}, ${fields.join(', ')}, d.${columnOfField[codeField]}
     FROM ${sql} ${conflictOfRecord} ORDER BY d.well_id, ${day}, ${doesCount}, d.xid`,
    bound,
  );
  const [keys, days, instantsMs, ...columns] = numbers;
  const [codes = []] = texts;
  const found = new Map<number, WellDays>();
  for (let from = 0; from < length;) {
    const key = keys?.[from] ?? 0;
    let to = from + 1;
    while (to < length && keys?.[to] === key) to += 1;
    const slice = (column: Float64Array | undefined): Float64Array => column?.subarray(from, to) ?? new Float64Array(0);
    const ownCodes = codes.slice(from, to);
    const rows = {
      length: to - from,
      days: Int32Array.from(slice(days)),
      instantsMs: slice(instantsMs),
      values: valuesBy((field) => {
        const column = slice(columns[checkedFields.indexOf(field)]);
        return column.every(Number.isNaN) ? undefined : column;
      }),
      codes: ownCodes.some((code) => code !== null) ? ownCodes : undefined,
    };
    found.set(
      key,
      daysOfRows(rows, (row, other) => row > other),
    );
    from = to;
  }
  return found;
}
