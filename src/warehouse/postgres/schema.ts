/**
 * The schema of the PostgreSQL warehouse: the tables that both engines have, with keys, and with indexes for what is looked
 * up in tables that grow; and what differs inside, since several transactions write at a time.
 */
import { monthlyProductionView } from '../sql/daily/months.ts';
import { type Column, conflictOfRecord, counts, declared, named, serviceColumnsOf } from '../sql/daily/row-fields.ts';
import {
  laterSteps,
  missingTables,
  oneRowADay,
  requireKnown,
  type SchemaSteps,
  schemaVersionTable,
  sharedStatements,
  stepsFrom,
  versionOf,
} from '../sql/schema.ts';
import type { SqlSession } from '../sql/session.ts';
import { postgresDialect } from './server/postgres-database.ts';

/** Text is in the order of its bytes, as in DuckDB, whatever the order of the database. */
const textType = 'TEXT COLLATE "C"';

const types = { text: textType, double: 'DOUBLE PRECISION' };

/** A row of the service. */
export const serviceColumns: readonly Column[] = serviceColumnsOf(types);

/** What of a row is compared, updated and kept in the history. */
export const valueColumns: readonly Column[] = serviceColumns.slice(1);

const writers = `inserted_run_id ${textType}, changed_run_id ${textType}, changed_at TIMESTAMPTZ`;

const dailyProduction: readonly string[] = [
  `CREATE TABLE well_key (well_id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, uwi ${textType} NOT NULL UNIQUE)`,
  // The well leads the key, so that the table can be split by it; never by month: the key could then not be kept.
  `CREATE TABLE internal.daily_production (well_id INTEGER NOT NULL, ${declared(serviceColumns)}, ${writers},
     PRIMARY KEY (well_id, xid))`,
  `CREATE INDEX daily_production_window ON internal.daily_production (well_id, date)`,
  `CREATE VIEW daily_production AS
     SELECT k.uwi, ${named(serviceColumns, 'd')}, d.inserted_run_id, d.changed_run_id, d.changed_at, ${counts}
     FROM internal.daily_production d JOIN well_key k ON k.well_id = d.well_id
       ${conflictOfRecord}`,
  oneRowADay,
  monthlyProductionView(postgresDialect),
  // A row for a month that all commits write would let them wait for each other: each adds its own.
  `CREATE TABLE internal.feed_touch (production_month DATE NOT NULL, touched_at TIMESTAMPTZ NOT NULL,
     mark UUID NOT NULL DEFAULT gen_random_uuid())`,
  `CREATE INDEX feed_touch_month ON internal.feed_touch (production_month, touched_at)`,
  `CREATE VIEW feed_month AS
     SELECT production_month, max(touched_at) AS touched_at FROM internal.feed_touch GROUP BY production_month`,
];

const keys: readonly string[] = [
  'run_unit ADD PRIMARY KEY (run_id, unit)',
  'run_target ADD PRIMARY KEY (run_id, place)',
  'cleanup_target ADD PRIMARY KEY (plan_id, ordinal)',
  'coverage ADD PRIMARY KEY (uwi, from_day)',
  'check_result ADD PRIMARY KEY (uwi, "check", production_day)',
  'source_well ADD PRIMARY KEY (source, target)',
  'internal.read_begun ADD PRIMARY KEY (number)',
  'internal.conflicting_day ADD PRIMARY KEY (well_id, production_day)',
].map((key) => `ALTER TABLE ${key}`);

const indexes: readonly string[] = [
  'run_by_time ON run (requested_at, run_id)',
  `run_unfinished ON run (job, request_key) WHERE state IN ('queued', 'running')`,
  'run_unit_target ON run_unit (target)',
  `run_unit_open ON run_unit (run_id, chunk) WHERE state = 'open'`,
  'push_by_content ON push (file_sha256, form)',
  'push_ledger_run ON push_ledger (run_id)',
  'cleanup_plan_run ON cleanup_plan (run_id)',
  'deletion_audit_seq ON deletion_audit (seq)',
  'deletion_audit_unit ON deletion_audit (run_id, unit)',
  'deletion_audit_plan ON deletion_audit (plan_id)',
  'deletion_audit_target ON deletion_audit (owner_id, kind)',
  'well_source ON well (source_id)',
  'well_history_noticed ON well_history (noticed_at)',
  'daily_production_history_noticed ON daily_production_history (noticed_at)',
  'daily_production_history_record ON daily_production_history (uwi, xid)',
  'daily_production_history_unnumbered ON daily_production_history (noticed_at) WHERE restatement_no IS NULL',
  'daily_production_history_number ON daily_production_history (restatement_no)',
  'quarantine_well ON quarantine (uwi)',
  'alert_owner ON alert (owner)',
  'alert_change_alert ON alert_change (alert_id)',
  'alert_change_by ON alert_change (noted_by)',
  'alert_change_unsent ON alert_change (noted_at) WHERE sent_at IS NULL',
  'kept_read_target ON internal.kept_read (kind, target)',
].map((index) => `CREATE INDEX ${index}`);

/** A column of a result has no order of its own: the rows bring it. */
const returned = `uwi TEXT, ${declared(serviceColumns)}`.replaceAll(' COLLATE "C"', '');
const asKnownColumns = `uwi, ${named(serviceColumns)}`;

/** Daily production as it was known at a time, exact to the commit. What was known before the horizon is refused. */
const asKnown = `CREATE FUNCTION daily_production_as_known(moment TIMESTAMPTZ)
  RETURNS TABLE (${returned}) LANGUAGE plpgsql STABLE AS $$
  #variable_conflict use_column
  DECLARE horizon TIMESTAMPTZ := (SELECT history_horizon FROM warehouse);
  BEGIN
    IF horizon > moment THEN
      RAISE EXCEPTION 'the history begins at %: what was known before is no longer kept (retention.historyDays)', horizon;
    END IF;
    RETURN QUERY
      SELECT ${asKnownColumns} FROM daily_production WHERE changed_at <= moment
      UNION ALL
      SELECT ${asKnownColumns} FROM daily_production_history WHERE known_from <= moment AND noticed_at > moment;
  END $$`;

/** A beat has a row of its own, so that it waits for no transaction that is fenced by that of the warehouse. */
const ownIdentity: readonly string[] = [
  `INSERT INTO warehouse (warehouse_id, epoch, created_at) VALUES (gen_random_uuid()::VARCHAR, 0, current_timestamp)`,
  `CREATE TABLE queue_beat (queue_id ${textType}, epoch BIGINT, beat_at TIMESTAMPTZ)`,
  `INSERT INTO queue_beat VALUES (NULL, NULL, NULL)`,
  `CREATE TABLE writer_turn (subject ${textType} PRIMARY KEY)`,
  `INSERT INTO writer_turn VALUES ('request'), ('retention'), ('push'), ('audit'), ('definitions'), ('feed'), ('alert')`,
];

const schemaSteps: SchemaSteps = [
  [...sharedStatements(types), ...dailyProduction, ...keys, ...indexes, asKnown, ...ownIdentity],
  ...laterSteps(types),
];

export const schemaVersion = versionOf(schemaSteps);

/** As {@link requireKnown}, for a database that is only read. */
export function readKnownVersion(session: SqlSession, location: string): Promise<number> {
  return requireKnown(session, location, schemaVersion);
}

/** Any number, the same for every process: who migrates holds the lock of it. */
const migrationLock = 7_225_806_101;

/**
 * Brings the tables to the schema of this version, and makes those of lists that are absent, in the caller's transaction;
 * several processes may try at a time, and one does it. Throws UnreachableError if the schema is of another version that no
 * step starts from.
 */
export async function migrate(session: SqlSession, location: string, steps = schemaSteps): Promise<void> {
  const latest = versionOf(steps);
  const isCurrent = (await requireKnown(session, location, latest)) === latest;
  if (isCurrent && (await missingTables(session, types)).length === 0) return;
  await session.rows('SELECT pg_advisory_xact_lock($1)', [migrationLock]);
  const found = await requireKnown(session, location, latest);
  for (const [version, statements] of stepsFrom(steps, found, location)) {
    for (const statement of [schemaVersionTable, ...statements]) await session.run(statement);
    await session.run('INSERT INTO schema_version VALUES ($1, current_timestamp)', [version]);
  }
  for (const { name, made, soughtBy } of await missingTables(session, types)) {
    await session.run(made);
    await session.run(`CREATE INDEX ${name}_${soughtBy} ON ${name} (${soughtBy})`);
  }
}
