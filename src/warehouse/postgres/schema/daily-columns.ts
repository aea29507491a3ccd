/** Columns of the daily production tables in PostgreSQL, from core's list of measure fields. */
import { measureFields, type FieldKind } from '../../../core/daily/row.ts';

/** Text is in the order of its bytes, as in DuckDB, whatever the order of the database. */
export const textType = 'TEXT COLLATE "C"';

const sqlTypes: Readonly<Record<FieldKind, string>> = {
  double: 'DOUBLE PRECISION',
  int32: 'INTEGER',
  string: textType,
  boolean: 'BOOLEAN',
};

interface Column {
  readonly name: string;
  readonly type: string;
}

/** One for each measure field, in its order: rows enter by position. */
const measureColumns: readonly Column[] = measureFields.map(({ column, kind }) => ({
  name: column,
  type: sqlTypes[kind],
}));

/** All fields of a row but its xid. `extras` keeps the text that came; JSONB would lose or refuse some of it. */
export const valueColumns: readonly Column[] = [
  { name: 'date', type: 'TIMESTAMPTZ' },
  { name: 'production_day', type: 'DATE' },
  ...measureColumns,
  { name: 'extras', type: 'JSON' },
];

/** A row of the service. */
export const serviceColumns: readonly Column[] = [{ name: 'xid', type: 'UUID' }, ...valueColumns];

/** `name TYPE, name TYPE`: for a CREATE TABLE. */
export function declared(columns: readonly Column[]): string {
  return columns.map(({ name, type }) => `${name} ${type}`).join(', ');
}

/** `name, name`, or `alias.name, alias.name`. */
export function named(columns: readonly Column[], alias?: string): string {
  return columns.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(', ');
}
