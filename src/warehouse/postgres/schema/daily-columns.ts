/** Columns of the daily production tables in PostgreSQL. */
import { type Column, measureColumnsOf, valueColumnsOf } from '../../sql/daily/row-fields.ts';

/** Text is in the order of its bytes, as in DuckDB, whatever the order of the database. */
export const textType = 'TEXT COLLATE "C"';

export const valueColumns = valueColumnsOf(
  measureColumnsOf({ double: 'DOUBLE PRECISION', int32: 'INTEGER', string: textType, boolean: 'BOOLEAN' }),
);

/** A row of the service. */
export const serviceColumns: readonly Column[] = [{ name: 'xid', type: 'UUID' }, ...valueColumns];
