/** Who retried the run of a deletion, and the digest version of its row; null in rows from before. */
export const auditRetrySchema: readonly string[] = [
  `ALTER TABLE deletion_audit ADD COLUMN retried_by VARCHAR`,
  `ALTER TABLE deletion_audit ADD COLUMN digest_version INTEGER`,
];
