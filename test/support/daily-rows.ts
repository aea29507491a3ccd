/** Rows of daily production as objects with their day as text, to and from the columns of a window. */
import { type RowColumns, RowColumnsBuilder } from '../../src/core/daily/row-columns.ts';
import { type DailyProductionRow, type Measure, xidText } from '../../src/core/daily/row.ts';
import { dayNumber, dayText } from '../../src/core/time/production-day.ts';

/** `day` is YYYY-MM-DD. */
export type DatedRow = Omit<DailyProductionRow, 'day'> & { readonly day: string };

export function columnsOf(rows: readonly DatedRow[]): RowColumns {
  const builder = new RowColumnsBuilder();
  for (const row of rows) builder.putRow(builder.next, { ...row, day: dayNumber(row.day) });
  return builder.rows();
}

export function rowsOf(columns: RowColumns): readonly DatedRow[] {
  const { measures } = columns;
  return Array.from({ length: columns.length }, (_, row) => ({
    xid: xidText(columns.xids, row),
    instantMs: columns.instantsMs[row] ?? Number.NaN,
    day: dayText(columns.days[row] ?? Number.NaN),
    measures: measures.map((column) => measureAt(column, row)),
    extras: columns.extras.get(row) ?? null,
  }));
}

function measureAt(column: RowColumns['measures'][number], row: number): Measure {
  if (column.kind === 'string') return column.values[row] ?? null;
  const value = column.values[row];
  if (value === undefined || column.nulls?.[row] === 1) return null;
  return column.kind === 'boolean' ? value === 1 : value;
}
