/** Port to the checks of daily production (docs/production-data.md, Checks): what stands, and what is evaluated on request. */
import type { Severity } from '../../core/alerts/kinds.ts';
import type { CheckSummary } from '../../core/checks/check-alert.ts';
import type { CheckName, CheckSettings } from '../../core/checks/settings.ts';

/** Paths of fields in a well's JSON body, as in WellField; undefined where nothing names one. */
export interface FactFields {
  readonly uwi: string | undefined;
  readonly type: string | undefined;
  readonly status: string | undefined;
  readonly lift: string | undefined;
  readonly timeZone: string | undefined;
}

/** What is checked, and by which words of the wells' records. */
export interface WellChecks {
  readonly settings: CheckSettings;
  /** Undefined where no field is named. */
  readonly facts: FactFields | undefined;
}

export interface FindingRow {
  readonly check: CheckName;
  readonly uwi: string;
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly field: string;
  readonly value: number | null;
  readonly expected: number | null;
  readonly severity: Severity;
  /** Null for a finding of no run. */
  readonly runId: string | null;
  /** ISO 8601. */
  readonly foundAt: string;
}

/** Omitted members do not restrict it. */
export interface FindingFilter {
  readonly checks?: readonly CheckName[] | undefined;
  readonly uwis?: readonly string[] | undefined;
}

export interface CheckStore {
  /** The wells that were ever read, in order, behind `after`; of `uwis`, where they are given. */
  wells(question: {
    readonly after?: string | undefined;
    readonly uwis?: readonly string[] | undefined;
    readonly limit: number;
  }): Promise<readonly string[]>;
  /**
   * Evaluates all days of these wells, in one transaction: their findings, history and alerts are then as if all had come at
   * once. Returns the number of days and of findings; a well without rows has none.
   */
  evaluate(
    uwis: readonly string[],
    checks: WellChecks,
    by: string,
  ): Promise<{ readonly days: number; readonly findings: number }>;
  /** What stands, the most findings first. */
  summaries(filter: FindingFilter): Promise<readonly CheckSummary[]>;
  /** By check, well and day, at most `limit`. */
  findings(filter: FindingFilter & { readonly limit: number }): Promise<readonly FindingRow[]>;
}
