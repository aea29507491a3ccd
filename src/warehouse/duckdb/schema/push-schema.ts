/** Tables of pushes: the checkpoint of each, the outcome of each chunk, and the body size that the service accepts. */
export const pushSchema: readonly string[] = [
  `CREATE TABLE push (run_id VARCHAR, unit INTEGER, file_sha256 VARCHAR NOT NULL, fence INTEGER NOT NULL,
     checkpoint JSON, begun_at TIMESTAMPTZ NOT NULL, saved_at TIMESTAMPTZ, completed_at TIMESTAMPTZ,
     PRIMARY KEY (run_id, unit))`,
  `CREATE TABLE push_ledger (run_id VARCHAR, chunk INTEGER, file_sha256 VARCHAR, first_line BIGINT, last_line BIGINT,
     items INTEGER, status VARCHAR, attempts INTEGER, settled_at TIMESTAMPTZ)`,
  `CREATE TABLE push_body_limit (service_url VARCHAR PRIMARY KEY, max_bytes BIGINT NOT NULL, found_at TIMESTAMPTZ NOT NULL)`,
];

/** The service of a push: what was sent to one service, another may lack. Null for older pushes. */
export const pushServiceSchema: readonly string[] = ['ALTER TABLE push ADD COLUMN service_url VARCHAR'];
