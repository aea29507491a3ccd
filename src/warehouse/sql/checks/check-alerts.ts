/** An alert for each check of a well that has findings: `info`, unless the configuration says otherwise. */
import { checkAlert, type CheckSummary } from '../../../core/checks/check-alert.ts';
import { rankOf, recordObservation } from '../alerts/observation.ts';
import { jsonText, type SqlSession, type SqlValue } from '../session.ts';

const fields = {
  target: 'VARCHAR',
  owner: 'VARCHAR',
  severity: 'VARCHAR',
  cause: 'VARCHAR',
  summary: 'VARCHAR',
  detail: 'VARCHAR',
  size: 'BIGINT',
} as const;

/** After a change of the findings of these wells. */
export async function observeFindings(
  session: SqlSession,
  uwis: readonly string[],
  { by, atMs }: { readonly by: string; readonly atMs: number },
): Promise<void> {
  if (uwis.length === 0) return;
  const { dialect } = session;
  const named = `uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})`;
  const summaries = await readSummaries(session, named, [jsonText(uwis)]);
  const found = summaries.map(checkAlert).map((each) => ({ ...each, detail: JSON.stringify(each.detail) }));
  const part = (name: string): string => `(CAST($1 AS JSON)->'${name}')`;
  await recordObservation(session, {
    kind: 'check',
    job: 'export daily-production',
    targetKind: 'check',
    values: [jsonText({ uwis, found })],
    by,
    atMs,
    observed: `SELECT ${dialect.each(part('uwis'), 'VARCHAR')}`,
    ...(found.length > 0 && { found: `SELECT * FROM ${dialect.relation(part('found'), fields)} w` }),
  });
}

/** SQL of how far a value is from what is expected, of numbers that an engine may not be able to subtract. */
const distance = `abs(least(greatest(coalesce(value, 0), -1e300), 1e300) - least(greatest(coalesce(expected, 0), -1e300), 1e300))`;

/** The findings that meet a condition, by check and well, the most first. */
export function readSummaries(
  session: SqlSession,
  condition: string,
  values: readonly SqlValue[],
): Promise<readonly CheckSummary[]> {
  const worst = (column: string): string => `(array_agg(${column} ORDER BY ${distance} DESC, production_day))[1]`;
  return session.rows(
    `SELECT "check", uwi, count(*) AS findings, min(production_day) AS "firstDay", max(production_day) AS "lastDay",
       CASE max(${rankOf('severity')}) WHEN 2 THEN 'error' WHEN 1 THEN 'warning' ELSE 'info' END AS severity,
       ${worst('field')} AS "worstField", ${worst('value')} AS "worstValue"
     FROM check_result WHERE ${condition} GROUP BY "check", uwi ORDER BY findings DESC, "check", uwi`,
    values,
  );
}
