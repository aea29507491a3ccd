/** Columns of what the service sends, from core's lists of fields; an engine says its types. */
import type { ValueKind } from '../../../core/definitions/record-list.ts';
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

/** The type of a column by the kind of its values, in a CREATE TABLE and in a cast. */
export function typesOf({ text, double }: ColumnTypes): Readonly<Record<ValueKind, string>> {
  return { double, int32: 'INTEGER', string: text, boolean: 'BOOLEAN', uuid: 'UUID' };
}

/** Names that both engines take. */
export const commonTypes: ColumnTypes = { text: 'VARCHAR', double: 'DOUBLE PRECISION' };

/**
 * What the service sends of a day, without the well; rows enter the database by position. All but the xid is compared,
 * updated and kept in the history. `extras` keeps the text that came; PostgreSQL's JSONB would lose or refuse some of it.
 */
export function serviceColumnsOf(engine: ColumnTypes): readonly Column[] {
  const types = typesOf(engine);
  return [
    { name: 'xid', type: types.uuid },
    { name: 'date', type: 'TIMESTAMPTZ' },
    { name: 'production_day', type: 'DATE' },
    ...measureFields.map(({ column, kind }) => ({ name: column, type: types[kind] })),
    { name: 'extras', type: 'JSON' },
  ];
}

/**
 * SQL of a rate for a sum, 0 where it is not known: a sum of what a service sends must not exceed what an engine holds, which
 * would keep a run from its end.
 */
export function summable(rate: string): string {
  return `least(greatest(coalesce(${rate}, 0), -1e290), 1e290)`;
}

/** `name TYPE, name TYPE`: for a CREATE TABLE. */
export function declared(columns: readonly Column[]): string {
  return columns.map(({ name, type }) => `${name} ${type}`).join(', ');
}

/** `name, name`, or `alias.name, alias.name`. */
export function named(columns: readonly Column[], alias?: string): string {
  return columns.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(', ');
}

/** The conflicting day `c` of the record `d`, which most records lack, for a join; and whether the record counts on its day. */
export const conflictOfRecord = `LEFT JOIN internal.conflicting_day c
  ON c.well_id = d.well_id AND c.production_day = d.production_day`;
export const doesCount = 'coalesce(c.xid = d.xid, true)';
export const counts = `${doesCount} AS counts`;
