/**
 * The tables of a warehouse, as both engines have them, and the versions of its schema. An engine says its types, and adds
 * what it alone has: keys, indexes, views and the tables behind them.
 *
 * A change is a further step of both engines, and a step never changes. A further list of records is no step: its tables are
 * made wherever they are absent.
 */
import { UnreachableError } from '../../core/base/errors.ts';
import { columnsOfList, type RecordList, recordLists } from '../../core/definitions/record-list.ts';
import {
  type Column,
  type ColumnTypes,
  commonTypes,
  declared,
  named,
  serviceColumnsOf,
  typesOf,
} from './daily/row-fields.ts';
import type { SqlSession } from './session.ts';

/** The version that the first step makes. The versions below it were never released, and lack columns of it. */
export const firstVersion = 12;

/** The last version of a development build that others have in use: `wellsync warehouse copy` takes it over. */
export const copiedVersion = 8;

/** Step n makes version `firstVersion + n` out of the one before it. */
export type SchemaSteps = ReadonlyArray<readonly string[]>;

export function versionOf(steps: SchemaSteps): number {
  return firstVersion + steps.length - 1;
}

/** 0 for a database without tables of a warehouse. Writes nothing. */
export async function readVersion(session: SqlSession): Promise<number> {
  const tables = await session.rows(
    `SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = 'schema_version'`,
  );
  if (tables.length === 0) return 0;
  const [row] = await session.rows<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM schema_version',
  );
  return row?.version ?? 0;
}

/**
 * Returns the schema version; 0 for a database without tables of a warehouse. Throws UnreachableError for one that is
 * neither known nor what a copy takes over (docs/design.md section 7). Writes nothing.
 */
export async function requireKnown(session: SqlSession, location: string, latest: number): Promise<number> {
  const found = await readVersion(session);
  if (found === 0 || found === copiedVersion || (found >= firstVersion && found <= latest)) return found;
  if (found < firstVersion) throw unusable(location, found, 'Export again into another warehouse.');
  throw new UnreachableError(
    'warehouse',
    `${location} is of schema version ${found}; this wellsync knows up to ${latest}`,
    { hint: 'Use the newer wellsync that wrote it, or another warehouse.' },
  );
}

/** The steps that bring a warehouse of the version `found` to the last one, with their versions. */
export function stepsFrom(
  steps: SchemaSteps,
  found: number,
  location: string,
): ReadonlyArray<readonly [version: number, statements: readonly string[]]> {
  if (found === copiedVersion) {
    throw unusable(location, found, `Copy it to a new one: wellsync warehouse copy ${location} TO.`);
  }
  return steps.flatMap((statements, index) => {
    const version = firstVersion + index;
    return version > found ? [[version, statements] as const] : [];
  });
}

function unusable(location: string, found: number, hint: string): UnreachableError {
  const message = `${location} is of schema version ${found}, from before the first release, and cannot be worked on`;
  return new UnreachableError('warehouse', message, { hint: `${hint} It stays as it is.` });
}

export const schemaVersionTable = 'CREATE TABLE IF NOT EXISTS schema_version (version INTEGER, applied_at TIMESTAMPTZ)';

/** The columns of each table that both engines have, by its name, in the order of their creation. */
function sharedTables(types: ColumnTypes): Readonly<Record<string, string>> {
  const { text } = types;
  const daily = declared(serviceColumnsOf(types));
  const held = `release_run_id ${text}, release_rows INTEGER`;
  const { written, ended } = versionColumns(types);
  const well = `source_id ${text}, content_type ${text}, body ${text}, document JSON`;
  return {
    // What a list shows of a report is in `settled`: ten thousand whole reports exceed an engine's memory. `attempts`: those
    // before the last retry, each with what became of it (core/run/run.ts).
    run: `run_id ${text} PRIMARY KEY, job ${text} NOT NULL, params JSON, state ${text} NOT NULL, round INTEGER NOT NULL,
      unit_count INTEGER, requested_at TIMESTAMPTZ NOT NULL, started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, report JSON,
      service ${text}, actor ${text}, target_count INTEGER, settled JSON, request_key ${text}, reopened_at TIMESTAMPTZ,
      reopened_by ${text}, attempts JSON, attempt_started_at TIMESTAMPTZ, schedule ${text}`,
    // `finding`: what a verification found of it, where it differs (core/verify/difference.ts). `read_ms`: how long its
    // last read took, where that was measured.
    run_unit: `run_id ${text}, unit INTEGER, chunk INTEGER, target ${text}, spec JSON, state ${text}, counts JSON,
      fault JSON, notices JSON, keeps_counts BOOLEAN, finding JSON,
      read_ms INTEGER`,
    run_target: `run_id ${text}, place INTEGER, target ${text}`,
    // Targets that the service answered with 404. `kind`: the column of a list file that names them.
    unknown_target: `kind ${text}, target ${text}, since TIMESTAMPTZ NOT NULL, run_id ${text} NOT NULL,
      PRIMARY KEY (kind, target)`,
    // What needs a person (core/alerts/alert.ts). `owner`: the target, or the well of a record. `reported_…`: as of the last
    // change, by which it is worse; `change`: the last one, each of which is a row of the table of them.
    alert: `alert_id ${text} PRIMARY KEY, kind ${text} NOT NULL, job ${text}, target_kind ${text} NOT NULL,
      target ${text} NOT NULL, owner ${text} NOT NULL, state ${text} NOT NULL, severity ${text} NOT NULL,
      cause ${text} NOT NULL, summary ${text} NOT NULL, detail JSON NOT NULL, size BIGINT NOT NULL,
      reported_size BIGINT NOT NULL, reported_severity ${text} NOT NULL, opened_at TIMESTAMPTZ NOT NULL,
      opened_by ${text} NOT NULL, seen_at TIMESTAMPTZ NOT NULL, seen_by ${text} NOT NULL, change ${text} NOT NULL,
      change_no INTEGER NOT NULL, changed_at TIMESTAMPTZ NOT NULL, changed_by ${text} NOT NULL, acknowledged_at TIMESTAMPTZ,
      acknowledged_by ${text}, acknowledged_because ${text}, acknowledged_until TIMESTAMPTZ, resolved_at TIMESTAMPTZ,
      resolved_by ${text}, resolved_because ${text}`,
    // `message_id`: of the message that tells of it, with others of one cause; `sent_at`: when the receiver has taken it.
    alert_change: `alert_id ${text} NOT NULL, change_no INTEGER NOT NULL, noted_at TIMESTAMPTZ NOT NULL,
      change ${text} NOT NULL, noted_by ${text} NOT NULL, because ${text}, severity ${text} NOT NULL, cause ${text} NOT NULL,
      summary ${text} NOT NULL, size BIGINT NOT NULL, message_id ${text}, claimed_at TIMESTAMPTZ, sent_at TIMESTAMPTZ`,
    // The kinds of which nothing is new that was so when they were first judged.
    alert_beginning: `kind ${text} PRIMARY KEY, begun_at TIMESTAMPTZ NOT NULL`,
    // The wells of each source (core/alerts/run-observations.ts) as its last run had them, and those that it lacked since:
    // `until_run_id` is the last run that had such a one. Kept as long as the source is.
    source_list: `source ${text} PRIMARY KEY, run_id ${text} NOT NULL, requested_at TIMESTAMPTZ NOT NULL`,
    source_well: `source ${text} NOT NULL, target ${text} NOT NULL, until_run_id ${text}`,
    // Rows that pushes of a file rejected, while they are an alert of it (ledger/push-store.ts). The ids are empty where they
    // cannot be read. `accepted_by`: the run of another push that brought them.
    rejected_row: `file ${text}, run_id ${text}, network ${text}, source_id ${text}, version ${text}, "rows" BIGINT NOT NULL,
      accepted_by ${text}, PRIMARY KEY (file, run_id, network, source_id, version)`,
    // The same request, sent again, makes no second run.
    idempotency_key: `client ${text}, route ${text}, key ${text}, body_sha256 ${text} NOT NULL, run_id ${text} NOT NULL,
      noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (client, route, key)`,

    // What was sent to one service, another may lack.
    push: `run_id ${text}, unit INTEGER, file_sha256 ${text} NOT NULL, fence INTEGER NOT NULL, checkpoint JSON,
      begun_at TIMESTAMPTZ NOT NULL, saved_at TIMESTAMPTZ, completed_at TIMESTAMPTZ, service_url ${text}, form ${text},
      service ${text}, PRIMARY KEY (run_id, unit)`,
    push_claim: `file_sha256 ${text}, service ${text}, form ${text}, run_id ${text} NOT NULL,
      claimed_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (file_sha256, service, form)`,
    push_ledger: `run_id ${text}, chunk INTEGER, file_sha256 ${text}, first_line BIGINT, last_line BIGINT, items INTEGER,
      status ${text}, attempts INTEGER, settled_at TIMESTAMPTZ`,
    push_body_limit: `service_url ${text} PRIMARY KEY, max_bytes BIGINT NOT NULL, found_at TIMESTAMPTZ NOT NULL`,

    // The hash of a selection's file is separate from the plan, and in none of its hashes.
    cleanup_plan: `plan_id ${text} PRIMARY KEY, digest ${text} NOT NULL, service_url ${text} NOT NULL, selection ${text},
      created_by ${text} NOT NULL, created_at TIMESTAMPTZ NOT NULL, counts JSON NOT NULL, run_id ${text},
      applied_by ${text}, applied_at TIMESTAMPTZ, selection_sha256 ${text}, includes_producing BOOLEAN`,
    cleanup_target: `plan_id ${text}, ordinal INTEGER, kind ${text}, owner_id ${text}, source_id ${text}, sighting ${text},
      content_type ${text}, body ${text}, produced_on DATE, doubt ${text}`,
    // Rows are only ever added, in the order of seq. No key: a row that another program inserted twice is for the check
    // of the chain to report, and the head finds missing last rows.
    deletion_audit: `seq BIGINT, noted_at TIMESTAMPTZ, event ${text}, run_id ${text}, plan_id ${text}, unit INTEGER,
      requested_by ${text}, service_url ${text}, kind ${text}, owner_id ${text}, source_id ${text}, outcome ${text},
      answer INTEGER, words ${text}, verification ${text}, previous_hash ${text}, hash ${text}, retried_by ${text},
      digest_version INTEGER`,
    deletion_audit_head: `rows BIGINT NOT NULL, hash ${text} NOT NULL`,

    well: `${well}, ${written}`,
    well_history: `${well}, ${ended}`,

    // The record continued under `next_xid`, null if it was removed. A number is given by the first publication of a feed.
    daily_production_history: `uwi ${text}, ${daily}, ${ended}, next_xid UUID, restatement_no BIGINT`,
    // A well that was never verified (`verified_at`) is, by its next read.
    watermark: `uwi ${text} PRIMARY KEY, watermark TIMESTAMPTZ NOT NULL, last_day DATE, verified_at TIMESTAMPTZ`,
    coverage: `uwi ${text}, from_day DATE, to_day DATE`,
    quarantine: `uwi ${text}, run_id ${text}, unit INTEGER, window_from TIMESTAMPTZ, window_to TIMESTAMPTZ,
      production_day DATE, xid ${text}, reason ${text}, raw ${text}, oil_rate DOUBLE PRECISION,
      gas_rate DOUBLE PRECISION, water_rate DOUBLE PRECISION, noticed_at TIMESTAMPTZ`,
    // Records that may stay in quarantine, for good (daily/quarantine.ts). `xid`: empty where it cannot be read.
    accepted_record: `uwi ${text}, xid ${text}, content_sha256 ${text}, accepted_at TIMESTAMPTZ NOT NULL,
      accepted_by ${text} NOT NULL, because ${text} NOT NULL, PRIMARY KEY (uwi, xid, content_sha256)`,
    // What checks found (daily/findings.ts), key `"check"`, uwi and production_day; and what they need of the past of a well,
    // as JSON.
    check_result: `"check" ${text} NOT NULL, uwi ${text} NOT NULL, production_day DATE NOT NULL, field ${text} NOT NULL,
      value DOUBLE PRECISION, expected DOUBLE PRECISION, severity ${text} NOT NULL, run_id ${text},
      found_at TIMESTAMPTZ NOT NULL`,
    check_history: `uwi ${text} PRIMARY KEY, history ${text} NOT NULL`,
    // Rows that stay although the service no longer has them. `release_…`: what a person released, and the run of it.
    held_month: `uwi ${text}, month DATE, rows_missing INTEGER NOT NULL, first_day DATE NOT NULL, last_day DATE NOT NULL,
      since TIMESTAMPTZ NOT NULL, run_id ${text} NOT NULL, ${held}, release_first_day DATE, release_last_day DATE,
      PRIMARY KEY (uwi, month)`,
    held_definition: `kind ${text}, target ${text}, rows_missing INTEGER NOT NULL, since TIMESTAMPTZ NOT NULL,
      run_id ${text} NOT NULL, ${held}, PRIMARY KEY (kind, target)`,

    // The identity (G11), one row: the service is null until the first run sets it; a takeover increases the epoch. What the
    // rates mean (export.rateBasis) is null until an export was planned.
    warehouse: `warehouse_id ${text} NOT NULL, service ${text}, epoch BIGINT NOT NULL, queue_id ${text},
      queue_kind ${text}, taken_at TIMESTAMPTZ, created_at TIMESTAMPTZ NOT NULL, pruned_at TIMESTAMPTZ, history_horizon TIMESTAMPTZ,
      time_zone ${text}, rezone_to ${text}, rate_basis ${text}`,
    // The wells whose rows are dated by another zone than that of the warehouse; all wells while it is `rezone_to` another one.
    well_zone: `uwi ${text} PRIMARY KEY, time_zone ${text} NOT NULL`,
    service_alias: `address ${text} PRIMARY KEY, service ${text} NOT NULL, moved_at TIMESTAMPTZ NOT NULL, moved_by ${text}`,
    service_profile: `base_url ${text} PRIMARY KEY, profile JSON NOT NULL, saved_at TIMESTAMPTZ NOT NULL`,
    // The runs in which a worker probed the service, so that one of them does.
    profile_probe: `run_id ${text} PRIMARY KEY, claimed_at TIMESTAMPTZ NOT NULL`,

    schedule: `name ${text} PRIMARY KEY, definition ${text} NOT NULL, since TIMESTAMPTZ NOT NULL, paused_at TIMESTAMPTZ,
      paused_by ${text}, due_at TIMESTAMPTZ, outcome ${text}, words ${text}, run_id ${text}`,
    schedule_revision: 'revision BIGINT NOT NULL, applied_at TIMESTAMPTZ NOT NULL',

    // What of an embedded queue outlives its process (core/run/warehouse-queue.ts).
    queue_state: `kind ${text}, key ${text}, value JSON NOT NULL, noted_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (kind, key)`,

    // At most one row, which the first publication inserts.
    feed: `feed_id ${text}, version BIGINT NOT NULL, last_restatement BIGINT NOT NULL, holder ${text},
      held_until TIMESTAMPTZ`,
  };
}

/** Of a version that is current, and of one that ended: how, by which run and when; and since when it was known. */
function versionColumns({ text }: ColumnTypes): Readonly<Record<'written' | 'ended', string>> {
  return {
    written: `inserted_run_id ${text}, changed_run_id ${text}, changed_at TIMESTAMPTZ`,
    ended: `change ${text}, run_id ${text}, noticed_at TIMESTAMPTZ, known_from TIMESTAMPTZ, known_run_id ${text}`,
  };
}

interface ListTable {
  readonly name: string;
  /** The statement that makes it. */
  readonly made: string;
  /** The column by which rows are found. */
  readonly soughtBy: string;
}

/** The table of a list of records, and its history. */
export function tablesOfList(list: RecordList, types: ColumnTypes): readonly ListTable[] {
  const { table, targets } = list;
  const history = `${table}_history`;
  const { written, ended } = versionColumns(types);
  const columns = declared(columnsOfList(list).map(([name, kind]): Column => ({ name, type: typesOf(types)[kind] })));
  return [
    { name: table, made: `CREATE TABLE ${table} (${columns}, ${written})`, soughtBy: targets.column },
    { name: history, made: `CREATE TABLE ${history} (${columns}, ${ended})`, soughtBy: 'noticed_at' },
  ];
}

/** The tables of lists that the warehouse lacks: an entry may be newer than it is. */
export async function missingTables(session: SqlSession, types: ColumnTypes): Promise<readonly ListTable[]> {
  const tables = await session.rows<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()',
  );
  const found = new Set(tables.map(({ name }) => name));
  return recordLists.flatMap((list) => tablesOfList(list, types)).filter(({ name }) => !found.has(name));
}

/** For readers: one row a well and day. */
export const oneRowADay = `CREATE VIEW production_day AS
  SELECT uwi, ${named(serviceColumnsOf(commonTypes))}, inserted_run_id, changed_run_id, changed_at FROM daily_production WHERE counts`;

/** The steps of both engines behind the first one. */
export function laterSteps({ text }: ColumnTypes): SchemaSteps {
  // Wells whose findings have changed since their alerts were made of them (daily/findings.ts), a row a commit.
  return [[`CREATE TABLE check_change (uwi ${text} NOT NULL)`, anyCheckChange]];
}

/** Where it is not known of which wells the findings have changed: all of which there are any, or alerts of some that are gone. */
export const anyCheckChange = `INSERT INTO check_change
  SELECT uwi FROM check_result UNION SELECT owner FROM alert WHERE kind = 'check' AND state <> 'resolved'`;

/** Statements that make the shared tables, and the schema for the internal ones. */
export function sharedStatements(types: ColumnTypes): readonly string[] {
  const { text } = types;
  const tables = Object.entries(sharedTables(types)).map(([name, columns]) => `CREATE TABLE ${name} (${columns})`);
  return [
    ...tables,
    'CREATE SCHEMA internal',
    // The order of reads (docs/decisions/0026-reads-have-an-order.md). Null bounds: without a limit.
    'CREATE SEQUENCE internal.read_number',
    `CREATE TABLE internal.read_begun (number BIGINT NOT NULL, kind ${text} NOT NULL, run_id ${text} NOT NULL,
       begun_at TIMESTAMPTZ NOT NULL)`,
    // Of each day of a well with two records or more, the one that counts (daily/conflicting-days.ts).
    'CREATE TABLE internal.conflicting_day (well_id INTEGER NOT NULL, production_day DATE NOT NULL, xid UUID NOT NULL)',
    `CREATE TABLE internal.kept_read (kind ${text} NOT NULL, target ${text} NOT NULL, from_at TIMESTAMPTZ,
       to_at TIMESTAMPTZ, number BIGINT NOT NULL, committed_no BIGINT NOT NULL)`,
  ];
}
