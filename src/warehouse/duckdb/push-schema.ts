/** Owns the tables of pushes: where each one stands, what became of each chunk, and what the service was found to take. */
export const pushSchema: readonly string[] = [
  `CREATE TABLE push (run_id VARCHAR, unit INTEGER, file_sha256 VARCHAR NOT NULL, fence INTEGER NOT NULL,
     checkpoint JSON, begun_at TIMESTAMPTZ NOT NULL, saved_at TIMESTAMPTZ, completed_at TIMESTAMPTZ,
     PRIMARY KEY (run_id, unit))`,
  `CREATE TABLE push_ledger (run_id VARCHAR, chunk INTEGER, file_sha256 VARCHAR, first_line BIGINT, last_line BIGINT,
     items INTEGER, status VARCHAR, attempts INTEGER, settled_at TIMESTAMPTZ)`,
  `CREATE TABLE push_body_limit (service_url VARCHAR PRIMARY KEY, max_bytes BIGINT NOT NULL, found_at TIMESTAMPTZ NOT NULL)`,
];

/** Which service a push went to: what one has been sent, another may lack. Null for pushes from before this was kept. */
export const pushServiceSchema: readonly string[] = ['ALTER TABLE push ADD COLUMN service_url VARCHAR'];
