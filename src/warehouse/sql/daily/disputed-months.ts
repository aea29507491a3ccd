/** Where the service said otherwise later: months with held rows, and with days of which a version ended. */
import type { CoverageStore, DisputedMonth } from '../../port/daily-production.ts';
import { type InSession, jsonText } from '../session.ts';

export const readDisputedWells: InSession<CoverageStore['disputedWells']> = async (session) => {
  const wells = async (table: string): Promise<readonly string[]> =>
    (await session.rows<{ uwi: string }>(`SELECT DISTINCT uwi FROM ${table}`)).map(({ uwi }) => uwi);
  return { held: await wells('held_month'), restated: await wells('daily_production_history') };
};

export const readDisputedMonths: InSession<CoverageStore['disputedMonths']> = (session, uwis) => {
  const isNamed = `uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  const monthOf = (day: string): string => `substr(CAST(${day} AS VARCHAR), 1, 7)`;
  return session.rows<DisputedMonth>(
    `SELECT uwi, month, CAST(sum(held) AS BIGINT) AS "heldRows", CAST(sum(restated) AS BIGINT) AS "restatedDays" FROM (
       SELECT uwi, ${monthOf('month')} AS month, rows_missing AS held, 0 AS restated FROM held_month WHERE ${isNamed}
       UNION ALL SELECT uwi, ${monthOf('production_day')}, 0, count(DISTINCT production_day) FROM daily_production_history
         WHERE ${isNamed} AND production_day IS NOT NULL GROUP BY 1, 2) every
     GROUP BY uwi, month ORDER BY uwi, month`,
    [jsonText(uwis)],
  );
};
