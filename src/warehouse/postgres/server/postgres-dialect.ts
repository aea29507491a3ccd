/** SQL that PostgreSQL writes in its own way (../../sql/session.ts). */
import type { SqlDialect } from '../../sql/session.ts';
import { sqlStateOf } from './server-fault.ts';

/** undefined_table, undefined_column, datatype_mismatch, cannot_coerce, undefined_function, invalid_text_representation. */
const tableFaultStates = ['42P01', '42703', '42804', '42846', '42883', '22P02'];

export const postgresDialect: SqlDialect = {
  each: (parameter, type) => `CAST(json_array_elements_text(${parameter}::JSON) AS ${type})`,
  relation: (parameter, fields) => {
    const columns = Object.entries(fields).map(([name, type]) => `"${name}" ${type}`);
    return `(SELECT * FROM json_to_recordset(${parameter}::JSON) AS each (${columns.join(', ')}))`;
  },
  members: (json) =>
    `(SELECT name, value, place FROM json_each_text(${json}) WITH ORDINALITY AS each (name, value, place))`,
  items: (json) =>
    `(SELECT value, place FROM json_array_elements_text(${json}) WITH ORDINALITY AS each (value, place))`,
  merged: (base, changes) => `CAST(coalesce(CAST(${base} AS JSONB), '{}') || CAST(${changes} AS JSONB) AS JSON)`,
  temporaryTable: (name, columns) => `CREATE TEMP TABLE ${name} (${columns}) ON COMMIT DROP`,
  rowLock: (mode) => (mode === 'update' ? 'FOR UPDATE' : 'FOR SHARE'),
  rowId: 'ctid',
  tableFault: (error) =>
    error instanceof Error && tableFaultStates.includes(sqlStateOf(error) ?? '') ? error.message : undefined,
};
