/**
 * Rows that stay although the service no longer has them: a row a well and calendar month, and one a target of definitions.
 * `release_…`: what a person released, and the run that carries it out.
 */
export const holdSchema: readonly string[] = [
  `CREATE TABLE held_month (uwi VARCHAR, month DATE, rows_missing INTEGER NOT NULL, first_day DATE NOT NULL,
     last_day DATE NOT NULL, since TIMESTAMPTZ NOT NULL, run_id VARCHAR NOT NULL, release_run_id VARCHAR,
     release_rows INTEGER, release_first_day DATE, release_last_day DATE, PRIMARY KEY (uwi, month))`,
  `CREATE TABLE held_definition (kind VARCHAR, target VARCHAR, rows_missing INTEGER NOT NULL, since TIMESTAMPTZ NOT NULL,
     run_id VARCHAR NOT NULL, release_run_id VARCHAR, release_rows INTEGER, PRIMARY KEY (kind, target))`,
];
