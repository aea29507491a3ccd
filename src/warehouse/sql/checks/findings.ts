/** `check_result`: the findings that stand. What is evaluated again is compared with them, and only what differs is written. */
import type { DayRange } from '../../../core/checks/evaluate.ts';
import type { Finding } from '../../../core/checks/finding.ts';
import { type CheckSettings, severityOf } from '../../../core/checks/settings.ts';
import { dayText } from '../../../core/time/production-day.ts';
import { epochMs, jsonText, numberOfDay, runOver, type SqlColumns, type SqlSession } from '../session.ts';

/** The findings of a well on the days that were evaluated. */
export interface EvaluatedWell {
  readonly uwi: string;
  readonly range: DayRange;
  readonly findings: readonly Finding[];
}

interface StandingFinding extends Finding {
  readonly uwi: string;
  readonly severity: string;
  /** Of the run that found it first, and when. */
  readonly runId: string | null;
  readonly atMs: number;
}

/** Those of these wells, by uwi. */
export async function readStanding(
  session: SqlSession,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, readonly StandingFinding[]>> {
  const rows = await session.rows<StandingFinding>(
    `SELECT "check", uwi, ${numberOfDay('production_day')} AS day, field, value, expected, severity,
       run_id AS "runId", ${epochMs('found_at')} AS "atMs"
     FROM check_result WHERE uwi IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(uwis)],
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
  const gone: object[] = [];
  const written: StandingFinding[] = [];
  for (const { uwi, range, findings } of evaluated) {
    const before = new Map(
      (standing.get(uwi) ?? [])
        .filter(({ day }) => day >= range.fromDay && day <= range.toDay)
        .map((each) => [keyOf(each), each]),
    );
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
