/** Alerts for people: lists, and what a person says of them. The work opens and resolves them (alert-state.ts). */
import { z } from 'zod';
import type { Alert, AlertSignature, AlertTargetKind } from '../../../core/alerts/alert.ts';
import type { AlertKind, AlertState, Severity } from '../../../core/alerts/kinds.ts';
import { cursorOf, readCursor } from '../../../core/base/lists.ts';
import type { ReportedAlerts } from '../../../core/run/run.ts';
import type { AlertAct, AlertChange, AlertMessage, AlertOutbox, AlertStore } from '../../port/alerts.ts';
import { acceptRecords } from '../daily/quarantine.ts';
import { rankOf, recordFound } from './alert-state.ts';
import {
  epochMs,
  type InSession,
  jsonText,
  lockRows,
  oneRow,
  type SqlDatabase,
  type SqlSession,
  type SqlValue,
  takeTurn,
  transacted,
} from '../session.ts';
import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../../../core/time/window.ts';

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

// Messages of alerts for the receiver, in the warehouse: they outlive every process, and one process sends each.

/** Nobody wants to read of more when a receiver is back, or is set at last. */
const keptMs = 3 * DAY_MS;
/** How long the end of a run is waited for. */
const longestRunMs = 3_600_000;
/** How long a process has to send what it has taken, before another one does. */
const claimMs = 60_000;

function createAlertOutbox(database: SqlDatabase): AlertOutbox {
  return transacted<AlertOutbox>(database, { take, release, settle, waiting });
}

/**
 * What is told of, and not yet. The last condition waits for the end of a run, so that one message tells all of it: not for
 * long, since it may have died, or take days.
 */
function unsent(nowMs: string): string {
  return `c.sent_at IS NULL AND c.severity <> 'info' AND c.change <> 'acknowledged'
    AND c.noted_at > CAST(${nowMs} AS TIMESTAMPTZ) - INTERVAL '${keptMs / DAY_MS} days'
    AND (c.noted_at < CAST(${nowMs} AS TIMESTAMPTZ) - INTERVAL '${longestRunMs / 60_000} minutes'
      OR NOT EXISTS (SELECT 1 FROM run r WHERE r.run_id = c.noted_by AND r.state IN ('queued', 'running')))`;
}

/** SQL of what a change is told as: of one cause, wells that failed before and others are one message. */
const messageChange = `CASE c.change WHEN 'reopened' THEN 'opened' ELSE c.change END`;

const groupFields = {
  noted_by: 'VARCHAR',
  change: 'VARCHAR',
  kind: 'VARCHAR',
  job: 'VARCHAR',
  cause: 'VARCHAR',
  id: 'VARCHAR',
} as const;
type Group = Readonly<Record<Exclude<keyof typeof groupFields, 'id' | 'job'>, string>> & {
  readonly job: string | null;
};

const take: InSession<AlertOutbox['take']> = async (session, limit, nowMs) => {
  const now = new Date(nowMs);
  await takeTurn(session, 'alert');
  await nameMessages(session, now);
  const rows = await session.rows<Omit<AlertMessage, 'targets' | 'ids'> & Readonly<Record<'targets' | 'ids', string>>>(
    `SELECT c.message_id AS id, min(c.change) AS change, min(c.kind) AS kind, min(c.job) AS job,
       CASE max(${rankOf('c.severity')}) WHEN 2 THEN 'error' ELSE 'warning' END AS severity, min(c.summary) FILTER (WHERE c.place = 1) AS summary,
       min(c.summary) = max(c.summary) AS "isOfAll", min(c.because) AS because,
       count(*) AS alerts, min(c.noted_by) AS "by", ${epochMs('min(c.noted_at)')} AS "atMs",
       ${firstOf('c.target')} AS targets, ${firstOf('c.alert_id')} AS ids
     FROM (SELECT c.*, a.kind, a.job, a.target,
         row_number() OVER (PARTITION BY c.message_id ORDER BY a.target, c.change_no) AS place
       FROM alert_change c JOIN alert a ON a.alert_id = c.alert_id WHERE c.sent_at IS NULL) c
     WHERE ${unsent('$1')} AND (c.claimed_at IS NULL OR c.claimed_at <= CAST($2 AS TIMESTAMPTZ))
       AND c.message_id NOT IN (${overtaking('$1', '$2')})
     GROUP BY c.message_id ORDER BY min(c.noted_at), c.message_id LIMIT $3`,
    [now, new Date(nowMs - claimMs), limit],
  );
  const claimed = `UPDATE alert_change SET claimed_at = $2 WHERE message_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  if (rows.length > 0) await session.run(claimed, [jsonText(rows.map(({ id }) => id)), now]);
  const listOf = (json: string): readonly string[] => JSON.parse(json) as readonly string[];
  return rows.map(({ targets, ids, ...row }) => ({ ...row, targets: listOf(targets), ids: listOf(ids) }));
};

const shownTargets = 10;

/** SQL of a value of the first targets of a message, as JSON. */
const firstOf = (value: string): string =>
  `CAST(to_json(array_agg(${value} ORDER BY c.target) FILTER (WHERE c.place <= ${shownTargets})) AS VARCHAR)`;

/**
 * SQL of the messages that would overtake an earlier one of the same alert: what another process is sending, or what waits for
 * the end of its run. The receiver hears of each alert in the order of its changes, so that its last word is how it stands.
 */
function overtaking(nowMs: string, claimedBefore: string): string {
  return `SELECT d.message_id FROM alert_change d JOIN alert_change p ON p.alert_id = d.alert_id AND p.change_no < d.change_no
    WHERE d.sent_at IS NULL AND d.message_id IS NOT NULL AND p.sent_at IS NULL AND p.severity <> 'info'
      AND p.change <> 'acknowledged' AND p.message_id IS DISTINCT FROM d.message_id
      AND p.noted_at > CAST(${nowMs} AS TIMESTAMPTZ) - INTERVAL '${keptMs / DAY_MS} days'
      AND (p.message_id IS NULL OR p.claimed_at > CAST(${claimedBefore} AS TIMESTAMPTZ))`;
}

/** Gives each group of changes that is to be told of, and has no message yet, one of its own. */
async function nameMessages(session: SqlSession, now: Date): Promise<void> {
  const from = `FROM alert_change c JOIN alert a ON a.alert_id = c.alert_id WHERE c.message_id IS NULL AND ${unsent('$1')}`;
  const groups = await session.rows<Group>(
    `SELECT c.noted_by, ${messageChange} AS change, a.kind, a.job, c.cause ${from} GROUP BY c.noted_by, ${messageChange}, a.kind, a.job, c.cause`,
    [now],
  );
  if (groups.length === 0) return;
  await session.run(
    `UPDATE alert_change AS t SET message_id = n.id
     FROM (SELECT c.alert_id, c.change_no, c.noted_by, ${messageChange} AS change, a.kind, a.job, c.cause ${from}) g
       JOIN ${session.dialect.relation('$2', groupFields)} n ON n.noted_by = g.noted_by AND n.change = g.change
         AND n.kind = g.kind AND n.job IS NOT DISTINCT FROM g.job AND n.cause = g.cause
     WHERE t.alert_id = g.alert_id AND t.change_no = g.change_no`,
    [now, jsonText(groups.map((group) => ({ ...group, id: randomUUID() })))],
  );
}

const release: InSession<AlertOutbox['release']> = async (session, ids) => {
  const named = `SELECT ${session.dialect.each('$1', 'VARCHAR')}`;
  await session.run(`UPDATE alert_change SET claimed_at = NULL WHERE message_id IN (${named})`, [jsonText(ids)]);
};

const settle: InSession<AlertOutbox['settle']> = async (session, ids, atMs) => {
  const sent = `UPDATE alert_change SET sent_at = $2 WHERE message_id IN (SELECT ${session.dialect.each('$1', 'VARCHAR')})`;
  await session.run(sent, [jsonText(ids), new Date(atMs)]);
};

const waiting: InSession<AlertOutbox['waiting']> = async (session, nowMs) => {
  const { messages, sinceMs } = await oneRow<{ messages: number; sinceMs: number | null }>(
    session,
    `SELECT count(DISTINCT c.message_id) AS messages, ${epochMs('min(c.noted_at)')} AS "sinceMs"
     FROM alert_change c WHERE c.message_id IS NOT NULL AND ${unsent('$1')}`,
    [new Date(nowMs)],
  );
  return { messages, sinceMs: sinceMs ?? undefined };
};
