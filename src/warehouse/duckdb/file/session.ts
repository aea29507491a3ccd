/** The side of DuckDB that the stores of src/warehouse/sql speak to. */
import type {
  DuckDBConnection,
  DuckDBTimestampTZValue as TimestampTZValue,
  DuckDBType,
  DuckDBValue,
} from '@duckdb/node-api';
import { dayNumber } from '../../../core/time/day-number.ts';
import { JsonText } from '../../sql/json-text.ts';
import type { SqlDialect, SqlSession, SqlValue } from '../../sql/session.ts';
import { appendRows } from './append-rows.ts';
import { isAmongKeys } from './bounds.ts';
import { DuckDBDateValue, DuckDBTimestampTZValue, DuckDBTypeId } from './engine.ts';
import { readRows, relationOf, runStatement, streamRows } from './sql.ts';

/** One transaction writes at a time, and every one is fenced: no row needs a lock. */
const dialect: SqlDialect = {
  each: (parameter, type) => `unnest(from_json(${parameter}::JSON, '["${type}"]'))`,
  relation: relationOf,
  members: (json) => `(SELECT key AS name, value->>'$' AS value, id AS place FROM json_each(${json}))`,
  items: (json) => `(SELECT value->>'$' AS value, id AS place FROM json_each(${json}))`,
  textAt: (json, names) => `json_extract_string(${json}, '${pathOf(names)}')`,
  merged: (base, changes) => `json_merge_patch(coalesce(${base}, '{}'), ${changes})`,
  eachMonth: (first, last) => `unnest(generate_series(date_trunc('month', ${first}), ${last}, INTERVAL 1 MONTH))::DATE`,
  bitCount: (number) => `bit_count(${number})::INTEGER`,
  highestBit: (number) => `floor(log2(${number}))::INTEGER`,
  temporaryTable: (name, columns) => `CREATE OR REPLACE TEMP TABLE ${name} (${columns})`,
  amongKeys: isAmongKeys,
  rowLock: () => '',
  clock: 'now()',
  rowId: 'rowid',
  rowIdType: 'BIGINT',
  stored: (text) => text.toWellFormed(),
};

/** A JSON path, within a text of SQL. */
function pathOf(names: readonly string[]): string {
  return `$.${names.map((name) => `"${name}"`).join('.')}`.replaceAll("'", "''");
}

export function sessionOf(connection: DuckDBConnection): SqlSession {
  return {
    dialect,
    rows: (sql, values) => readRows(connection, sql, bound(values)),
    stream: (sql, values) => streamRows(connection, sql, bound(values)),
    run: async (sql, values) => (await runStatement(connection, sql, bound(values))).rowsChanged,
    append: (table, columns, records) =>
      appendRows(
        connection,
        table,
        records,
        Object.values(columns).map((valueOf) => (record, type) => storedValue(valueOf(record), type)),
      ),
  };
}

function bound(values: readonly SqlValue[] = []): DuckDBValue[] {
  return values.map((value) => {
    if (value instanceof Date) return instantOf(value);
    return value instanceof JsonText ? value.text : value;
  });
}

/** A value in the form that a column of the type takes. */
function storedValue(value: SqlValue, { typeId }: DuckDBType): DuckDBValue {
  if (value instanceof Date) return instantOf(value);
  if (value instanceof JsonText) return value.text;
  if (typeId === DuckDBTypeId.BIGINT && typeof value === 'number') return BigInt(value);
  if (typeId === DuckDBTypeId.DATE && typeof value === 'string') return new DuckDBDateValue(dayNumber(value));
  return value;
}

function instantOf(value: Date): TimestampTZValue {
  return new DuckDBTimestampTZValue(BigInt(value.getTime()) * 1_000n);
}
