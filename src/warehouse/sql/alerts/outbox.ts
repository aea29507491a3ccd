/** Messages of alerts for the receiver, in the warehouse: they outlive every process, and one process sends each. */
import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../../../core/time/window.ts';
import type { AlertMessage, AlertOutbox } from '../../port/alerts.ts';
import {
  epochMs,
  type InSession,
  jsonText,
  oneRow,
  type SqlDatabase,
  type SqlSession,
  takeTurn,
  transacted,
} from '../session.ts';
import { rankOf } from './observation.ts';

/** Nobody wants to read of more when a receiver is back, or is set at last. */
const keptMs = 3 * DAY_MS;
/** How long the end of a run is waited for. */
const longestRunMs = 3_600_000;
/** How long a process has to send what it has taken, before another one does. */
const claimMs = 60_000;

export function createAlertOutbox(database: SqlDatabase): AlertOutbox {
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
