/**
 * The ledgers, definitions, coverage and identity of a warehouse in PostgreSQL: the tables and columns of DuckDB's schema
 * (../../duckdb/schema), with keys, and with indexes for what is looked up in tables that grow. Text is in the order of its
 * bytes, as DuckDB has it.
 */
import { textType as text } from './daily-columns.ts';

const runs: readonly string[] = [
  `CREATE TABLE run (run_id ${text} PRIMARY KEY, job ${text} NOT NULL, params JSON, state ${text} NOT NULL,
     round INTEGER NOT NULL, unit_count INTEGER, requested_at TIMESTAMPTZ NOT NULL, started_at TIMESTAMPTZ,
     finished_at TIMESTAMPTZ, report JSON, service ${text}, actor ${text}, target_count INTEGER, settled JSON,
     request_key ${text}, reopened_at TIMESTAMPTZ, reopened_by ${text})`,
  `CREATE INDEX run_by_time ON run (requested_at, run_id)`,
  `CREATE INDEX run_unfinished ON run (job, request_key) WHERE state IN ('queued', 'running')`,
  `CREATE TABLE run_unit (run_id ${text}, unit INTEGER, chunk INTEGER, target ${text}, spec JSON, state ${text},
     counts JSON, fault JSON, notices JSON, keeps_counts BOOLEAN, PRIMARY KEY (run_id, unit))`,
  `CREATE INDEX run_unit_open ON run_unit (run_id, chunk) WHERE state = 'open'`,
  `CREATE TABLE run_target (run_id ${text}, place INTEGER, target ${text}, PRIMARY KEY (run_id, place))`,
  `CREATE TABLE unknown_target (kind ${text}, target ${text}, since TIMESTAMPTZ NOT NULL, run_id ${text} NOT NULL,
     PRIMARY KEY (kind, target))`,
  `CREATE TABLE idempotency_key (client ${text}, route ${text}, key ${text}, body_sha256 ${text} NOT NULL,
     run_id ${text} NOT NULL, noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (client, route, key))`,
];

const pushes: readonly string[] = [
  `CREATE TABLE push (run_id ${text}, unit INTEGER, file_sha256 ${text} NOT NULL, fence INTEGER NOT NULL, checkpoint JSON,
     begun_at TIMESTAMPTZ NOT NULL, saved_at TIMESTAMPTZ, completed_at TIMESTAMPTZ, service_url ${text}, form ${text},
     service ${text}, PRIMARY KEY (run_id, unit))`,
  `CREATE INDEX push_by_content ON push (file_sha256, form)`,
  `CREATE TABLE push_claim (file_sha256 ${text}, service ${text}, form ${text}, run_id ${text} NOT NULL,
     claimed_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (file_sha256, service, form))`,
  `CREATE TABLE push_ledger (run_id ${text}, chunk INTEGER, file_sha256 ${text}, first_line BIGINT, last_line BIGINT,
     items INTEGER, status ${text}, attempts INTEGER, settled_at TIMESTAMPTZ)`,
  `CREATE INDEX push_ledger_run ON push_ledger (run_id)`,
  `CREATE TABLE push_body_limit (service_url ${text} PRIMARY KEY, max_bytes BIGINT NOT NULL, found_at TIMESTAMPTZ NOT NULL)`,
];

const cleanups: readonly string[] = [
  `CREATE TABLE cleanup_plan (plan_id ${text} PRIMARY KEY, digest ${text} NOT NULL, service_url ${text} NOT NULL,
     selection ${text}, created_by ${text} NOT NULL, created_at TIMESTAMPTZ NOT NULL, counts JSON NOT NULL,
     run_id ${text}, applied_by ${text}, applied_at TIMESTAMPTZ, selection_sha256 ${text}, includes_producing BOOLEAN)`,
  `CREATE INDEX cleanup_plan_run ON cleanup_plan (run_id)`,
  `CREATE TABLE cleanup_target (plan_id ${text}, ordinal INTEGER, kind ${text}, owner_id ${text}, source_id ${text},
     sighting ${text}, content_type ${text}, body ${text}, produced_on DATE, doubt ${text}, PRIMARY KEY (plan_id, ordinal))`,
  // No key: a row that another program inserted twice is for the check of the chain to tell.
  `CREATE TABLE deletion_audit (seq BIGINT, noted_at TIMESTAMPTZ, event ${text}, run_id ${text}, plan_id ${text},
     unit INTEGER, requested_by ${text}, service_url ${text}, kind ${text}, owner_id ${text}, source_id ${text},
     outcome ${text}, answer INTEGER, words ${text}, verification ${text}, previous_hash ${text}, hash ${text})`,
  `CREATE INDEX deletion_audit_seq ON deletion_audit (seq)`,
  `CREATE INDEX deletion_audit_unit ON deletion_audit (run_id, unit)`,
  `CREATE INDEX deletion_audit_plan ON deletion_audit (plan_id)`,
  `CREATE INDEX deletion_audit_target ON deletion_audit (owner_id, kind)`,
  `CREATE TABLE deletion_audit_head (rows BIGINT NOT NULL, hash ${text} NOT NULL)`,
];

/** Each table with a history of the same columns: the version, how and by which run it ended, and since when it was known. */
const definitions: readonly string[] = Object.entries({
  time_series: `equipment ${text}, xid UUID, equipment_xid UUID, source_id ${text}, measurement ${text}, unit ${text}`,
  well: `source_id ${text}, content_type ${text}, body ${text}, document JSON`,
}).flatMap(([table, columns]) => [
  `CREATE TABLE ${table} (${columns}, inserted_run_id ${text}, changed_run_id ${text}, changed_at TIMESTAMPTZ)`,
  `CREATE TABLE ${table}_history (${columns}, change ${text}, run_id ${text}, noticed_at TIMESTAMPTZ,
     known_from TIMESTAMPTZ, known_run_id ${text})`,
  `CREATE INDEX ${table}_history_noticed ON ${table}_history (noticed_at)`,
]);

const lookedUp: readonly string[] = [
  `CREATE INDEX time_series_equipment ON time_series (equipment)`,
  `CREATE INDEX well_source ON well (source_id)`,
  `CREATE TABLE coverage (uwi ${text}, from_day DATE, to_day DATE, PRIMARY KEY (uwi, from_day))`,
];

/** One row; `queue_beat` has one as well, so that a beat waits for no transaction that is fenced by the other. */
const identity: readonly string[] = [
  `CREATE TABLE warehouse (warehouse_id ${text} NOT NULL, service ${text}, epoch BIGINT NOT NULL, queue_id ${text},
     taken_at TIMESTAMPTZ, created_at TIMESTAMPTZ NOT NULL, pruned_at TIMESTAMPTZ, history_horizon TIMESTAMPTZ)`,
  `INSERT INTO warehouse (warehouse_id, epoch, created_at) VALUES (gen_random_uuid()::VARCHAR, 0, current_timestamp)`,
  `CREATE TABLE queue_beat (queue_id ${text}, epoch BIGINT, beat_at TIMESTAMPTZ)`,
  `INSERT INTO queue_beat VALUES (NULL, NULL, NULL)`,
  `CREATE TABLE service_alias (address ${text} PRIMARY KEY, service ${text} NOT NULL, moved_at TIMESTAMPTZ NOT NULL,
     moved_by ${text})`,
  `CREATE TABLE service_profile (base_url ${text} PRIMARY KEY, profile JSON NOT NULL, saved_at TIMESTAMPTZ NOT NULL)`,
  `CREATE TABLE profile_probe (run_id ${text} PRIMARY KEY, claimed_at TIMESTAMPTZ NOT NULL)`,
  `CREATE TABLE writer_turn (subject ${text} PRIMARY KEY)`,
  `INSERT INTO writer_turn VALUES ('request'), ('retention'), ('push'), ('audit'), ('definitions')`,
];

export const ledgerSchema: readonly string[] = [
  ...runs,
  ...pushes,
  ...cleanups,
  ...definitions,
  ...lookedUp,
  ...identity,
];

/** As DuckDB's step of version 10 (../../duckdb/schema/cleanup-schema.ts). */
export const auditRetrySchema: readonly string[] = [
  `ALTER TABLE deletion_audit ADD COLUMN retried_by ${text}`,
  `ALTER TABLE deletion_audit ADD COLUMN digest_version INTEGER`,
];
