/** Columns of the daily production tables, from core's list of measure fields; an engine says its types. */
import { measureFields, type FieldKind } from '../../../core/daily/row.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
}

/** One for each measure field, in its order: rows enter the database by position. */
export function measureColumnsOf(types: Readonly<Record<FieldKind, string>>): readonly Column[] {
  return measureFields.map(({ column, kind }) => ({ name: column, type: types[kind] }));
}

/**
 * All fields of a row but its xid: they are compared, updated and kept in the history. `extras` keeps the text that came;
 * PostgreSQL's JSONB would lose or refuse some of it.
 */
export function valueColumnsOf(measures: readonly Column[]): readonly Column[] {
  return [
    { name: 'date', type: 'TIMESTAMPTZ' },
    { name: 'production_day', type: 'DATE' },
    ...measures,
    { name: 'extras', type: 'JSON' },
  ];
}

/** `name TYPE, name TYPE`: for a CREATE TABLE. */
export function declared(columns: readonly Column[]): string {
  return columns.map(({ name, type }) => `${name} ${type}`).join(', ');
}

/** `name, name`, or `alias.name, alias.name`. */
export function named(columns: readonly Column[], alias?: string): string {
  return columns.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(', ');
}
