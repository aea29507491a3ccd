/** An alert for each check of a well that has findings: `info`, unless the configuration says otherwise. */
import type { Alert } from '../../../core/alerts/alert.ts';
import { rankOf, recordObservation } from '../alerts/observation.ts';
import { jsonText, type SqlSession } from '../session.ts';

const job: Alert['job'] = 'export daily-production';

/** SQL of how far a value is from what is expected, of numbers that an engine may not be able to subtract. */
const distance = `abs(least(greatest(coalesce(value, 0), -1e300), 1e300) - least(greatest(coalesce(expected, 0), -1e300), 1e300))`;

/** After a change of the findings of these wells. */
export async function observeFindings(
  session: SqlSession,
  uwis: readonly string[],
  { by, atMs }: { readonly by: string; readonly atMs: number },
): Promise<void> {
  if (uwis.length === 0) return;
  const { dialect } = session;
  const named = `SELECT ${dialect.each('$1', 'VARCHAR')}`;
  const [first, last] = ['CAST(c.first_day AS VARCHAR)', 'CAST(c.last_day AS VARCHAR)'];
  const quoted = (text: string): string => `'''' || replace(${text}, '''', '''''') || ''''`;
  const sql = `'SELECT * FROM check_result WHERE "check" = ' || ${quoted('c."check"')} || ' AND uwi = ' || ${quoted('c.uwi')} || ' ORDER BY production_day'`;
  const detail = {
    check: 'c."check"',
    findings: 'c.findings',
    firstDay: first,
    lastDay: last,
    field: 'c.worst_field',
    worstValue: 'c.worst_value',
    sql,
  };
  await recordObservation(session, {
    kind: 'check',
    job,
    targetKind: 'check',
    values: [jsonText(uwis)],
    by,
    atMs,
    observed: named,
    found: `SELECT c.uwi || ' ' || c."check" AS target, c.uwi AS owner, c.severity, c."check" AS cause,
        CASE WHEN c.findings = 1 THEN '1 day' ELSE CAST(c.findings AS VARCHAR) || ' days' END || ', ' || ${first}
          || CASE WHEN c.findings = 1 THEN '' ELSE ' to ' || ${last} END || coalesce('; ' || c.worst_field || ' ' || CAST(c.worst_value AS VARCHAR), '') AS summary,
        c.findings AS size, ${dialect.jsonObject(detail)} AS detail
      FROM (${summaryOf(`uwi IN (${named})`)}) c`,
  });
}

/** SELECT of the findings that meet a condition, a row a check and well. */
export function summaryOf(condition: string): string {
  const worst = (column: string): string => `(array_agg(${column} ORDER BY ${distance} DESC, production_day))[1]`;
  return `SELECT "check", uwi, count(*) AS findings, min(production_day) AS first_day, max(production_day) AS last_day,
      CASE max(${rankOf('severity')}) WHEN 2 THEN 'error' WHEN 1 THEN 'warning' ELSE 'info' END AS severity, ${worst('field')} AS worst_field, ${worst('value')} AS worst_value
    FROM check_result WHERE ${condition} GROUP BY "check", uwi`;
}
