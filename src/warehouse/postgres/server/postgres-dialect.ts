/** SQL that PostgreSQL writes in its own way (../../sql/session.ts). */
import type { SqlDialect, SqlType } from '../../sql/session.ts';
import { storableText } from './wire-values.ts';

/** Text is in the order of its bytes here as well, whatever the order of the database. */
function typeOf(type: SqlType): string {
  return type === 'VARCHAR' ? 'VARCHAR COLLATE "C"' : type;
}

export const postgresDialect: SqlDialect = {
  each: (parameter, type) =>
    `CAST(json_array_elements_text(${parameter}::JSON) AS ${type})${type === 'VARCHAR' ? ' COLLATE "C"' : ''}`,
  relation: (parameter, fields) => {
    const columns = Object.entries(fields).map(([name, type]) => `"${name}" ${typeOf(type)}`);
    return `(SELECT * FROM json_to_recordset(${parameter}::JSON) AS each (${columns.join(', ')}))`;
  },
  members: (json) =>
    `(SELECT name, value, place FROM json_each_text(${json}) WITH ORDINALITY AS each (name, value, place))`,
  items: (json) =>
    `(SELECT value, place FROM json_array_elements_text(${json}) WITH ORDINALITY AS each (value, place))`,
  textAt: (json, names) => `(${json} #>> ARRAY[${names.map((name) => `'${name.replaceAll("'", "''")}'`).join(', ')}])`,
  // JSONB puts names in an order of its own: most often there is nothing to merge with.
  merged: (base, changes) =>
    `CASE WHEN ${base} IS NULL THEN ${changes} ELSE CAST(CAST(${base} AS JSONB) || CAST(${changes} AS JSONB) AS JSON) END`,
  eachMonth: (first, last) =>
    `CAST(generate_series(date_trunc('month', ${first}), ${last}, INTERVAL '1 month') AS DATE)`,
  bitCount: (number) => `CAST(bit_count(CAST(CAST(${number} AS BIGINT) AS BIT(64))) AS INTEGER)`,
  highestBit: (number) => `(64 - position('1' IN CAST(CAST(CAST(${number} AS BIGINT) AS BIT(64)) AS TEXT)))`,
  temporaryTable: (name, columns) =>
    `CREATE TEMP TABLE ${name} (${columns.replaceAll('VARCHAR', typeOf('VARCHAR'))}) ON COMMIT DROP`,
  // An index finds them.
  amongKeys: () => 'true',
  rowLock: (mode) => (mode === 'update' ? 'FOR UPDATE' : 'FOR SHARE'),
  clock: 'clock_timestamp()',
  rowId: 'ctid',
  rowIdType: 'TID',
  stored: (text) => storableText(text).toWellFormed(),
};
