/** Owns the columns of the daily production tables in DuckDB: written once, from core's list of measure fields. */
import { measureFields, type FieldKind } from '../../core/daily-production.ts';

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

/** One for each measure field, in its order: where rows cross into the database, position is what counts. */
export const measureColumns: readonly Column[] = measureFields.map(({ column, kind }) => ({
  name: column,
  type: sqlTypes[kind],
}));

/** Everything that the service says of a row but its xid: what a comparison compares, an update sets and the history keeps. */
export const valueColumns: readonly Column[] = [
  { name: 'date', type: 'TIMESTAMPTZ' },
  { name: 'production_day', type: 'DATE' },
  ...measureColumns,
  { name: 'extras', type: 'JSON' },
];

/** A row as the service has it, with the well that it belongs to. */
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
