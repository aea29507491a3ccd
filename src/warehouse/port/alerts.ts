/** Port to alerts (core/alerts/alert.ts). What opens and resolves them is in the transactions of the other stores. */
import type { ReportedAlerts } from '../../core/run/run.ts';
import type { Alert, Observation } from '../../core/alerts/alert.ts';
import type { AlertKind, AlertState, Severity } from '../../core/alerts/kinds.ts';

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
export interface OpenAlerts extends ReportedAlerts {
  /** Whether their targets are all wells. */
  readonly areWells: boolean;
}

/** What changed of an alert, and by whom: a run, a person, an observer. */
export interface AlertChange {
  readonly change: 'opened' | 'reopened' | 'worsened' | 'reminded' | 'acknowledged' | 'resolved';
  readonly atMs: number;
  readonly by: string;
  readonly because: string | undefined;
  readonly severity: Severity;
  readonly size: number;
}

/** Who saw it: an observer, and when, milliseconds since 1970. */
export interface Observed {
  readonly by: string;
  readonly atMs: number;
  /** When the receiver was told of it, where that was before it could be written. */
  readonly sentAtMs?: number;
}

export interface AlertStore {
  /** Opens, renews and resolves alerts, in one transaction. */
  observe(observations: readonly Observation[], observed: Observed): Promise<void>;
  /** Throws UsageError for an invalid cursor. */
  list(filter: AlertFilter): Promise<AlertPage>;
  /** Alerts whose ids begin with the prefix: at most `limit`, by id. */
  find(prefix: string, limit: number, nowMs: number): Promise<readonly Alert[]>;
  /** Those with these ids, by id; `withGroups`: and all that have the kind, job, cause and state of one of them. */
  read(
    ids: readonly string[],
    how: { readonly nowMs: number; readonly withGroups: boolean },
  ): Promise<readonly Alert[]>;
  /** The changes of an alert, the oldest first. */
  changes(id: string): Promise<readonly AlertChange[]>;
  /** Open ones, as {@link AlertFilter.states} has them. */
  countOpen(nowMs: number): Promise<readonly OpenAlerts[]>;
  /** Acknowledges those that are not resolved; returns their ids. Without `untilMs`, until they are worse. */
  acknowledge(act: AlertAct & { readonly untilMs: number | undefined }): Promise<readonly string[]>;
  /** Resolves those that are not resolved; returns their ids. */
  resolve(act: AlertAct): Promise<readonly string[]>;
  /**
   * Accepts the records of those that are of a record in quarantine and not resolved, and resolves them; returns their ids.
   * From then on a record of that well, xid and content stays in quarantine without an alert, and counts as accepted.
   */
  accept(act: AlertAct): Promise<readonly string[]>;
  readonly outbox: AlertOutbox;
}

/**
 * One message for the receiver: what one run, person or observer changed of the alerts of one cause. A run is told of once
 * it has ended.
 */
export interface AlertMessage {
  /** The same when it is sent again. */
  readonly id: string;
  readonly change: 'opened' | 'reopened' | 'worsened' | 'reminded' | 'resolved';
  readonly kind: AlertKind;
  readonly severity: Severity;
  readonly job: string | null;
  /** That of the first of them; `isOfAll`: and of all others. */
  readonly summary: string;
  readonly isOfAll: boolean;
  /** Why a person resolved them; null where work did. */
  readonly because: string | null;
  readonly alerts: number;
  /** Names of the first ten targets, and the ids of their alerts. */
  readonly targets: readonly string[];
  readonly ids: readonly string[];
  /** A run, a person, or an observer. */
  readonly by: string;
  readonly atMs: number;
}

/** Messages that wait for the receiver. */
export interface WaitingMessages {
  readonly messages: number;
  /** Since when the oldest one waits, milliseconds since 1970; undefined if none does. */
  readonly sinceMs: number | undefined;
}

/** Messages of changes that are errors or warnings. Each is kept for the receiver for three days, whoever sends it. */
export interface AlertOutbox {
  /** Claims at most `limit` messages for a minute, the oldest first: no other process is given them meanwhile. */
  take(limit: number, nowMs: number): Promise<readonly AlertMessage[]>;
  /** The receiver has not taken them: any process may send them again at once. */
  release(ids: readonly string[]): Promise<void>;
  /** The receiver has taken them. */
  settle(ids: readonly string[], atMs: number): Promise<void>;
  waiting(nowMs: number): Promise<WaitingMessages>;
}
