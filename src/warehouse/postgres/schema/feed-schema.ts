/** As DuckDB's step of the same version (../../duckdb/schema/feed-schema.ts), with a turn of its own for those that publish. */
import { textType as text } from './daily-columns.ts';

export const feedSchema: readonly string[] = [
  `ALTER TABLE internal.feed_touch ADD COLUMN mark UUID NOT NULL DEFAULT gen_random_uuid()`,
  `ALTER TABLE daily_production_history ADD COLUMN restatement_no BIGINT`,
  `CREATE INDEX daily_production_history_unnumbered ON daily_production_history (noticed_at) WHERE restatement_no IS NULL`,
  `CREATE INDEX daily_production_history_number ON daily_production_history (restatement_no)`,
  `CREATE TABLE feed (feed_id ${text}, version BIGINT NOT NULL, last_restatement BIGINT NOT NULL, holder ${text},
     held_until TIMESTAMPTZ)`,
  `INSERT INTO writer_turn VALUES ('feed')`,
];
