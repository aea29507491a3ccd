/**
 * Schema version 7: what a feed was told. A mark is new each time a month is touched, so that a publication takes away the
 * marks that it saw and no later one. A version in the history gets its number with the first publication that names it.
 */
export const feedSchema: readonly string[] = [
  // No default: DuckDB cannot read one that calls a function back out of its log after a kill, and would open no more.
  `ALTER TABLE feed_month ADD COLUMN mark UUID`,
  `UPDATE feed_month SET mark = gen_random_uuid()`,
  `ALTER TABLE daily_production_history ADD COLUMN restatement_no BIGINT`,
  // At most one row, which the first publication inserts.
  `CREATE TABLE feed (feed_id VARCHAR, version BIGINT NOT NULL, last_restatement BIGINT NOT NULL, holder VARCHAR,
     held_until TIMESTAMPTZ)`,
];
