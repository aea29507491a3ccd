/** JSON of alerts: camelCase, instants as ISO text, the same keys in every state. Pure. */
import { actionOf, type Alert } from '../../core/alerts/alert.ts';
import { kindText } from '../../core/alerts/kinds.ts';
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
}

/** In the order of their first alerts. */
export function groupsOf(alerts: readonly AlertDocument[]): readonly AlertGroup[] {
  const groups = grouped(alerts, ({ severity, state, kind, job, cause }) =>
    JSON.stringify([severity, state, kind, job, cause]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ first, alerts: group, words: kindText(first.kind, group.length) }];
  });
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
