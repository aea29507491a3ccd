/** The alert of one check of a well: how many days, from when to when, the worst value, and the SQL that shows all. */
import type { FoundAlert } from '../alerts/alert.ts';
import type { Severity } from '../alerts/kinds.ts';
import { counted } from '../base/text.ts';
import type { CheckName } from './settings.ts';

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

/** What an alert is of. */
export function targetOf({ uwi, check }: Pick<CheckSummary, 'uwi' | 'check'>): string {
  return `${uwi} ${check}`;
}

export function checkAlert(summary: CheckSummary): FoundAlert & { readonly owner: string } {
  const { check, uwi, findings, firstDay, lastDay, severity, worstField, worstValue } = summary;
  const days = findings === 1 ? firstDay : `${counted(findings, 'day')}, ${firstDay} to ${lastDay}`;
  const worst = worstValue === null ? worstField : `${worstField} ${worstValue}`;
  const quoted = uwi.replaceAll("'", "''");
  const sql = `SELECT * FROM check_result WHERE "check" = '${check}' AND uwi = '${quoted}' ORDER BY production_day`;
  return {
    target: targetOf(summary),
    owner: uwi,
    severity,
    cause: check,
    summary: `${days}${findings === 1 ? ':' : '; at worst'} ${worst}`,
    detail: { check, findings, firstDay, lastDay, field: worstField, worstValue, sql },
    size: findings,
  };
}
