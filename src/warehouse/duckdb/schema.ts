/** The schema of the DuckDB warehouse: the tables that both engines have, and those behind the view of daily production. */
import { UnreachableError } from '../../core/base/errors.ts';
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
import { diskOutage, isDiskTrouble, messageOf } from './file/engine.ts';
import type { SqlSession } from '../sql/session.ts';
import { duckdbDialect, type DuckdbSession, inTransaction } from './file/session.ts';

const types = { text: 'VARCHAR', double: 'DOUBLE' };

/** A row of the service, with its well. */
export const rowColumns: readonly Column[] = [{ name: 'uwi', type: types.text }, ...serviceColumnsOf(types)];

/** What of a row is compared, updated and kept in the history. */
export const valueColumns: readonly Column[] = rowColumns.slice(2);

/** Between the dates and the extras. */
export const measureColumns: readonly Column[] = valueColumns.slice(2, -1);

const readersColumns = `${named(rowColumns, 'd')}, d.inserted_run_id, d.changed_run_id, d.changed_at`;

/**
 * Readers see the table under its name as a view; the key of a well is internal, since DuckDB prunes row groups by an
 * integer and not by texts with a common prefix. No key on the large tables: DuckDB's key index stays in memory (about 60
 * bytes a row) and slows every insert. Since one transaction writes at a time, the merge itself keeps (uwi, xid) unique.
 */
const dailyProduction: readonly string[] = [
  `CREATE TABLE well_key (well_id INTEGER PRIMARY KEY, uwi VARCHAR NOT NULL UNIQUE)`,
  `CREATE TABLE internal.daily_production (well_id INTEGER NOT NULL, ${declared(rowColumns)},
     inserted_run_id VARCHAR, changed_run_id VARCHAR, changed_at TIMESTAMPTZ)`,
  `CREATE VIEW daily_production AS SELECT ${readersColumns}, ${counts}
     FROM internal.daily_production d ${conflictOfRecord}`,
  oneRowADay,
  monthlyProductionView(duckdbDialect),
  // A mark is new each time a month is touched, so that a publication takes away the marks that it saw and no later one.
  // No default: DuckDB cannot read one that calls a function back out of its log after a kill.
  `CREATE TABLE feed_month (production_month DATE PRIMARY KEY, touched_at TIMESTAMPTZ NOT NULL, mark UUID)`,
];

/** What was known before the horizon is refused, since no answer would be right. */
const isWithinHistory = `(SELECT CASE WHEN history_horizon > moment::TIMESTAMPTZ
  THEN error('the history begins at ' || history_horizon || ': what was known before is no longer kept (retention.historyDays)')
  ELSE true END FROM warehouse)`;

const asKnown = `CREATE MACRO daily_production_as_known(moment) AS TABLE
  SELECT ${named(rowColumns)} FROM daily_production WHERE changed_at <= moment::TIMESTAMPTZ AND ${isWithinHistory}
  UNION ALL
  SELECT ${named(rowColumns)} FROM daily_production_history
  WHERE known_from <= moment::TIMESTAMPTZ AND noticed_at > moment::TIMESTAMPTZ AND ${isWithinHistory}`;

/** The key of the last well that the rewriting of daily production has looked at, and the instant of the last change. */
const ownIdentity: readonly string[] = [
  `ALTER TABLE warehouse ADD COLUMN order_place INTEGER`,
  `ALTER TABLE warehouse ADD COLUMN last_change_at TIMESTAMPTZ`,
  `INSERT INTO warehouse (warehouse_id, epoch, created_at) VALUES (uuid()::VARCHAR, 0, current_timestamp)`,
];

const schemaSteps: SchemaSteps = [
  [...sharedStatements(types), ...dailyProduction, asKnown, ...ownIdentity],
  ...laterSteps(types),
];

export const schemaVersion = versionOf(schemaSteps);

/** As {@link requireKnown}, for a file that is only read. */
export function readKnownVersion(session: SqlSession, location: string): Promise<number> {
  return requireKnown(session, location, schemaVersion);
}

/**
 * Brings the file to the schema of this version, with the tables of all lists; returns the version that it had, 0 for a
 * new file. Each step is applied
 * once, in one transaction with its number: a kill between two steps leaves a file of the version between, which the next
 * opening takes further. Throws UnreachableError if the file is of another version, or if its tables are not wellsync's;
 * OutageError if its disk is full or fails.
 */
export async function migrate(
  session: DuckdbSession,
  location: string,
  nowMs: number,
  steps = schemaSteps,
): Promise<number> {
  const found = await requireKnown(session, location, versionOf(steps));
  const change = async (aim: string, work: () => Promise<void>): Promise<void> => {
    try {
      await inTransaction(session.connection, work);
    } catch (error) {
      if (isDiskTrouble(error)) throw diskOutage(error, location);
      throw new UnreachableError('warehouse', `${location} could not be ${aim}: ${messageOf(error)}`, {
        hint: 'If the file belongs to something else, set WELLSYNC_WAREHOUSE to another one.',
        cause: error,
      });
    }
  };
  for (const [version, statements] of stepsFrom(steps, found, location)) {
    await change(`brought to schema version ${version}`, async () => {
      for (const statement of [schemaVersionTable, ...statements]) await session.run(statement);
      await session.run('INSERT INTO schema_version VALUES ($1, $2)', [version, new Date(nowMs)]);
    });
  }
  for (const { name, made } of await missingTables(session, types)) {
    await change(`given the table ${name}`, async () => void (await session.run(made)));
  }
  return found;
}
