/**
 * Schema version 4: the coverage ledger, the times between which a row was known, definitions and wells, and service
 * profiles.
 */
import { named } from '../../sql/daily/row-fields.ts';
import { rowColumns } from './columns.ts';

const coverage: readonly string[] = [
  `CREATE TABLE coverage (uwi VARCHAR, from_day DATE, to_day DATE)`,
  // Intervals from version 1: a watermark never passes a window that is not durable, and the first window begins before
  // any row (G3). The time zone of its days is not known here, so the last day is left out.
  `INSERT INTO coverage
     SELECT uwi, first_day, last_day FROM (
       SELECT uwi, min(production_day) AS first_day, any_value(watermark AT TIME ZONE 'UTC')::DATE - 1 AS last_day
       FROM daily_production JOIN watermark USING (uwi) GROUP BY uwi)
     WHERE first_day < last_day ORDER BY uwi`,
];

/**
 * A version in the history was known from `known_from`, by the run `known_run_id`, until `noticed_at`; the record
 * continued under `next_xid`, null if it was removed. The current version is known since `changed_at`.
 */
const knownTimes: readonly string[] = [
  `ALTER TABLE daily_production_history ADD COLUMN known_from TIMESTAMPTZ`,
  `ALTER TABLE daily_production_history ADD COLUMN known_run_id VARCHAR`,
  `ALTER TABLE daily_production_history ADD COLUMN next_xid UUID`,
  // Version 1 stored no beginnings: a version begins at the end of its predecessor, the first one with the warehouse.
  `UPDATE daily_production_history SET known_from = before.known_from, known_run_id = before.known_run_id,
     next_xid = CASE WHEN change = 'updated' THEN xid END
   FROM (SELECT rowid AS row_id, lag(run_id) OVER own AS known_run_id,
           coalesce(lag(noticed_at) OVER own, (SELECT min(requested_at) FROM run)) AS known_from
         FROM daily_production_history WINDOW own AS (PARTITION BY uwi, xid ORDER BY noticed_at)) before
   WHERE daily_production_history.rowid = before.row_id`,
  `CREATE MACRO daily_production_as_known(moment) AS TABLE
     SELECT ${named(rowColumns)} FROM daily_production WHERE changed_at <= moment::TIMESTAMPTZ
     UNION ALL
     SELECT ${named(rowColumns)} FROM daily_production_history
     WHERE known_from <= moment::TIMESTAMPTZ AND noticed_at > moment::TIMESTAMPTZ`,
];

/** Results of probes, by the base address of the service (docs/design.md section 3). */
const profiles: readonly string[] = [
  `CREATE TABLE service_profile (base_url VARCHAR PRIMARY KEY, profile JSON NOT NULL, saved_at TIMESTAMPTZ NOT NULL)`,
];

/**
 * Each table with a history of the same columns: the version, how and by which run it ended, and since when it was
 * known.
 */
const definitions: readonly string[] = Object.entries({
  time_series: 'equipment VARCHAR, xid UUID, equipment_xid UUID, source_id VARCHAR, measurement VARCHAR, unit VARCHAR',
  well: 'source_id VARCHAR, content_type VARCHAR, body VARCHAR, document JSON',
}).flatMap(([table, columns]) => [
  `CREATE TABLE ${table} (${columns}, inserted_run_id VARCHAR, changed_run_id VARCHAR, changed_at TIMESTAMPTZ)`,
  `CREATE TABLE ${table}_history
     (${columns}, change VARCHAR, run_id VARCHAR, noticed_at TIMESTAMPTZ, known_from TIMESTAMPTZ, known_run_id VARCHAR)`,
]);

export const exportSchema: readonly string[] = [...coverage, ...knownTimes, ...definitions, ...profiles];
