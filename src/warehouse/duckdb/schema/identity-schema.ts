/**
 * Schema version 6: the identity of the warehouse (G11), targets of runs as rows, integer keys of wells, and the months
 * that the merge touched. It also has to suit the file of a long-lived warehouse: the large table is rewritten once,
 * well by well, because DuckDB prunes row groups by an integer key and not by texts with a common prefix.
 */
import { cleanupProducingSchema } from './cleanup-schema.ts';
import { declared, named } from '../../sql/daily/row-fields.ts';
import { rowColumns } from './columns.ts';
import { idempotencySchema } from './idempotency-schema.ts';
import { orderSchema } from './order-schema.ts';
import { requestSchema } from './request-schema.ts';
import { retentionSchema } from './retention-schema.ts';
import { unknownTargetSchema } from './unknown-target-schema.ts';

/** One row. The service is null until the first run sets it; the epoch increases with every takeover. */
const warehouse: readonly string[] = [
  `CREATE TABLE warehouse (warehouse_id VARCHAR NOT NULL, service VARCHAR, epoch BIGINT NOT NULL, queue_id VARCHAR,
     taken_at TIMESTAMPTZ, created_at TIMESTAMPTZ NOT NULL)`,
  `INSERT INTO warehouse
     SELECT uuid()::VARCHAR, NULL, 0, NULL, NULL, coalesce(min(applied_at), current_timestamp) FROM schema_version`,
  `CREATE TABLE service_alias (address VARCHAR PRIMARY KEY, service VARCHAR NOT NULL, moved_at TIMESTAMPTZ NOT NULL,
     moved_by VARCHAR)`,
];

/** The list in the parameters of exports of earlier versions. */
const listedTargets = `coalesce(params->'$.uwis', params->'$.targets')`;
const listOfTargets = `from_json(${listedTargets}, '["VARCHAR"]')`;
const hasList = `job LIKE 'export %' AND json_type(params) = 'OBJECT' AND json_type(${listedTargets}) = 'ARRAY'`;

const runs: readonly string[] = [
  `ALTER TABLE run ADD COLUMN service VARCHAR`,
  `ALTER TABLE run ADD COLUMN actor VARCHAR`,
  `ALTER TABLE run ADD COLUMN target_count INTEGER`,
  // The part of a report that a list shows: ten thousand whole reports exceed the engine's memory.
  `ALTER TABLE run ADD COLUMN settled JSON`,
  `UPDATE run SET settled = json_object('units', report->'$.units', 'counts', report->'$.counts')
   WHERE json_type(report) = 'OBJECT'`,
  `CREATE TABLE run_target (run_id VARCHAR, place INTEGER, target VARCHAR)`,
  // A run with a plan has its targets in its units.
  `INSERT INTO run_target
     SELECT run_id, row_number() OVER (PARTITION BY run_id ORDER BY min(place)) - 1 AS place, list[place] AS target FROM (
       SELECT run_id, list, unnest(range(1, len(list) + 1)) AS place FROM (
         SELECT run_id, ${listOfTargets} AS list FROM run
         WHERE unit_count IS NULL AND state IN ('queued', 'running') AND ${hasList}))
     GROUP BY run_id, target ORDER BY run_id, place`,
  `UPDATE run SET target_count = len(list_distinct(${listOfTargets})),
     params = json_merge_patch(params, '{"uwis": null, "targets": null}') WHERE ${hasList}`,
  `ALTER TABLE run_unit ADD COLUMN keeps_counts BOOLEAN`,
  `UPDATE run_unit SET keeps_counts = true FROM push WHERE run_unit.run_id = push.run_id AND run_unit.unit = push.unit`,
];

const pushes: readonly string[] = [
  `ALTER TABLE push ADD COLUMN form VARCHAR`,
  `ALTER TABLE push ADD COLUMN service VARCHAR`,
  `UPDATE push SET form = run.params->>'$.reading.form' FROM run WHERE run.run_id = push.run_id`,
  `CREATE TABLE push_claim (file_sha256 VARCHAR, service VARCHAR, form VARCHAR, run_id VARCHAR NOT NULL,
     claimed_at TIMESTAMPTZ NOT NULL, PRIMARY KEY (file_sha256, service, form))`,
];

const writers = 'inserted_run_id, changed_run_id, changed_at';
const readersColumns = `${named(rowColumns)}, ${writers}`;

/** Readers see the table under its name and with its columns, as a view; the key of a well is internal. */
const dailyProduction: readonly string[] = [
  `CREATE TABLE well_key (well_id INTEGER PRIMARY KEY, uwi VARCHAR NOT NULL UNIQUE)`,
  `INSERT INTO well_key
     SELECT row_number() OVER (ORDER BY uwi), uwi FROM (
       SELECT uwi FROM daily_production UNION SELECT uwi FROM watermark UNION SELECT uwi FROM coverage
       UNION SELECT uwi FROM quarantine)
     WHERE uwi IS NOT NULL`,
  `CREATE SCHEMA internal`,
  `CREATE TABLE internal.daily_production (well_id INTEGER NOT NULL, ${declared(rowColumns)},
     inserted_run_id VARCHAR, changed_run_id VARCHAR, changed_at TIMESTAMPTZ)`,
  `INSERT INTO internal.daily_production
     SELECT well_id, ${readersColumns} FROM daily_production JOIN well_key USING (uwi) ORDER BY well_id, date`,
  `DROP TABLE daily_production`,
  `CREATE VIEW daily_production AS SELECT ${readersColumns} FROM internal.daily_production`,
];

/** Every month with a row counts as touched: nothing of it was published yet. */
const touched: readonly string[] = [
  `ALTER TABLE watermark ADD COLUMN last_day DATE`,
  // Null for the wells of earlier versions: their next read is a verified one.
  `ALTER TABLE watermark ADD COLUMN verified_at TIMESTAMPTZ`,
  `UPDATE watermark SET last_day = known.last_day
   FROM (SELECT uwi, max(production_day) AS last_day FROM internal.daily_production GROUP BY uwi) known
   WHERE watermark.uwi = known.uwi`,
  `CREATE TABLE feed_month (production_month DATE PRIMARY KEY, touched_at TIMESTAMPTZ NOT NULL)`,
  `INSERT INTO feed_month
     SELECT DISTINCT date_trunc('month', production_day)::DATE, current_timestamp FROM internal.daily_production
     WHERE production_day IS NOT NULL`,
];

export const identitySchema: readonly string[] = [
  ...warehouse,
  // Before the rows of its table are changed: DuckDB does not commit both in the other order.
  ...requestSchema,
  ...runs,
  ...pushes,
  ...dailyProduction,
  ...touched,
  ...cleanupProducingSchema,
  ...retentionSchema,
  ...unknownTargetSchema,
  ...orderSchema,
  ...idempotencySchema,
];
