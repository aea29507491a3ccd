/** `check_result`: the findings that stand. What is evaluated again is compared with them, and only what differs is written. */
import type { DayRange } from '../../../core/checks/evaluate.ts';
import type { Finding } from '../../../core/checks/finding.ts';
import { type CheckSettings, severityOf } from '../../../core/checks/settings.ts';
import { dayText } from '../../../core/time/production-day.ts';
import { jsonText, numberOfDay, runOver, type SqlColumns, type SqlSession } from '../session.ts';

/** The findings of a well on the days that were evaluated. */
export interface EvaluatedWell {
  readonly uwi: string;
  readonly range: DayRange;
  readonly findings: readonly Finding[];
}

interface StandingFinding extends Finding {
  readonly uwi: string;
  readonly severity: string;
}

interface NewFinding extends StandingFinding {
  readonly runId: string | null;
  readonly atMs: number;
}

/** Those of these wells, by uwi. */
export async function readStanding(
  session: SqlSession,
  uwis: readonly string[],
): Promise<ReadonlyMap<string, readonly StandingFinding[]>> {
  const rows = await session.rows<StandingFinding>(
    `SELECT "check", uwi, ${numberOfDay('production_day')} AS day, field, value, expected, severity
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
 * Writes what differs from what stands in the evaluated days, and returns the wells of which something does. A finding that
 * stands as it was keeps its run and its time.
 */
export async function replaceFindings(
  session: SqlSession,
  evaluated: readonly EvaluatedWell[],
  standing: ReadonlyMap<string, readonly StandingFinding[]>,
  settings: CheckSettings,
  { runId, atMs }: { readonly runId: string | null; readonly atMs: number },
): Promise<readonly string[]> {
  const gone: object[] = [];
  const added: NewFinding[] = [];
  const changed = new Set<string>();
  for (const { uwi, range, findings } of evaluated) {
    const before = new Map(
      (standing.get(uwi) ?? [])
        .filter(({ day }) => day >= range.fromDay && day <= range.toDay)
        .map((each) => [keyOf(each), each]),
    );
    for (const finding of findings) {
      const severity = severityOf(settings, finding.check);
      const known = before.get(keyOf(finding));
      if (known !== undefined && isSame(known, { ...finding, uwi, severity })) before.delete(keyOf(finding));
      else added.push({ ...finding, uwi, severity, runId, atMs });
    }
    for (const { check, day } of before.values()) gone.push({ uwi, check, day });
    if (before.size > 0 || added.at(-1)?.uwi === uwi) changed.add(uwi);
  }
  const relation = session.dialect.relation('$1', { uwi: 'VARCHAR', check: 'VARCHAR', day: 'INTEGER' });
  await runOver(
    session,
    gone,
    `DELETE FROM check_result AS c USING ${relation} g WHERE c.uwi = g.uwi AND c."check" = g."check"
       AND ${numberOfDay('c.production_day')} = g.day`,
  );
  if (added.length > 0) await session.append('check_result', columns, added);
  return [...changed];
}

function keyOf({ check, day }: Pick<Finding, 'check' | 'day'>): string {
  return `${day} ${check}`;
}

function isSame(left: StandingFinding, right: StandingFinding): boolean {
  return (
    left.field === right.field &&
    left.value === right.value &&
    left.expected === right.expected &&
    left.severity === right.severity
  );
}

const columns: SqlColumns<NewFinding> = {
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
