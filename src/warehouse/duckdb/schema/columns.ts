/** Columns of the daily production tables in DuckDB, from core's list of measure fields. */
import { measureFields, type FieldKind } from '../../../core/daily/row.ts';

const sqlTypes: Readonly<Record<FieldKind, string>> = {
  double: 'DOUBLE',
  int32: 'INTEGER',
  string: 'VARCHAR',
  boolean: 'BOOLEAN',
};

interface Column {
  readonly name: string;
  readonly type: string;
}

/** One for each measure field, in its order: rows enter the database by position. */
export const measureColumns: readonly Column[] = measureFields.map(({ column, kind }) => ({
  name: column,
  type: sqlTypes[kind],
}));

/** All fields of a row but its xid: they are compared, updated and kept in the history. */
export const valueColumns: readonly Column[] = [
  { name: 'date', type: 'TIMESTAMPTZ' },
  { name: 'production_day', type: 'DATE' },
  ...measureColumns,
  { name: 'extras', type: 'JSON' },
];

/** A row of the service, with its well. */
export const rowColumns: readonly Column[] = [
  { name: 'uwi', type: 'VARCHAR' },
  { name: 'xid', type: 'UUID' },
  ...valueColumns,
];

/** `name TYPE, name TYPE`: for a CREATE TABLE. */
export function declared(columns: readonly Column[]): string {
  return columns.map(({ name, type }) => `${name} ${type}`).join(', ');
}

/** `name, name`, or `alias.name, alias.name`. */
export function named(columns: readonly Column[], alias?: string): string {
  return columns.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(', ');
}
