/** Daily production as it was known at a time, as a function for readers, exact to the commit. */
import { declared, named } from '../../sql/daily/row-fields.ts';
import { serviceColumns } from './daily-columns.ts';

const columns = `uwi, ${named(serviceColumns)}`;

/** A column of a result has no order of its own: the rows bring it. */
const returned = `uwi TEXT, ${declared(serviceColumns)}`.replaceAll(' COLLATE "C"', '');

/** What was known before the horizon of the history is refused, since no answer would be right. */
export const knownTimesSchema: readonly string[] = [
  `CREATE FUNCTION daily_production_as_known(moment TIMESTAMPTZ)
     RETURNS TABLE (${returned}) LANGUAGE plpgsql STABLE AS $$
   #variable_conflict use_column
   DECLARE horizon TIMESTAMPTZ := (SELECT history_horizon FROM warehouse);
   BEGIN
     IF horizon > moment THEN
       RAISE EXCEPTION 'the history begins at %: what was known before is no longer kept (retention.historyDays)', horizon;
     END IF;
     RETURN QUERY
       SELECT ${columns} FROM daily_production WHERE changed_at <= moment
       UNION ALL
       SELECT ${columns} FROM daily_production_history WHERE known_from <= moment AND noticed_at > moment;
   END $$`,
];
