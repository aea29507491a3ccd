/** Columns of the daily production tables in DuckDB. */
import { type Column, measureColumnsOf, valueColumnsOf } from '../../sql/daily/row-fields.ts';

export const measureColumns = measureColumnsOf({
  double: 'DOUBLE',
  int32: 'INTEGER',
  string: 'VARCHAR',
  boolean: 'BOOLEAN',
});

export const valueColumns = valueColumnsOf(measureColumns);

/** A row of the service, with its well. */
export const rowColumns: readonly Column[] = [
  { name: 'uwi', type: 'VARCHAR' },
  { name: 'xid', type: 'UUID' },
  ...valueColumns,
];
