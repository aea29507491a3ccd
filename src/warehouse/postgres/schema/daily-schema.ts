/**
 * Daily production and what its merge writes beside it. Readers see the names and columns of DuckDB's tables; what is
 * internal differs, since PostgreSQL has keys, and several writers at a time.
 */
import { declared, named } from '../../sql/daily/row-fields.ts';
import { serviceColumns, textType } from './daily-columns.ts';

const writers = `inserted_run_id ${textType}, changed_run_id ${textType}, changed_at TIMESTAMPTZ`;
const readersColumns = `k.uwi, ${named(serviceColumns, 'd')}, d.inserted_run_id, d.changed_run_id, d.changed_at`;

const dailyProduction: readonly string[] = [
  `CREATE TABLE well_key (well_id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, uwi ${textType} NOT NULL UNIQUE)`,
  `CREATE SCHEMA internal`,
  // The well leads the key, so that the table can be split by it; never by month: the key could then not be kept.
  `CREATE TABLE internal.daily_production (well_id INTEGER NOT NULL, ${declared(serviceColumns)}, ${writers},
     PRIMARY KEY (well_id, xid))`,
  `CREATE INDEX daily_production_window ON internal.daily_production (well_id, date)`,
  `CREATE VIEW daily_production AS
     SELECT ${readersColumns} FROM internal.daily_production d JOIN well_key k ON k.well_id = d.well_id`,
];

/** As DuckDB's (../../duckdb/schema/export-schema.ts): versions that ended, and what was known at a time. */
const history: readonly string[] = [
  `CREATE TABLE daily_production_history (uwi ${textType}, ${declared(serviceColumns)}, change ${textType},
     run_id ${textType}, noticed_at TIMESTAMPTZ, known_from TIMESTAMPTZ, known_run_id ${textType}, next_xid UUID)`,
  `CREATE INDEX daily_production_history_noticed ON daily_production_history (noticed_at)`,
  `CREATE INDEX daily_production_history_record ON daily_production_history (uwi, xid)`,
];

const beside: readonly string[] = [
  `CREATE TABLE watermark (uwi ${textType} PRIMARY KEY, watermark TIMESTAMPTZ NOT NULL, last_day DATE,
     verified_at TIMESTAMPTZ)`,
  `CREATE TABLE quarantine (uwi ${textType}, run_id ${textType}, unit INTEGER, window_from TIMESTAMPTZ,
     window_to TIMESTAMPTZ, production_day DATE, xid ${textType}, reason ${textType}, raw ${textType},
     noticed_at TIMESTAMPTZ)`,
  `CREATE INDEX quarantine_well ON quarantine (uwi)`,
  // A row for a month that all commits write would let them wait for each other: each adds its own.
  `CREATE TABLE internal.feed_touch (production_month DATE NOT NULL, touched_at TIMESTAMPTZ NOT NULL)`,
  `CREATE INDEX feed_touch_month ON internal.feed_touch (production_month, touched_at)`,
  `CREATE VIEW feed_month AS
     SELECT production_month, max(touched_at) AS touched_at FROM internal.feed_touch GROUP BY production_month`,
];

export const dailySchema: readonly string[] = [...dailyProduction, ...history, ...beside];
