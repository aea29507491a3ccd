/** Port to alerts (core/alerts/alert.ts). What opens and resolves them is in the transactions of the other stores. */
import type { Alert, AlertKind, AlertState, Severity } from '../../core/alerts/alert.ts';

/** Omitted members do not restrict it. */
export interface AlertFilter {
  readonly limit: number;
  /** Now, milliseconds since 1970: by it an acknowledgement is over. */
  readonly nowMs: number;
  /** An acknowledged alert whose time is over counts as open. */
  readonly states?: readonly AlertState[];
  readonly kinds?: readonly AlertKind[];
  /** The target, or the well of a record. */
  readonly target?: string;
  /** Opened at or after, milliseconds since 1970. */
  readonly sinceMs?: number;
  /** {@link AlertPage.cursor} of the page before. */
  readonly cursor?: string;
}

export interface AlertPage {
  /** Errors first, and within a severity the newest first. */
  readonly alerts: readonly Alert[];
  /** Undefined on the last page. */
  readonly cursor: string | undefined;
}

/** What a person says of alerts. */
export interface AlertAct {
  readonly ids: readonly string[];
  readonly by: string;
  readonly because: string;
  readonly atMs: number;
}

/** Alerts of one kind and severity that are open. */
export interface OpenAlerts {
  readonly kind: AlertKind;
  readonly severity: Severity;
  readonly alerts: number;
}

/** What changed of an alert, and by whom: a run, a person, an observer. */
export interface AlertChange {
  readonly change: 'opened' | 'reopened' | 'worsened' | 'acknowledged' | 'resolved';
  readonly atMs: number;
  readonly by: string;
  readonly because: string | undefined;
  readonly severity: Severity;
  readonly size: number;
}

export interface AlertStore {
  /** Throws UsageError for an invalid cursor. */
  list(filter: AlertFilter): Promise<AlertPage>;
  /** Alerts whose ids begin with the prefix: at most `limit`, by id. */
  find(prefix: string, limit: number, nowMs: number): Promise<readonly Alert[]>;
  /** The changes of an alert, the oldest first. */
  changes(id: string): Promise<readonly AlertChange[]>;
  /** Open ones, as {@link AlertFilter.states} has them. */
  countOpen(nowMs: number): Promise<readonly OpenAlerts[]>;
  /** Errors and warnings that a run opened, opened again or found worse: they are what it is exit code 3 for. */
  openedBy(runId: string): Promise<readonly OpenAlerts[]>;
  /** Acknowledges those that are not resolved; returns their ids. Without `untilMs`, until they are worse. */
  acknowledge(act: AlertAct & { readonly untilMs: number | undefined }): Promise<readonly string[]>;
  /** Resolves those that are not resolved; returns their ids. */
  resolve(act: AlertAct): Promise<readonly string[]>;
  /**
   * Accepts the records of those that are of a record in quarantine and not resolved, and resolves them; returns their ids.
   * From then on a record of that well, xid and content stays in quarantine without an alert, and counts as accepted.
   */
  accept(act: AlertAct): Promise<readonly string[]>;
}
