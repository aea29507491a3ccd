/** SQL that PostgreSQL writes in its own way (../../sql/session.ts). */
import type { SqlDialect } from '../../sql/session.ts';

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
  textAt: (json, names) => `(${json} #>> ARRAY[${names.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')}])`,
  merged: (base, changes) => `CAST(coalesce(CAST(${base} AS JSONB), '{}') || CAST(${changes} AS JSONB) AS JSON)`,
  temporaryTable: (name, columns) => `CREATE TEMP TABLE ${name} (${columns}) ON COMMIT DROP`,
  rowLock: (mode) => (mode === 'update' ? 'FOR UPDATE' : 'FOR SHARE'),
  rowId: 'ctid',
};
