/** Alerts for people: lists, and what a person says of them. The work opens and resolves them (observation.ts). */
import { z } from 'zod';
import type { Alert, AlertSignature, AlertTargetKind } from '../../../core/alerts/alert.ts';
import type { AlertKind, AlertState, Severity } from '../../../core/alerts/kinds.ts';
import { cursorOf, readCursor } from '../../../core/base/lists.ts';
import type { ReportedAlerts } from '../../../core/run/run.ts';
import type { AlertAct, AlertChange, AlertStore } from '../../port/alerts.ts';
import { acceptRecords } from './accepted-records.ts';
import { rankOf, recordFound } from './observation.ts';
import { createAlertOutbox } from './outbox.ts';
import {
  epochMs,
  type InSession,
  jsonText,
  lockRows,
  type SqlDatabase,
  type SqlSession,
  type SqlValue,
  transacted,
} from '../session.ts';

export function createAlertStore(database: SqlDatabase): AlertStore {
  const works = transacted<Omit<AlertStore, 'outbox'>>(database, {
    observe: async (session, observations, observed) => {
      for (const each of observations) await recordFound(session, each, observed);
    },
    list: listAlerts,
    find: (session, prefix, limit, nowMs) =>
      readAlerts(session, nowMs, `WHERE starts_with(a.alert_id, $2) ORDER BY a.alert_id LIMIT $3`, [prefix, limit]),
    read: (session, ids, { nowMs, withGroups }) => {
      const named = `SELECT ${session.dialect.each('$2', 'VARCHAR')}`;
      const group = `EXISTS (SELECT 1 FROM alert g WHERE g.alert_id IN (${named}) AND g.kind = a.kind
        AND g.job IS NOT DISTINCT FROM a.job AND g.cause = a.cause AND ${stateAt('$1', 'g')} = ${stateAt('$1')})`;
      const which = `WHERE ${withGroups ? group : `a.alert_id IN (${named})`} ORDER BY a.alert_id`;
      return readAlerts(session, nowMs, which, [jsonText(ids)]);
    },
    changes: readChanges,
    countOpen: (session, nowMs) => countBy(session, `WHERE ${stateAt('$1')} = 'open'`, [new Date(nowMs)]),
    acknowledge: (session, { untilMs, ...act }) =>
      change(session, act, 'acknowledged', {
        acknowledged_at: act.atMs,
        acknowledged_by: act.by,
        acknowledged_because: act.because,
        acknowledged_until: untilMs === undefined ? null : untilMs,
      }),
    resolve: resolveAlerts,
    accept: async (session, act) => resolveAlerts(session, { ...act, ids: await acceptRecords(session, act) }),
  });
  return { ...works, outbox: createAlertOutbox(database) };
}

const resolveAlerts: InSession<AlertStore['resolve']> = (session, act) =>
  change(session, act, 'resolved', {
    resolved_at: act.atMs,
    resolved_by: act.by,
    resolved_because: act.because,
  });

/** A run that was killed told nobody: until it has ended, the next one of its job does. */
const untold = `SELECT e.run_id FROM run e JOIN run r ON r.run_id = $1
  WHERE e.job = r.job AND e.state IN ('queued', 'running') AND e.requested_at < r.requested_at`;

const openedByRun = `SELECT c.alert_id FROM alert_change c
  WHERE (c.noted_by = $1 OR c.noted_by IN (${untold})) AND c.change IN ('opened', 'reopened', 'worsened', 'reminded')`;

/**
 * What a run, or one of its job before it that has not ended, opened, opened again, found worse or reminded of, and is open:
 * errors and warnings, in the transaction that ends it.
 */
export async function readOpenedBy(session: SqlSession, runId: string): Promise<readonly ReportedAlerts[]> {
  const which = `WHERE a.state = 'open' AND a.severity <> 'info' AND a.alert_id IN (${openedByRun})`;
  const counts = await countBy(session, which, [runId]);
  return counts.map(({ kind, severity, alerts }) => ({ kind, severity, alerts }));
}

/** SQL of the state of an alert at an instant: an acknowledgement ends by itself. */
function stateAt(instant: string, a = 'a'): string {
  const at = `CAST(${instant} AS TIMESTAMPTZ)`;
  return `CASE WHEN ${a}.state = 'acknowledged' AND ${a}.acknowledged_until <= ${at} THEN 'open' ELSE ${a}.state END`;
}

interface AlertRow {
  readonly id: string;
  readonly kind: AlertKind;
  readonly state: AlertState;
  readonly severity: Severity;
  readonly job: string | null;
  readonly targetKind: AlertTargetKind;
  readonly target: string;
  readonly cause: string;
  readonly summary: string;
  readonly detail: string;
  readonly openedAtMs: number;
  readonly openedBy: string;
  readonly seenAtMs: number;
  readonly acknowledgedAtMs: number | null;
  readonly acknowledgedBy: string | null;
  readonly acknowledgedBecause: string | null;
  readonly untilMs: number | null;
  readonly resolvedAtMs: number | null;
  readonly resolvedBy: string | null;
  readonly resolvedBecause: string | null;
}

/** `$1` is the instant. */
async function readAlerts(
  session: SqlSession,
  nowMs: number,
  which: string,
  values: readonly SqlValue[],
): Promise<readonly Alert[]> {
  const rows = await session.rows<AlertRow>(
    `SELECT a.alert_id AS id, a.kind, ${stateAt('$1')} AS state, a.severity, a.job,
       a.target_kind AS "targetKind", a.target, a.cause, a.summary, CAST(a.detail AS VARCHAR) AS detail,
       ${epochMs('a.opened_at')} AS "openedAtMs", a.opened_by AS "openedBy", ${epochMs('a.seen_at')} AS "seenAtMs",
       ${epochMs('a.acknowledged_at')} AS "acknowledgedAtMs", a.acknowledged_by AS "acknowledgedBy",
       a.acknowledged_because AS "acknowledgedBecause", ${epochMs('a.acknowledged_until')} AS "untilMs",
       ${epochMs('a.resolved_at')} AS "resolvedAtMs", a.resolved_by AS "resolvedBy",
       a.resolved_because AS "resolvedBecause"
     FROM alert a ${which}`,
    [new Date(nowMs), ...values],
  );
  return rows.map(alertOf);
}

function alertOf(row: AlertRow): Alert {
  const { targetKind, target, detail, untilMs } = row;
  const { id, kind, state, severity, job, cause, summary, openedAtMs, openedBy, seenAtMs } = row;
  return {
    id,
    kind,
    state,
    severity,
    job,
    cause,
    summary,
    openedAtMs,
    openedBy,
    seenAtMs,
    target: { kind: targetKind, id: target },
    detail: JSON.parse(detail) as Alert['detail'],
    acknowledged: signatureOf(row.acknowledgedBy, row.acknowledgedAtMs, row.acknowledgedBecause),
    untilMs: untilMs ?? undefined,
    resolved: signatureOf(row.resolvedBy, row.resolvedAtMs, row.resolvedBecause),
  };
}

function signatureOf(by: string | null, atMs: number | null, because: string | null): AlertSignature | undefined {
  return by === null || atMs === null ? undefined : { by, atMs, because: because ?? undefined };
}

/** Errors come first. */
const rank = `-(${rankOf('a.severity')})`;
const position = z.tuple([z.int(), z.int(), z.string()]);

const listAlerts: InSession<AlertStore['list']> = async (session, filter) => {
  const { limit, nowMs, states, kinds, target, sinceMs, cursor } = filter;
  const { dialect } = session;
  const after = cursor === undefined ? undefined : readCursor(cursor, position, { list: 'a list of alerts' });
  const among = (value: string, parameter: string): string =>
    `(CAST(${parameter} AS JSON) IS NULL OR ${value} IN (SELECT ${dialect.each(parameter, 'VARCHAR')}))`;
  const found = await readAlerts(
    session,
    nowMs,
    `WHERE ${among(stateAt('$1'), '$3')} AND ${among('a.kind', '$4')}
       AND ($5::VARCHAR IS NULL OR a.target = $5 OR a.owner = $5)
       AND ($6::TIMESTAMPTZ IS NULL OR a.opened_at >= $6::TIMESTAMPTZ)
       AND ($7::INTEGER IS NULL OR (${rank}, -(${epochMs('a.opened_at')}), a.alert_id) > ($7::INTEGER, $8::BIGINT, $9::VARCHAR))
     ORDER BY ${rank}, ${epochMs('a.opened_at')} DESC, a.alert_id LIMIT $2`,
    [
      limit + 1,
      states === undefined ? null : jsonText(states),
      kinds === undefined ? null : jsonText(kinds),
      target ?? null,
      sinceMs === undefined ? null : new Date(sinceMs),
      ...(after ?? [null, null, null]),
    ],
  );
  const alerts = found.slice(0, limit);
  const last = alerts.at(-1);
  const isMore = found.length > limit && last !== undefined;
  return { alerts, cursor: isMore ? cursorOf(ranks[last.severity], -last.openedAtMs, last.id) : undefined };
};

const ranks: Readonly<Record<Severity, number>> = { error: -2, warning: -1, info: 0 };

const readChanges: InSession<AlertStore['changes']> = async (session, id) => {
  const rows = await session.rows<Omit<AlertChange, 'because'> & { readonly because: string | null }>(
    `SELECT change, ${epochMs('noted_at')} AS "atMs", noted_by AS "by", because, severity, size FROM alert_change
     WHERE alert_id = $1 ORDER BY change_no`,
    [id],
  );
  return rows.map(({ because, ...row }) => ({ ...row, because: because ?? undefined }));
};

function countBy(session: SqlSession, which: string, values: readonly (string | Date)[]) {
  return session.rows<{ kind: AlertKind; severity: Severity; alerts: number; areWells: boolean }>(
    `SELECT a.kind, a.severity, count(*) AS alerts, bool_and(a.target_kind = 'well') AS "areWells" FROM alert a ${which} GROUP BY a.kind, a.severity, ${rank}
     ORDER BY ${rank}, a.kind`,
    values,
  );
}

/** Those that are not resolved, once: of two persons at the same time the second finds them as the first left them. */
async function change(
  session: SqlSession,
  { ids, by, because, atMs }: AlertAct,
  state: 'acknowledged' | 'resolved',
  set: Readonly<Record<string, string | number | null>>,
): Promise<readonly string[]> {
  const which = `alert_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')}) AND state <> 'resolved'`;
  const named = jsonText(ids);
  await lockRows(session, `SELECT 1 FROM alert WHERE ${which} ORDER BY alert_id`, [named]);
  const columns = Object.keys(set);
  const values = Object.values(set).map((value) => (typeof value === 'number' ? new Date(value) : value));
  const changed = await session.rows<{ id: string }>(
    `UPDATE alert SET state = '${state}', change = '${state}', change_no = change_no + 1, changed_at = $2, changed_by = $3,
       ${columns.map((column, index) => `${column} = $${index + 4}`).join(', ')}
     WHERE ${which} RETURNING alert_id AS id`,
    [named, new Date(atMs), by, ...values],
  );
  if (changed.length === 0) return [];
  const done = changed.map(({ id }) => id).toSorted();
  await session.run(
    `INSERT INTO alert_change (alert_id, change_no, noted_at, change, noted_by, because, severity, cause, summary, size)
     SELECT alert_id, change_no, CAST($2 AS TIMESTAMPTZ), '${state}', CAST($3 AS VARCHAR), CAST($4 AS VARCHAR), severity, cause, summary, size FROM alert
     WHERE alert_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`,
    [jsonText(done), new Date(atMs), by, because],
  );
  return done;
}
