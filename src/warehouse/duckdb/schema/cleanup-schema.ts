/**
 * Schema step for cleanups. Audit rows are only ever added, in the order of their seq; `deletion_audit_head` holds the
 * end of the chain, so that missing last rows are found.
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

/**
 * A part of version 6: the hash of a selection's file, which is separate from the plan and in none of its hashes, and
 * what a plan knows of producing wells. Null in older plans.
 */
export const cleanupProducingSchema: readonly string[] = [
  `ALTER TABLE cleanup_plan ADD COLUMN selection_sha256 VARCHAR`,
  `ALTER TABLE cleanup_plan ADD COLUMN includes_producing BOOLEAN`,
  `ALTER TABLE cleanup_target ADD COLUMN doubt VARCHAR`,
];

/** Version 10: who retried the run of a deletion, and the digest version of its row; null in rows from before. */
export const auditRetrySchema: readonly string[] = [
  `ALTER TABLE deletion_audit ADD COLUMN retried_by VARCHAR`,
  `ALTER TABLE deletion_audit ADD COLUMN digest_version INTEGER`,
];
