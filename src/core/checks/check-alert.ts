/** The alert of one check of a well: how many days, from when to when, the worst value, and the SQL that shows all. */
import type { FoundAlert } from '../alerts/alert.ts';
import type { AlertState, Severity } from '../alerts/kinds.ts';
import { counted } from '../base/text.ts';
import type { CheckName } from './check.ts';

/** The findings of one check of one well. Days are YYYY-MM-DD. */
export interface CheckSummary {
  readonly check: CheckName;
  readonly uwi: string;
  readonly findings: number;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly severity: Severity;
  /** Of the finding farthest from what is expected; null where no number says it. */
  readonly worstField: string;
  readonly worstValue: number | null;
}

/** With the time of the last finding. */
export interface FoundSummary extends CheckSummary {
  readonly lastFoundAtMs: number;
}

/** An alert of a check as it was last written. */
export interface StandingAlert extends Pick<FoundAlert, 'target' | 'severity' | 'summary' | 'size'> {
  /** The uwi. */
  readonly owner: string;
  readonly state: AlertState;
  /** Of one that is resolved. */
  readonly resolvedAtMs: number | null;
}

type FoundCheck = FoundAlert & { readonly owner: string };

/** What is to be written: all alerts of wells of which one differs from what the checks found. */
export interface DueAlerts {
  readonly owners: readonly string[];
  readonly found: readonly FoundCheck[];
}

/**
 * An alert that a person resolved is of data that are right as they are: a finding that came after it opens it again, and no
 * other change does.
 */
export function dueAlerts(summaries: readonly FoundSummary[], standing: readonly StandingAlert[]): DueAlerts {
  const before = new Map(standing.map((alert) => [alert.target, alert]));
  const found = summaries.flatMap(({ lastFoundAtMs, ...summary }) => {
    const alert = checkAlert(summary);
    const resolvedAtMs = before.get(alert.target)?.resolvedAtMs ?? -Infinity;
    return lastFoundAtMs > resolvedAtMs ? [alert] : [];
  });
  const targets = new Set(found.map(({ target }) => target));
  const isGone = ({ target, state }: StandingAlert): boolean => state !== 'resolved' && !targets.has(target);
  const different = [...found.filter((alert) => !isSame(before.get(alert.target), alert)), ...standing.filter(isGone)];
  const owners = new Set(different.map(({ owner }) => owner));
  return { owners: [...owners], found: found.filter(({ owner }) => owners.has(owner)) };
}

function isSame(before: StandingAlert | undefined, { severity, summary, size }: FoundCheck): boolean {
  if (before === undefined || before.state === 'resolved') return false;
  return before.severity === severity && before.summary === summary && before.size === size;
}

function checkAlert(summary: CheckSummary): FoundCheck {
  const { check, uwi, findings, firstDay, lastDay, severity, worstField, worstValue } = summary;
  const days = findings === 1 ? firstDay : `${counted(findings, 'day')}, ${firstDay} to ${lastDay}`;
  const worst = worstValue === null ? worstField : `${worstField} ${worstValue}`;
  const quoted = uwi.replaceAll("'", "''");
  const sql = `SELECT * FROM check_result WHERE "check" = '${check}' AND uwi = '${quoted}' ORDER BY production_day`;
  return {
    target: `${uwi} ${check}`,
    owner: uwi,
    severity,
    cause: check,
    summary: `${days}${findings === 1 ? ':' : '; at worst'} ${worst}`,
    detail: { check, findings, firstDay, lastDay, field: worstField, worstValue, sql },
    size: findings,
  };
}
