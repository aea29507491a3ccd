/**
 * `check_result`: the findings that stand, and their alerts. What is evaluated again is compared with them, and only
 * what differs is written.
 */
import {
  type CheckSummary,
  dueAlerts,
  type FoundSummary,
  type StandingAlert,
} from '../../../core/checks/check-alert.ts';
import type { Evaluated, Finding } from '../../../core/checks/evaluate.ts';
import { type CheckSettings, type DayRange, severityOf } from '../../../core/checks/check.ts';
import { dayText } from '../../../core/time/production-day.ts';
import { rankOf, recordObservation } from '../alerts/alert-state.ts';
import {
  epochMs,
  jsonText,
  numberOfDay,
  runOver,
  type SqlColumns,
  type SqlSession,
  type SqlValue,
} from '../session.ts';

/** The findings of a well on the days that were evaluated. */
export interface EvaluatedWell extends Pick<Evaluated, 'findings' | 'rangeOf'> {
  readonly uwi: string;
}

interface StandingFinding extends Finding {
  readonly uwi: string;
  readonly severity: string;
  /** Of the run that found it first, and when. */
  readonly runId: string | null;
  readonly atMs: number;
}

/** Those of wells on some days, both ends included, by uwi. */
export async function readStanding(
  session: SqlSession,
  uwis: readonly string[],
  { fromDay, toDay }: DayRange,
): Promise<ReadonlyMap<string, readonly StandingFinding[]>> {
  const rows = await session.rows<StandingFinding>(
    `SELECT "check", uwi, ${numberOfDay('production_day')} AS day, field, value, expected, severity,
       run_id AS "runId", ${epochMs('found_at')} AS "atMs"
     FROM check_result WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})
       AND ${numberOfDay('production_day')} BETWEEN $2 AND $3`,
    [jsonText(uwis), fromDay, toDay],
  );
  const standing = new Map<string, StandingFinding[]>();
  for (const row of rows) {
    const own = standing.get(row.uwi);
    if (own === undefined) standing.set(row.uwi, [row]);
    else own.push(row);
  }
  return standing;
}

/**
 * Writes what differs from what stands in the evaluated days. A value that still stands out keeps the run and the time that found
 * it first, whatever is expected by now: days that come move a median.
 */
export async function replaceFindings(
  session: SqlSession,
  evaluated: readonly EvaluatedWell[],
  standing: ReadonlyMap<string, readonly StandingFinding[]>,
  settings: CheckSettings,
  { runId, atMs }: { readonly runId: string | null; readonly atMs: number },
): Promise<void> {
  const gone: Array<Pick<StandingFinding, 'uwi' | 'check' | 'day'>> = [];
  const written: StandingFinding[] = [];
  for (const { uwi, rangeOf, findings } of evaluated) {
    const isEvaluated = ({ check, day }: Finding): boolean => {
      const { fromDay, toDay } = rangeOf(check);
      return day >= fromDay && day <= toDay;
    };
    const before = new Map((standing.get(uwi) ?? []).filter(isEvaluated).map((each) => [keyOf(each), each]));
    for (const finding of findings) {
      const severity = severityOf(settings, finding.check);
      const known = before.get(keyOf(finding));
      const found = { ...finding, uwi, severity, runId, atMs };
      if (known === undefined || !isOfSameValue(known, finding)) written.push(found);
      else if (isSame(known, found)) before.delete(keyOf(finding));
      else written.push({ ...found, runId: known.runId, atMs: known.atMs });
    }
    for (const { check, day } of before.values()) gone.push({ uwi, check, day });
  }
  const relation = session.dialect.relation('$1', { uwi: 'VARCHAR', check: 'VARCHAR', day: 'INTEGER' });
  await runOver(
    session,
    gone,
    `DELETE FROM check_result AS c USING ${relation} g WHERE c.uwi = g.uwi AND c."check" = g."check"
       AND ${numberOfDay('c.production_day')} = g.day`,
  );
  if (written.length > 0) await session.append('check_result', columns, written);
  await markChanged(session, [...new Set([...gone, ...written].map(({ uwi }) => uwi))]);
}

/** Their alerts are made anew by {@link observeFindings}. */
export async function markChanged(session: SqlSession, uwis: readonly string[]): Promise<void> {
  if (uwis.length === 0) return;
  await session.append(
    'check_change',
    { uwi: ({ uwi }: { readonly uwi: string }) => uwi },
    uwis.map((uwi) => ({ uwi })),
  );
}

function keyOf({ check, day }: Pick<Finding, 'check' | 'day'>): string {
  return `${day} ${check}`;
}

function isOfSameValue(left: Finding, right: Finding): boolean {
  return left.field === right.field && left.value === right.value;
}

function isSame(left: StandingFinding, right: StandingFinding): boolean {
  return isOfSameValue(left, right) && left.expected === right.expected && left.severity === right.severity;
}

const columns: SqlColumns<StandingFinding> = {
  '"check"': ({ check }) => check,
  uwi: ({ uwi }) => uwi,
  production_day: ({ day }) => dayText(day),
  field: ({ field }) => field,
  value: ({ value }) => value,
  expected: ({ expected }) => expected,
  severity: ({ severity }) => severity,
  run_id: ({ runId }) => runId,
  found_at: ({ atMs }) => new Date(atMs),
};

// An alert for each check of a well that has findings: `info`, unless the configuration says otherwise.

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
 * Makes the alerts of wells whose findings have changed those of the findings that stand, whoever wrote these and when: a run does
 * it once, at its end. Where nothing has changed it costs one statement. Returns whether wells are left, for a transaction after
 * this one.
 */
export async function observeFindings(
  session: SqlSession,
  { sql, values }: CheckedWells,
  { by, atMs }: { readonly by: string; readonly atMs: number },
): Promise<boolean> {
  const { dialect } = session;
  const changed = await session.rows<{ uwi: string }>(
    `SELECT DISTINCT uwi FROM check_change WHERE uwi IN (${sql}) ORDER BY uwi LIMIT ${mostWellsAtOnce}`,
    values,
  );
  if (changed.length === 0) return false;
  const uwis = jsonText(changed.map(({ uwi }) => uwi));
  const among = `IN (SELECT ${dialect.each('$1', 'VARCHAR')})`;
  // Before the findings are read: what a commit marks after this stays for the next time.
  await session.run(`DELETE FROM check_change WHERE uwi ${among}`, [uwis]);
  const lastFound = `, ${epochMs('max(found_at)')} AS "lastFoundAtMs"`;
  const summaries = await readSummaries<FoundSummary>(session, `uwi ${among}`, [uwis], lastFound);
  const standing = await session.rows<StandingAlert>(
    `SELECT a.owner, a.target, a.state, a.severity, a.summary, a.size, ${epochMs('a.resolved_at')} AS "resolvedAtMs"
     FROM alert a WHERE a.kind = 'check' AND a.owner ${among}`,
    [uwis],
  );
  const { owners, found } = dueAlerts(summaries, standing);
  if (owners.length > 0) {
    const part = (name: string): string => `(CAST($1 AS JSON)->'${name}')`;
    await recordObservation(session, {
      ...ofChecks,
      values: [jsonText({ owners, found: found.map((alert) => ({ ...alert, detail: JSON.stringify(alert.detail) })) })],
      by,
      atMs,
      observed: `SELECT ${dialect.each(part('owners'), 'VARCHAR')}`,
      ...(found.length > 0 && { found: `SELECT * FROM ${dialect.relation(part('found'), fields)} w` }),
    });
  }
  return changed.length === mostWellsAtOnce;
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
  const worst = (column: string): string => session.dialect.firstBy(column, [`-${distance}`, 'production_day']);
  return session.rows(
    `SELECT "check", uwi, count(*) AS findings, min(production_day) AS "firstDay", max(production_day) AS "lastDay",
       CASE max(${rankOf('severity')}) WHEN 2 THEN 'error' WHEN 1 THEN 'warning' ELSE 'info' END AS severity,
       ${worst('field')} AS "worstField", ${worst('value')} AS "worstValue" ${more}
     FROM check_result WHERE ${condition} GROUP BY "check", uwi ORDER BY findings DESC, "check", uwi`,
    values,
  );
}
