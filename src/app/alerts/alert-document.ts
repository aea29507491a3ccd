/** JSON of alerts: camelCase, instants as ISO text, the same keys in every state. Pure. */
import { actionOf, type Alert } from '../../core/alerts/alert.ts';
import { type AlertKind, alertKinds, kindText } from '../../core/alerts/kinds.ts';
import { grouped } from '../../core/base/lists.ts';
import { isoInstant } from '../../core/base/text.ts';
import type { AlertChange } from '../../warehouse/port/alerts.ts';

export type AlertDocument = ReturnType<typeof alertDocument>;

export function alertDocument(alert: Alert) {
  const { id, kind, state, severity, job, target, cause, summary, detail } = alert;
  const { openedAtMs, openedBy, seenAtMs, acknowledged, untilMs, resolved } = alert;
  return {
    id,
    kind,
    state,
    severity,
    job,
    target,
    cause,
    summary,
    detail,
    action: (state === 'resolved' ? undefined : actionOf(alert)) ?? null,
    openedAt: isoInstant(openedAtMs),
    openedBy,
    seenAt: isoInstant(seenAtMs),
    acknowledgedBy: acknowledged?.by ?? null,
    acknowledgedAt: isoInstant(acknowledged?.atMs),
    acknowledgedBecause: acknowledged?.because ?? null,
    until: isoInstant(untilMs),
    resolvedAt: isoInstant(resolved?.atMs),
    resolvedBy: resolved?.by ?? null,
    resolvedBecause: resolved?.because ?? null,
  };
}

/** The well that an alert is of; undefined where it is of none, or of several. */
export function wellOfAlert({ target }: Pick<AlertDocument, 'target'>): string | undefined {
  if (target.kind === 'well') return target.id;
  const end = target.kind === 'check' || target.kind === 'record' ? target.id.lastIndexOf(' ') : -1;
  return end > 0 ? target.id.slice(0, end) : undefined;
}

/** Alerts of one cause, which are told of together. */
export interface AlertGroup {
  readonly first: AlertDocument;
  readonly alerts: readonly AlertDocument[];
  /** `11 wells failed` */
  readonly words: string;
  /** Who or what may end them. */
  readonly endedBy: (typeof alertKinds)[AlertKind]['endedBy'];
  /** The runs that they are of, as far as they are of any. */
  readonly runIds: readonly string[];
  /** The one run whose retry puts them right. */
  readonly retriedRunId: string | undefined;
}

/** The words of all alerts of groups, by kind: `19 silent wells, 27 checks with findings`. */
export function kindsText(groups: readonly AlertGroup[]): string {
  const byKind = grouped(
    groups.flatMap(({ alerts }) => alerts),
    ({ kind }) => kind,
  );
  return [...byKind.values()].map((alerts) => wordsOf(alerts)).join(', ');
}

/** By the name of the targets, where they are all wells. */
function wordsOf(alerts: readonly AlertDocument[]): string {
  const [first] = alerts;
  if (first === undefined) return '';
  return kindText(
    first.kind,
    alerts.length,
    alerts.every(({ target }) => target.kind === 'well'),
  );
}

function groupOf(first: AlertDocument, alerts: readonly AlertDocument[]): AlertGroup {
  const runIds = [...new Set(alerts.flatMap((alert) => runOf(alert) ?? []))];
  const [runId] = runIds;
  const isRetried = runIds.length === 1 && first.action?.kind === 'retry-run';
  return {
    first,
    alerts,
    words: wordsOf(alerts),
    endedBy: alertKinds[first.kind].endedBy,
    runIds,
    retriedRunId: isRetried ? runId : undefined,
  };
}

function runOf({ detail, openedBy }: AlertDocument): string | undefined {
  const runId = typeof detail['runId'] === 'string' ? detail['runId'] : openedBy;
  return /^\d{8}-\d{6}-/.test(runId) ? runId : undefined;
}

/** In the order of their first alerts. */
export function groupsOf(alerts: readonly AlertDocument[]): readonly AlertGroup[] {
  const groups = grouped(alerts, ({ severity, state, kind, job, cause }) =>
    JSON.stringify([severity, state, kind, job, cause]),
  );
  return [...groups.values()].map(newestSilenceFirst).flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [groupOf(first, group)];
  });
}

/** Of silent wells, those that fell silent last are the news; some may be silent for years. */
function newestSilenceFirst(group: readonly AlertDocument[]): readonly AlertDocument[] {
  if (group[0]?.kind !== 'well-silent') return group;
  const lastDay = ({ detail: { lastDay: day } }: AlertDocument): string => (typeof day === 'string' ? day : '');
  return group.toSorted((left, right) => lastDay(right).localeCompare(lastDay(left)));
}

/** An alert with its changes, the oldest first. */
export function alertHistoryDocument(alert: Alert, changes: readonly AlertChange[]) {
  return {
    ...alertDocument(alert),
    changes: changes.map(({ change, atMs, by, because, severity, size }) => ({
      change,
      at: isoInstant(atMs),
      by,
      because: because ?? null,
      severity,
      size,
    })),
  };
}
