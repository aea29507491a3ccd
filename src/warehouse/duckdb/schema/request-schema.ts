/**
 * Part of schema version 6: what a run was requested for, so that the same work is not started twice, and when it was
 * queued again.
 */
export const requestSchema: readonly string[] = [
  // Null in the runs of earlier versions, which are the same as none.
  `ALTER TABLE run ADD COLUMN request_key VARCHAR`,
  // Null in a run that was never retried.
  `ALTER TABLE run ADD COLUMN reopened_at TIMESTAMPTZ`,
  // Null in a run that was never retried, and where nobody was named.
  `ALTER TABLE run ADD COLUMN reopened_by VARCHAR`,
];
