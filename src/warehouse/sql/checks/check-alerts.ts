/** An alert for each check of a well that has findings: `info`, unless the configuration says otherwise. */
import {
  type CheckSummary,
  dueAlerts,
  type FoundSummary,
  type StandingAlert,
} from '../../../core/checks/check-alert.ts';
import { rankOf, recordObservation } from '../alerts/observation.ts';
import { epochMs, jsonText, type SqlSession, type SqlValue } from '../session.ts';

const fields = {
  target: 'VARCHAR',
  owner: 'VARCHAR',
  severity: 'VARCHAR',
  cause: 'VARCHAR',
  summary: 'VARCHAR',
  detail: 'VARCHAR',
  size: 'BIGINT',
} as const;

const ofChecks = { kind: 'check', job: 'export daily-production', targetKind: 'check' } as const;

/** Wells of one transaction: alerts of more would not fit the memory of an engine (G8). */
const mostWellsAtOnce = 5_000;

/** SQL that selects uwis, with its values. */
export interface CheckedWells {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * Makes the alerts of wells those of the findings that stand, whoever wrote these and when: a run does it once, at its end. Where
 * nothing differs it costs two statements. Returns whether wells are left, for a transaction after this one.
 */
export async function observeFindings(
  session: SqlSession,
  { sql, values }: CheckedWells,
  { by, atMs }: { readonly by: string; readonly atMs: number },
): Promise<boolean> {
  const lastFound = `, ${epochMs('max(found_at)')} AS "lastFoundAtMs"`;
  const summaries = await readSummaries<FoundSummary>(session, `uwi IN (${sql})`, values, lastFound);
  const standing = await session.rows<StandingAlert>(
    `SELECT a.owner, a.target, a.state, a.severity, a.summary, a.size, ${epochMs('a.resolved_at')} AS "resolvedAtMs"
     FROM alert a WHERE a.kind = 'check' AND a.owner IN (${sql})`,
    values,
  );
  const { owners, found } = dueAlerts(summaries, standing, mostWellsAtOnce);
  if (owners.length === 0) return false;
  const { dialect } = session;
  const part = (name: string): string => `(CAST($1 AS JSON)->'${name}')`;
  await recordObservation(session, {
    ...ofChecks,
    values: [jsonText({ owners, found: found.map((alert) => ({ ...alert, detail: JSON.stringify(alert.detail) })) })],
    by,
    atMs,
    observed: `SELECT ${dialect.each(part('owners'), 'VARCHAR')}`,
    ...(found.length > 0 && { found: `SELECT * FROM ${dialect.relation(part('found'), fields)} w` }),
  });
  return owners.length === mostWellsAtOnce;
}

/** SQL of how far a value is from what is expected, of numbers that an engine may not be able to subtract. */
const distance = `abs(least(greatest(coalesce(value, 0), -1e300), 1e300) - least(greatest(coalesce(expected, 0), -1e300), 1e300))`;

/** The findings that meet a condition, by check and well, the most first; `more`: SQL of further columns. */
export function readSummaries<Row extends CheckSummary>(
  session: SqlSession,
  condition: string,
  values: readonly SqlValue[],
  more = '',
): Promise<readonly Row[]> {
  const worst = (column: string): string => `(array_agg(${column} ORDER BY ${distance} DESC, production_day))[1]`;
  return session.rows(
    `SELECT "check", uwi, count(*) AS findings, min(production_day) AS "firstDay", max(production_day) AS "lastDay",
       CASE max(${rankOf('severity')}) WHEN 2 THEN 'error' WHEN 1 THEN 'warning' ELSE 'info' END AS severity,
       ${worst('field')} AS "worstField", ${worst('value')} AS "worstValue" ${more}
     FROM check_result WHERE ${condition} GROUP BY "check", uwi ORDER BY findings DESC, "check", uwi`,
    values,
  );
}
