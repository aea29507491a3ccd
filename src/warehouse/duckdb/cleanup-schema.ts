/**
 * Owns the step of the schema that makes the tables of a cleanup. Rows of the audit are only ever added, in the order of
 * their seq; `deletion_audit_head` says where it ends, so that missing last rows are found.
 */
export const cleanupSchema: readonly string[] = [
  `CREATE TABLE cleanup_plan (plan_id VARCHAR PRIMARY KEY, digest VARCHAR NOT NULL, service_url VARCHAR NOT NULL,
     selection VARCHAR, created_by VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL, counts JSON NOT NULL, run_id VARCHAR,
     applied_by VARCHAR, applied_at TIMESTAMPTZ)`,
  `CREATE TABLE cleanup_target (plan_id VARCHAR, ordinal INTEGER, kind VARCHAR, owner_id VARCHAR, source_id VARCHAR,
     sighting VARCHAR, content_type VARCHAR, body VARCHAR, produced_on DATE)`,
  `CREATE TABLE deletion_audit (seq BIGINT, noted_at TIMESTAMPTZ, event VARCHAR, run_id VARCHAR, plan_id VARCHAR, unit INTEGER,
     requested_by VARCHAR, service_url VARCHAR, kind VARCHAR, owner_id VARCHAR, source_id VARCHAR, outcome VARCHAR,
     answer INTEGER, words VARCHAR, verification VARCHAR, previous_hash VARCHAR, hash VARCHAR)`,
  `CREATE TABLE deletion_audit_head (rows BIGINT NOT NULL, hash VARCHAR NOT NULL)`,
];
