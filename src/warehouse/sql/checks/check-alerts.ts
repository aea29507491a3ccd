/** An alert for each check of a well that has findings: `info`, unless the configuration says otherwise. */
import { checkAlert, type CheckSummary, targetOf } from '../../../core/checks/check-alert.ts';
import { idOfAlert, rankOf, recordObservation } from '../alerts/observation.ts';
import type { ChangedFindings } from './findings.ts';
import { jsonText, type SqlSession, type SqlValue } from '../session.ts';

const fields = {
  target: 'VARCHAR',
  owner: 'VARCHAR',
  severity: 'VARCHAR',
  cause: 'VARCHAR',
  summary: 'VARCHAR',
  detail: 'VARCHAR',
  size: 'BIGINT',
  isNew: 'INTEGER',
} as const;

const ofChecks = { kind: 'check', job: 'export daily-production', targetKind: 'check' } as const;

/**
 * After changes of findings. An alert that a person resolved is of data that are right as they are: another finding opens it
 * again, and no other change does.
 */
export async function observeFindings(
  session: SqlSession,
  changes: readonly ChangedFindings[],
  { by, atMs }: { readonly by: string; readonly atMs: number },
): Promise<void> {
  const uwis = [...new Set(changes.flatMap((each) => each.uwis))];
  if (uwis.length === 0) return;
  const added = new Set(changes.flatMap((each) => each.added).map(targetOf));
  const { dialect } = session;
  const named = `uwi IN (SELECT ${dialect.each('$1', 'VARCHAR')})`;
  const summaries = await readSummaries(session, named, [jsonText(uwis)]);
  const found = summaries.map((summary) => {
    const alert = checkAlert(summary);
    return { ...alert, detail: JSON.stringify(alert.detail), isNew: added.has(targetOf(summary)) ? 1 : 0 };
  });
  const part = (name: string): string => `(CAST($1 AS JSON)->'${name}')`;
  await recordObservation(session, {
    ...ofChecks,
    values: [jsonText({ uwis, found })],
    by,
    atMs,
    observed: `SELECT ${dialect.each(part('uwis'), 'VARCHAR')}`,
    ...(found.length > 0 && {
      found: `SELECT * FROM ${dialect.relation(part('found'), fields)} w WHERE w."isNew" = 1 OR NOT EXISTS (
        SELECT 1 FROM alert r WHERE r.alert_id = ${idOfAlert(session, ofChecks, 'w.target')} AND r.state = 'resolved')`,
    }),
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
