/** What the warehouse knows of the production of wells within the last days, for a cleanup. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type RecentDays, type RecentProduction, unreadDays } from '../../../core/cleanup/producing.ts';
import { instant, jsonText, readRows } from '../file/sql.ts';

/**
 * A well is read where reads reached those days, and each of them is below the watermark or in the coverage ledger, the
 * last ones left out. An entry of the quarantine without a day counts by the time at which it was noticed.
 */
const statement = `
  WITH asked AS MATERIALIZED (SELECT DISTINCT unnest(from_json($1::JSON, '["VARCHAR"]')) AS uwi),
       known AS (
         SELECT uwi FROM watermark UNION SELECT uwi FROM coverage UNION SELECT uwi FROM well_key
         UNION SELECT uwi FROM quarantine),
       produced AS (
         SELECT uwi, max(production_day)::VARCHAR AS day FROM daily_production
         WHERE date >= ${instant('$2')} AND uwi IN (FROM asked) AND (oil_rate > 0 OR gas_rate > 0 OR water_rate > 0)
         GROUP BY uwi),
       reached AS (SELECT uwi, max(to_day) AS day FROM coverage WHERE uwi IN (FROM asked) GROUP BY uwi),
       due_days AS (
         SELECT unnest(range(${instant('$2')}::DATE, ${instant('$3')}::DATE - ${unreadDays}, INTERVAL 1 DAY))::DATE AS day),
       unread AS (
         SELECT DISTINCT asked.uwi
         FROM asked LEFT JOIN watermark USING (uwi) JOIN due_days ON day >= coalesce(watermark::DATE, DATE '0001-01-01')
         WHERE NOT EXISTS (
           FROM coverage WHERE coverage.uwi = asked.uwi AND from_day <= due_days.day AND due_days.day < to_day)),
       doubtful AS (
         SELECT DISTINCT uwi FROM quarantine
         WHERE uwi IN (FROM asked) AND coalesce(production_day, noticed_at::DATE) >= ${instant('$2')}::DATE)
  SELECT uwi, produced.day AS "producedOn",
    unread.uwi IS NULL
      AND (coalesce(watermark.watermark >= ${instant('$2')}, false) OR coalesce(reached.day > ${instant('$2')}::DATE, false))
      AS "isRead",
    doubtful.uwi IS NOT NULL AS "isQuarantined"
  FROM asked SEMI JOIN known USING (uwi) LEFT JOIN produced USING (uwi) LEFT JOIN watermark USING (uwi)
    LEFT JOIN reached USING (uwi) LEFT JOIN doubtful ON doubtful.uwi = asked.uwi
    LEFT JOIN unread ON unread.uwi = asked.uwi`;

export async function readRecentProduction(
  connection: DuckDBConnection,
  uwis: readonly string[],
  { sinceMs, nowMs }: RecentDays,
): Promise<ReadonlyMap<string, RecentProduction>> {
  const rows = await readRows<RecentProduction & { readonly uwi: string }>(connection, statement, [
    jsonText(uwis),
    BigInt(sinceMs),
    BigInt(nowMs),
  ]);
  return new Map(rows.map(({ uwi, ...known }) => [uwi, known]));
}
