/** Columns of daily production, from core's list of measure fields; an engine says its types. */
import { measureFields } from '../../../core/daily/row.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
}

/** What an engine calls the types of columns; the others have one name in both. */
export interface ColumnTypes {
  readonly text: string;
  readonly double: string;
}

/**
 * What the service sends of a day, without the well; rows enter the database by position. All but the xid is compared,
 * updated and kept in the history. `extras` keeps the text that came; PostgreSQL's JSONB would lose or refuse some of it.
 */
export function serviceColumnsOf({ text, double }: ColumnTypes): readonly Column[] {
  const types = { double, int32: 'INTEGER', string: text, boolean: 'BOOLEAN' };
  return [
    { name: 'xid', type: 'UUID' },
    { name: 'date', type: 'TIMESTAMPTZ' },
    { name: 'production_day', type: 'DATE' },
    ...measureFields.map(({ column, kind }) => ({ name: column, type: types[kind] })),
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
