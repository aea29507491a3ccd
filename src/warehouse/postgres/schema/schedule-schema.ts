/** As DuckDB's step of the same version (../../duckdb/schema/schedule-schema.ts). */
import { textType as text } from './daily-columns.ts';

export const scheduleSchema: readonly string[] = [
  `CREATE TABLE schedule (name ${text} PRIMARY KEY, definition ${text} NOT NULL, since TIMESTAMPTZ NOT NULL,
     paused_at TIMESTAMPTZ, paused_by ${text}, due_at TIMESTAMPTZ, outcome ${text}, words ${text}, run_id ${text},
     last_run_id ${text})`,
  `CREATE TABLE schedule_revision (revision BIGINT NOT NULL, applied_at TIMESTAMPTZ NOT NULL)`,
];
