/**
 * A part of schema version 6: when old rows were last pruned, and before which time the history is no longer complete.
 * What was known before that horizon is refused, since no answer would be right.
 */
import { named } from '../../sql/daily/row-fields.ts';
import { rowColumns } from './columns.ts';

const isWithinHistory = `(SELECT CASE WHEN history_horizon > moment::TIMESTAMPTZ
  THEN error('the history begins at ' || history_horizon || ': what was known before is no longer kept (retention.historyDays)')
  ELSE true END FROM warehouse)`;

export const retentionSchema: readonly string[] = [
  `ALTER TABLE warehouse ADD COLUMN pruned_at TIMESTAMPTZ`,
  `ALTER TABLE warehouse ADD COLUMN history_horizon TIMESTAMPTZ`,
  `CREATE OR REPLACE MACRO daily_production_as_known(moment) AS TABLE
     SELECT ${named(rowColumns)} FROM daily_production WHERE changed_at <= moment::TIMESTAMPTZ AND ${isWithinHistory}
     UNION ALL
     SELECT ${named(rowColumns)} FROM daily_production_history
     WHERE known_from <= moment::TIMESTAMPTZ AND noticed_at > moment::TIMESTAMPTZ AND ${isWithinHistory}`,
];
