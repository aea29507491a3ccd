/**
 * A part of schema version 6: the key that a client gave its request, with the run that the request made and the hash of
 * its body. The same request, sent again, makes no second run.
 */
export const idempotencySchema: readonly string[] = [
  `CREATE TABLE idempotency_key (client VARCHAR, route VARCHAR, key VARCHAR, body_sha256 VARCHAR NOT NULL,
     run_id VARCHAR NOT NULL, noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (client, route, key))`,
];
