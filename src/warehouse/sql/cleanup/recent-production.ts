/** What the warehouse knows of the production of wells within the last days, for a cleanup. */
import { type RecentDays, type RecentProduction, unreadDays } from '../../../core/cleanup/producing.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import { jsonText } from '../json-text.ts';
import { dayOfNumber, type SqlDialect, type SqlSession } from '../session.ts';

/**
 * A well is read where reads reached those days, and each of them is below the watermark or in the coverage ledger, the
 * last ones left out. An entry of the quarantine without a day counts by the time at which it was noticed.
 */
const statementOf = (dialect: SqlDialect): string => `
  WITH asked AS MATERIALIZED (SELECT DISTINCT ${dialect.each('$1', 'VARCHAR')} AS uwi),
       due_day AS (SELECT ${dayOfNumber('number')} AS day FROM (SELECT ${dialect.each('$3', 'INTEGER')} AS number) numbers),
       known AS (
         SELECT uwi FROM watermark UNION SELECT uwi FROM coverage UNION SELECT uwi FROM well_key
         UNION SELECT uwi FROM quarantine),
       produced AS (
         SELECT uwi, max(production_day) AS day FROM daily_production
         WHERE date >= $2::TIMESTAMPTZ AND uwi IN (SELECT uwi FROM asked)
           AND (oil_rate > 0 OR gas_rate > 0 OR water_rate > 0)
         GROUP BY uwi),
       reached AS (
         SELECT uwi, max(to_day) AS day FROM coverage WHERE uwi IN (SELECT uwi FROM asked) GROUP BY uwi),
       unread AS (
         SELECT DISTINCT asked.uwi
         FROM asked LEFT JOIN watermark USING (uwi)
           JOIN due_day ON day >= coalesce(watermark::DATE, DATE '0001-01-01')
         WHERE NOT EXISTS (
           SELECT 1 FROM coverage
           WHERE coverage.uwi = asked.uwi AND from_day <= due_day.day AND due_day.day < to_day)),
       doubtful AS (
         SELECT DISTINCT uwi FROM quarantine
         WHERE uwi IN (SELECT uwi FROM asked)
           AND coalesce(production_day, noticed_at::DATE) >= $2::TIMESTAMPTZ::DATE)
  SELECT asked.uwi, produced.day AS "producedOn",
    unread.uwi IS NULL
      AND (coalesce(watermark.watermark >= $2::TIMESTAMPTZ, false)
        OR coalesce(reached.day > $2::TIMESTAMPTZ::DATE, false))
      AS "isRead",
    doubtful.uwi IS NOT NULL AS "isQuarantined"
  FROM asked LEFT JOIN produced ON produced.uwi = asked.uwi LEFT JOIN watermark ON watermark.uwi = asked.uwi
    LEFT JOIN reached ON reached.uwi = asked.uwi LEFT JOIN doubtful ON doubtful.uwi = asked.uwi
    LEFT JOIN unread ON unread.uwi = asked.uwi
  WHERE asked.uwi IN (SELECT uwi FROM known)`;

export async function readRecentProduction(
  session: SqlSession,
  uwis: readonly string[],
  { sinceMs, nowMs }: RecentDays,
): Promise<ReadonlyMap<string, RecentProduction>> {
  const rows = await session.rows<RecentProduction & { readonly uwi: string }>(statementOf(session.dialect), [
    jsonText(uwis),
    new Date(sinceMs),
    jsonText(dueDays({ sinceMs, nowMs })),
  ]);
  return new Map(rows.map(({ uwi, ...known }) => [uwi, known]));
}

/** Numbers of the days, in UTC, that must have been read. */
function dueDays({ sinceMs, nowMs }: RecentDays): readonly number[] {
  const first = Math.floor(sinceMs / DAY_MS);
  const count = Math.floor(nowMs / DAY_MS) - unreadDays - first;
  return Array.from({ length: Math.max(count, 0) }, (_, index) => first + index);
}
