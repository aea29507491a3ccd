/** As DuckDB's step of the same version (../../duckdb/schema/hold-schema.ts). */
import { textType as text } from './daily-columns.ts';

export const holdSchema: readonly string[] = [
  `CREATE TABLE held_month (uwi ${text}, month DATE, rows_missing INTEGER NOT NULL, first_day DATE NOT NULL,
     last_day DATE NOT NULL, since TIMESTAMPTZ NOT NULL, run_id ${text} NOT NULL, release_run_id ${text},
     release_rows INTEGER, release_first_day DATE, release_last_day DATE, PRIMARY KEY (uwi, month))`,
  `CREATE TABLE held_definition (kind ${text}, target ${text}, rows_missing INTEGER NOT NULL, since TIMESTAMPTZ NOT NULL,
     run_id ${text} NOT NULL, release_run_id ${text}, release_rows INTEGER, PRIMARY KEY (kind, target))`,
];
