/** Alerts for every face: lists, one with its changes, and what a person says of them (docs/design.md section 11). */
import { actionOf, type Alert } from '../../core/alerts/alert.ts';
import { type AlertKind, alertKinds, type AlertState, kindText } from '../../core/alerts/kinds.ts';
import type { Action } from '../../core/base/action.ts';
import { UsageError } from '../../core/base/errors.ts';
import { isoInstant, listed } from '../../core/base/text.ts';
import { namedInstant } from '../../core/time/production-day.ts';
import type { AlertAct, AlertChange, AlertFilter, AlertStore } from '../../warehouse/port/alerts.ts';
import type { App } from '../app.ts';
import { type InputNames, namesFor } from '../exports/target-input.ts';
import { grouped } from '../../core/base/lists.ts';

interface AlertListInput {
  readonly limit: number;
  readonly kinds?: readonly AlertKind[] | undefined;
  /** By default what is open. */
  readonly states?: readonly AlertState[] | undefined;
  readonly target?: string | undefined;
  /** A day of the zone or an ISO date-time: opened from then on. */
  readonly since?: string | undefined;
  readonly cursor?: string | undefined;
}

/** Throws UsageError for a text that is not a time. */
export function requestAlerts(
  input: AlertListInput,
  context: { readonly timeZone: string; readonly nowMs: number; readonly names?: InputNames<AlertListInput> },
): AlertFilter {
  const { timeZone, nowMs } = context;
  const { limit, kinds, states = ['open'], target, since, cursor } = input;
  const names = namesFor(['since'], context.names);
  return {
    limit,
    nowMs,
    states,
    ...(kinds === undefined ? {} : { kinds }),
    ...(target === undefined ? {} : { target }),
    ...(since === undefined ? {} : { sinceMs: namedInstant(names.since, since, timeZone) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

export async function listAlerts({ ledger }: Pick<App, 'ledger'>, filter: AlertFilter) {
  const { alerts, cursor } = await ledger.alerts.list(filter);
  return { alerts: alerts.map(alertDocument), next: cursor ?? null };
}

/** The alert with this id, or with an id that begins with it, with its changes. Throws as {@link findAlerts} does. */
export async function showAlert({ ledger }: Pick<App, 'ledger'>, given: string, nowMs: number) {
  const alert = await findAlert(ledger.alerts, given, nowMs);
  return alertHistoryDocument(alert, await ledger.alerts.changes(alert.id));
}

const mostCandidatesShown = 5;
const listAction: Action = { kind: 'list-alerts' };

/** Of the beginning of an id. */
const leastIdChars = 4;

async function findAlert(alerts: AlertStore, given: string, nowMs: number): Promise<Alert> {
  // A stray number begins some alert.
  if (given.length < leastIdChars) {
    throw new UsageError(`"${given}" is too short for an alert: give ${leastIdChars} characters of its id or more`, {
      action: listAction,
    });
  }
  const found = await alerts.find(given, mostCandidatesShown, nowMs);
  const [only] = found;
  if (only === undefined) throw new UsageError(`there is no alert ${given}`, { action: listAction });
  if (found.length === 1) return only;
  const issues = found.map(({ id, summary }) => `${id}, ${summary}`);
  throw new UsageError(`several alerts begin with ${given}: give more of the id`, { issues, action: listAction });
}

/** The wells of all alerts that have the kind, job, cause and state of this one. Throws UsageError where it is of no well. */
export async function wellsLikeAlert(
  { ledger: { alerts } }: Pick<App, 'ledger'>,
  given: string,
  nowMs: number,
): Promise<readonly string[]> {
  const { id, summary } = await findAlert(alerts, given, nowMs);
  const group = await alerts.read([id], { nowMs, withGroups: true });
  const uwis = new Set(group.flatMap((alert) => wellOfAlert(alert) ?? []));
  if (uwis.size > 0) return [...uwis];
  throw new UsageError(`the alert ${id} is of no well that could be read: ${summary}`, { action: listAction });
}

/** What a person says, with the ids as they were given: each may be shortened to a unique beginning. */
export interface AlertStatement extends AlertAct {
  /** Whether it is said of all alerts of the kind, job, cause and state of those, which are one line of a list. */
  readonly withGroups: boolean;
}

/** Each of them once. Throws UsageError if an id names no alert, or several, or one that is resolved. */
async function findStated(
  { ledger: { alerts } }: Pick<App, 'ledger'>,
  { ids: given, withGroups, atMs }: AlertStatement,
): Promise<readonly Alert[]> {
  const named = new Map<string, Alert>();
  for (const each of given) {
    const alert = await findAlert(alerts, each, atMs);
    named.set(alert.id, alert);
  }
  refuseResolved([...named.values()]);
  return withGroups ? alerts.read([...named.keys()], { nowMs: atMs, withGroups }) : [...named.values()];
}

/**
 * Acknowledges alerts: they are silent until `untilMs`, or for good, as long as they are not worse. Changes nothing, and
 * throws UsageError, if one of them is resolved.
 */
export async function acknowledgeAlerts(
  app: Pick<App, 'ledger'>,
  statement: AlertStatement & { readonly untilMs: number | undefined },
) {
  const alerts = await findStated(app, statement);
  if (statement.untilMs !== undefined && statement.untilMs <= statement.atMs) {
    throw new UsageError('the time until which alerts are to be acknowledged is over', {
      hint: 'Name a later day, or none for good.',
    });
  }
  return changed(app, statement, await app.ledger.alerts.acknowledge({ ...statement, ids: idsOf(alerts) }));
}

/**
 * Resolves alerts. Changes nothing, and throws UsageError with what to do instead, if one of them is resolved, or ends by
 * one act alone: a release, or an acceptance.
 */
export async function resolveAlerts(app: Pick<App, 'ledger'>, statement: AlertStatement) {
  const alerts = await findStated(app, statement);
  for (const { id, kind, target, detail } of alerts) {
    const { endedBy } = alertKinds[kind];
    const runId = String(detail['runId']);
    if (endedBy === 'release') {
      throw new UsageError(`alert ${id} is of rows that are held of ${target.id}: it ends with their release`, {
        action: { kind: 'release-rows', runId },
      });
    }
    if (endedBy === 'accept') {
      throw new UsageError(
        `alert ${id} is of a record in quarantine: it ends when the record comes right, or is accepted`,
        {
          action: { kind: 'accept-alerts', ids: [id] },
        },
      );
    }
  }
  return changed(app, statement, await app.ledger.alerts.resolve({ ...statement, ids: idsOf(alerts) }));
}

/** Accepts records in quarantine as they are. Changes nothing, and throws UsageError, for an alert of another kind. */
export async function acceptAlerts(app: Pick<App, 'ledger'>, statement: AlertStatement) {
  const alerts = await findStated(app, statement);
  const other = alerts.find(({ kind }) => alertKinds[kind].endedBy !== 'accept');
  if (other !== undefined) {
    throw new UsageError(`alert ${other.id} is of no record in quarantine (${other.kind}): nothing was accepted`, {
      action: { kind: 'list-alerts' },
    });
  }
  return changed(app, statement, await app.ledger.alerts.accept({ ...statement, ids: idsOf(alerts) }));
}

function refuseResolved(alerts: readonly Alert[]): void {
  const ended = alerts.filter(({ state }) => state === 'resolved');
  if (ended.length === 0) return;
  const words = ended.map(({ id, resolved }) => `${id} was resolved by ${resolved?.by ?? 'somebody'}`);
  throw new UsageError(`${listed(words)}: nothing was changed`, { action: { kind: 'list-alerts' } });
}

function idsOf(alerts: readonly Alert[]): readonly string[] {
  return alerts.map(({ id }) => id);
}

/** Those that were changed; somebody else may have resolved one in between. */
async function changed({ ledger }: Pick<App, 'ledger'>, { atMs }: AlertStatement, ids: readonly string[]) {
  const alerts = await ledger.alerts.read(ids, { nowMs: atMs, withGroups: false });
  return { alerts: alerts.map(alertDocument) };
}

// JSON of alerts: camelCase, instants as ISO text, the same keys in every state. Pure.

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
