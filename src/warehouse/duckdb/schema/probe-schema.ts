/** Schema version 6, probes: the runs in which a worker probed the service, so that one of them does. */
export const probeSchema: readonly string[] = [
  `CREATE TABLE profile_probe (run_id VARCHAR PRIMARY KEY, claimed_at TIMESTAMPTZ NOT NULL)`,
];
