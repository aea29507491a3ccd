/**
 * Schema version 7: what a feed was told. A mark is new each time a month is touched, so that a publication takes away the
 * marks that it saw and no later one. A version in the history gets its number with the first publication that names it.
 */
export const feedSchema: readonly string[] = [
  `ALTER TABLE feed_month ADD COLUMN mark UUID DEFAULT gen_random_uuid()`,
  `ALTER TABLE daily_production_history ADD COLUMN restatement_no BIGINT`,
  // At most one row, which the first publication inserts.
  `CREATE TABLE feed (feed_id VARCHAR, version BIGINT NOT NULL, last_restatement BIGINT NOT NULL, holder VARCHAR,
     held_until TIMESTAMPTZ)`,
];
