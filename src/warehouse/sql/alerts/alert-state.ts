/**
 * Opens, renews and resolves alerts in the transaction of the work that shows them: one observation of targets of one kind, of
 * which `found` is what is wrong now. The statements are over all targets at once, and there are none for work that found
 * nothing where nothing stood.
 */
import type { AlertTargetKind, Observation } from '../../../core/alerts/alert.ts';
import type { AlertKind } from '../../../core/alerts/kinds.ts';
import { jsonText, lockRows, type SqlSession, type SqlValue } from '../session.ts';

/** Beside `values` no other parameter is bound. Each of the two statements has all of them. */
export interface SqlObservation {
  readonly kind: AlertKind;
  readonly job: string | null;
  readonly targetKind: AlertTargetKind;
  /** SELECT of `owner`: what was observed. Alerts of it that are not found are resolved. */
  readonly observed: string;
  /**
   * SELECT of what is wrong, a row a target: `target`, `owner` (of a record: its well), `severity`, `cause` (the same for
   * targets that fail for one reason), `summary`, `detail` (JSON), `size` (rows or days: more is worse). Undefined where
   * nothing is.
   */
  readonly found?: string;
  readonly values: readonly SqlValue[];
  /** The run. */
  readonly by: string;
  readonly atMs: number;
  /** As in port/alerts.ts. */
  readonly sentAtMs?: number;
}

/** SQL of the id of an alert (core/alerts/alert.ts), by the SQL of its target. */
export function idOfAlert(
  { dialect }: SqlSession,
  { kind, job, targetKind }: Pick<SqlObservation, 'kind' | 'job' | 'targetKind'>,
  target: string,
): string {
  const name = [kind, job ?? '', targetKind].join(' ').replaceAll("'", "''");
  return `substr(${dialect.sha256(`'${name} ' || ${target}`)}, 1, 16)`;
}

function nameOf(job: string | null): string {
  return job === null ? 'CAST(NULL AS VARCHAR)' : `'${job.replaceAll("'", "''")}'`;
}

/** SQL of a severity as a number: more is worse. */
export const rankOf = (severity: string): string =>
  `CASE ${severity} WHEN 'error' THEN 2 WHEN 'warning' THEN 1 ELSE 0 END`;

export async function recordObservation(session: SqlSession, observation: SqlObservation): Promise<void> {
  const { kind, job, observed, found, values, by, atMs, sentAtMs } = observation;
  const isObserved = `a.kind = '${kind}' AND a.job IS NOT DISTINCT FROM ${nameOf(job)} AND a.owner IN (${observed})`;
  await lockRows(session, `SELECT 1 FROM alert a WHERE ${isObserved} ORDER BY alert_id`, values);
  const [who, when] = [`CAST($${values.length + 1} AS VARCHAR)`, `CAST($${values.length + 2} AS TIMESTAMPTZ)`];
  const bound = [...values, by, new Date(atMs)];
  // Most of what opens is seen for the first time: what is found is then read once.
  const isKnown = (await session.rows(`SELECT 1 FROM alert a WHERE ${isObserved} LIMIT 1`, values)).length > 0;
  const renews = isKnown && found !== undefined;
  const renewed = renews ? await session.run(renewal(session, observation, found, who, when), bound) : 0;
  const opened = found === undefined ? 0 : await session.run(opening(session, observation, found, who, when), bound);
  const isGone = found === undefined ? '' : `AND a.target NOT IN (SELECT target FROM (${found}) f)`;
  const ended = !isKnown
    ? 0
    : await session.run(
        `UPDATE alert AS a SET state = 'resolved', resolved_at = ${when}, resolved_by = ${who}, resolved_because = NULL,
       change = 'resolved', change_no = a.change_no + 1, changed_at = ${when}, changed_by = ${who}
     WHERE ${isObserved} AND a.state <> 'resolved' ${isGone}`,
        bound,
      );
  if (renewed + opened + ended === 0) return;
  const sentAt = sentAtMs === undefined ? 'NULL' : `'${new Date(sentAtMs).toISOString()}'`;
  await session.run(
    `INSERT INTO alert_change (alert_id, change_no, noted_at, change, noted_by, severity, cause, summary, size, sent_at)
     SELECT a.alert_id, a.change_no, a.changed_at, a.change, a.changed_by, a.severity, a.cause, a.summary, a.size,
       CAST(${sentAt} AS TIMESTAMPTZ) FROM alert a
     WHERE ${isObserved} AND a.changed_at = ${when} AND a.changed_by = ${who} AND NOT EXISTS (
       SELECT 1 FROM alert_change c WHERE c.alert_id = a.alert_id AND c.change_no = a.change_no)`,
    bound,
  );
}

/** What was resolved, or whose acknowledgement is over, opens again; what is worse than last told ends an acknowledgement. */
function renewal(session: SqlSession, observation: SqlObservation, found: string, who: string, when: string): string {
  const isReopened = `(a.state = 'resolved' OR (a.state = 'acknowledged' AND a.acknowledged_until <= ${when}))`;
  const isWorse = `(f.size > a.reported_size OR ${rankOf('f.severity')} > ${rankOf('a.reported_severity')})`;
  const ifReopened = (column: string, value: string): string =>
    `${column} = CASE WHEN ${isReopened} THEN ${value} ELSE a.${column} END`;
  const ifReported = (column: string, value: string): string =>
    `${column} = CASE WHEN ${isReopened} OR ${isWorse} THEN ${value} ELSE a.${column} END`;
  return `UPDATE alert AS a SET severity = f.severity, cause = f.cause, summary = f.summary,
      detail = CAST(f.detail AS JSON), size = f.size, seen_at = ${when}, seen_by = ${who},
      ${ifReopened('opened_at', when)}, ${ifReopened('opened_by', who)}, ${ifReopened('resolved_at', 'NULL')},
      ${ifReopened('resolved_by', 'NULL')}, ${ifReopened('resolved_because', 'NULL')},
      ${ifReported('acknowledged_at', 'NULL')}, ${ifReported('acknowledged_by', 'NULL')},
      ${ifReported('acknowledged_because', 'NULL')}, ${ifReported('acknowledged_until', 'NULL')}, ${ifReported('reported_size', 'f.size')},
      ${ifReported('reported_severity', 'f.severity')}, ${ifReported('state', "'open'")}, ${ifReported('change_no', 'a.change_no + 1')}, ${ifReported('changed_at', when)},
      ${ifReported('changed_by', who)},
      change = CASE WHEN ${isReopened} THEN 'reopened' WHEN ${isWorse} THEN 'worsened' ELSE a.change END
    FROM (${found}) f WHERE a.alert_id = ${idOfAlert(session, observation, 'f.target')}`;
}

function opening(session: SqlSession, observation: SqlObservation, found: string, who: string, when: string): string {
  const id = idOfAlert(session, observation, 'f.target');
  return `INSERT INTO alert (alert_id, kind, job, target_kind, target, owner, state, severity, cause, summary, detail, size,
      reported_size, reported_severity, opened_at, opened_by, seen_at, seen_by, change, change_no, changed_at, changed_by)
    SELECT ${id}, '${observation.kind}', ${nameOf(observation.job)}, '${observation.targetKind}', f.target, f.owner, 'open', f.severity, f.cause,
      f.summary, CAST(f.detail AS JSON), f.size, f.size, f.severity, ${when}, ${who}, ${when}, ${who}, 'opened', 1, ${when},
      ${who}
    FROM (${found}) f ORDER BY 1 ON CONFLICT (alert_id) DO NOTHING`;
}

const foundFields = {
  target: 'VARCHAR',
  severity: 'VARCHAR',
  cause: 'VARCHAR',
  summary: 'VARCHAR',
  detail: 'VARCHAR',
  size: 'BIGINT',
} as const;

/** As {@link recordObservation}, of what was found outside of the database. */
export async function recordFound(
  session: SqlSession,
  { kind, job, targetKind, observed, found }: Observation,
  observedBy: Pick<SqlObservation, 'by' | 'atMs' | 'sentAtMs'>,
): Promise<void> {
  const { dialect } = session;
  const rows = found.map((each) => ({ ...each, detail: JSON.stringify(each.detail) }));
  const ofKind = `SELECT o.owner FROM alert o WHERE o.kind = '${kind}'`;
  await recordObservation(session, {
    kind,
    job,
    targetKind,
    ...observedBy,
    values: [jsonText({ found: rows, observed: observed === 'all' ? [] : observed })],
    observed: `${observed === 'all' ? ofKind : `SELECT ${dialect.each(partOf('observed'), 'VARCHAR')}`}
      UNION SELECT w.target FROM ${dialect.relation(partOf('found'), foundFields)} w`,
    ...(found.length > 0 && {
      found: `SELECT w.*, w.target AS owner FROM ${dialect.relation(partOf('found'), foundFields)} w`,
    }),
  });
}

function partOf(name: string): string {
  return `(CAST($1 AS JSON)->'${name}')`;
}
