/** Schedules with their last tick and last run, and the revision of the configuration that they are of, in at most one row. */
export const scheduleSchema: readonly string[] = [
  `CREATE TABLE schedule (name VARCHAR PRIMARY KEY, definition VARCHAR NOT NULL, since TIMESTAMPTZ NOT NULL,
     paused_at TIMESTAMPTZ, paused_by VARCHAR, due_at TIMESTAMPTZ, outcome VARCHAR, words VARCHAR, run_id VARCHAR,
     last_run_id VARCHAR)`,
  `CREATE TABLE schedule_revision (revision BIGINT NOT NULL, applied_at TIMESTAMPTZ NOT NULL)`,
];
