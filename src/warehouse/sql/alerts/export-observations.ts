/** What the commits of exports show: each observation is of the targets of a batch, after what the batch has written. */
import { type AlertTargetKind, exportOf, failureOf, type Observation } from '../../../core/alerts/alert.ts';
import { type AlertKind, severityOf } from '../../../core/alerts/kinds.ts';
import { causeOfReason } from '../../../core/daily/record-check.ts';
import type { ReadKind } from '../../../core/run/run.ts';
import { epochMs, jsonText, lockRows, type SqlSession, type SqlValue } from '../session.ts';
import { isAccepted, targetOfRecord } from './accepted-records.ts';

/** The run, and the time of its commit. */
export interface ObservedBy {
  readonly runId: string;
  readonly atMs: number;
}

const textOf = (value: string): string => `CAST(${value} AS VARCHAR)`;

/**
 * The records of these wells that are in quarantine and not accepted. A record that is there twice, at an edge of two
 * windows, is one.
 */
export async function observeQuarantine(session: SqlSession, uwis: readonly string[], by: ObservedBy): Promise<void> {
  if (uwis.length === 0) return;
  const { dialect } = session;
  // The content of a record is hashed only where one of its well may be accepted.
  const accepted = `SELECT 1 FROM accepted_record k WHERE k.uwi IN (${named(session)}) LIMIT 1`;
  const hasAccepted = (await session.rows(accepted, [jsonText(uwis)])).length > 0;
  const unlessAccepted = hasAccepted ? `AND NOT ${isAccepted(session, 'q')}` : '';
  await nameCauses(session, uwis);
  const day = textOf('min(q.production_day)');
  await observe(session, 'record-quarantined', 'uwi', uwis, by, {
    targetKind: 'record',
    found: `SELECT ${targetOfRecord(session, 'q')} AS target,
        q.uwi AS owner, '${severityOf['record-quarantined']}' AS severity, min(c.cause) AS cause,
        coalesce(${day} || ': ', '') || min(q.reason) AS summary, 1 AS size,
        ${dialect.jsonObject({ day, xid: 'min(lower(q.xid))', reason: 'min(q.reason)' })} AS detail
      FROM quarantine q JOIN cause_of_reason c ON c.reason = q.reason
      WHERE q.uwi IN (${named(session)}) ${unlessAccepted} GROUP BY 1, 2`,
  });
}

/** One fault is one cause, whatever values the records have. */
async function nameCauses(session: SqlSession, uwis: readonly string[]): Promise<void> {
  const reasons = await session.rows<{ reason: string }>(
    `SELECT DISTINCT reason FROM quarantine q WHERE q.uwi IN (${named(session)})`,
    [jsonText(uwis)],
  );
  await session.run(session.dialect.temporaryTable('cause_of_reason', 'reason VARCHAR, cause VARCHAR'));
  const columns = { reason: (reason: string) => reason, cause: causeOfReason };
  await session.append(
    'cause_of_reason',
    columns,
    reasons.map(({ reason }) => reason),
  );
}

/** The rows of these targets that wait for a release. */
export function observeHolds(
  session: SqlSession,
  kind: ReadKind,
  targets: readonly string[],
  by: ObservedBy,
): Promise<void> {
  const isDaily = kind === 'uwi';
  const [first, last] = isDaily ? [textOf('min(h.first_day)'), textOf('max(h.last_day)')] : ['NULL', 'NULL'];
  const size = 'CAST(sum(h.rows_missing) AS BIGINT)';
  const of = isDaily ? `' of ' || ${first} || ' to ' || ${last}` : `''`;
  const [table, target] = isDaily ? ['held_month', 'h.uwi'] : ['held_definition', 'h.target'];
  const detail = { rows: size, firstDay: first, lastDay: last, runId: 'min(h.run_id)' };
  return observe(session, 'rows-held', kind, targets, by, {
    found: `SELECT ${target} AS target, ${target} AS owner, '${severityOf['rows-held']}' AS severity, 'shrink' AS cause,
        'the service no longer has ' || CASE WHEN ${size} = 1 THEN '1 row' ELSE ${textOf(size)} || ' rows' END || ${of}
          || CASE WHEN ${size} = 1 THEN ': it is kept' ELSE ': they are kept' END AS summary,
        ${size} AS size, ${session.dialect.jsonObject(detail)} AS detail
      FROM ${table} h WHERE ${isDaily ? '' : `h.kind = '${kind}' AND `}${target} IN (${named(session)}) GROUP BY 1, 2`,
  });
}

/** Those of these targets that the service answers with 404. */
export function observeUnknown(
  session: SqlSession,
  kind: ReadKind,
  targets: readonly string[],
  by: ObservedBy,
): Promise<void> {
  return observe(session, 'well-unknown', kind, targets, by, {
    found: `SELECT u.target AS target, u.target AS owner, '${severityOf['well-unknown']}' AS severity, 'not-found' AS cause,
        'the service does not know it (404)' AS summary, 1 AS size,
        ${session.dialect.jsonObject({ since: textOf('u.since'), runId: 'u.run_id' })} AS detail
      FROM unknown_target u WHERE u.kind = '${kind}' AND u.target IN (${named(session)})`,
  });
}

/** Units of the run that ended as failed. What failed before and was not read since is part of what a read has to cover. */
export async function observeFailed(session: SqlSession, runId: string, units: readonly number[]): Promise<void> {
  const [run] = await session.rows<{ job: string; nowMs: number }>(
    `SELECT job, ${epochMs(session.dialect.clock)} AS "nowMs" FROM run WHERE run_id = $1`,
    [runId],
  );
  const of = run && failureOf(run.job);
  if (run === undefined || of === undefined) return;
  const { dialect } = session;
  const bound = (json: string, name: Bound): string => `CAST(${dialect.textAt(json, [name])} AS BIGINT)`;
  const fault = (name: string): string => `min(${dialect.textAt('u.fault', [name])})`;
  const failed = `FROM run_unit u WHERE u.run_id = $2 AND u.unit IN (SELECT ${dialect.each('$1', 'INTEGER')})`;
  const before = `LEFT JOIN alert b ON b.state <> 'resolved' AND b.kind = '${of.kind}' AND b.job = '${of.job}' AND b.target = n.target`;
  const detail = {
    code: 'n.code',
    runId: 'CAST($2 AS VARCHAR)',
    fromMs: `least(n.from_ms, ${bound('b.detail', 'fromMs')})`,
    toMs: `greatest(n.to_ms, ${bound('b.detail', 'toMs')})`,
  };
  await recordObservation(session, {
    ...of,
    values: [jsonText(units), runId],
    by: runId,
    atMs: run.nowMs,
    observed: `SELECT u.target ${failed}`,
    found: `SELECT n.target, n.target AS owner, '${severityOf['well-failed']}' AS severity, n.code AS cause, n.message AS summary, 1 AS size,
        ${dialect.jsonObject(detail)} AS detail
      FROM (SELECT u.target, ${fault('code')} AS code, ${fault('message')} AS message,
          min(${bound('u.spec', 'fromMs')}) AS from_ms, max(${bound('u.spec', 'toMs')}) AS to_ms
        ${failed} AND u.state = 'failed' GROUP BY u.target) n ${before}`,
  });
}

type Bound = 'fromMs' | 'toMs';

/** A target that was read; the window, where it has one. */
export interface ReadTarget extends Partial<Readonly<Record<Bound, number>>> {
  readonly target: string;
}

/** Targets that were read to their end: what failed within such a window is no more. */
export async function observeRead(
  session: SqlSession,
  kind: ReadKind,
  targets: readonly ReadTarget[],
  { runId, atMs }: ObservedBy,
): Promise<void> {
  if (targets.length === 0) return;
  const { dialect } = session;
  const { job } = exportOf(kind);
  const of = failureOf(job);
  if (of === undefined) return;
  const fields = { target: 'VARCHAR', fromMs: 'BIGINT', toMs: 'BIGINT' } as const;
  const ofFailed = (name: Bound): string => `CAST(${dialect.textAt('f.detail', [name])} AS BIGINT)`;
  await recordObservation(session, {
    ...of,
    job,
    values: [jsonText(targets)],
    by: runId,
    atMs,
    observed: `SELECT f.owner FROM alert f JOIN ${dialect.relation('$1', fields)} w ON w.target = f.owner
      WHERE f.kind = '${of.kind}' AND f.job = '${job}' AND (w."fromMs" IS NULL OR ${ofFailed('fromMs')} IS NULL
        OR (w."fromMs" <= ${ofFailed('fromMs')} AND w."toMs" >= ${ofFailed('toMs')}))`,
  });
}

function named({ dialect }: SqlSession): string {
  return `SELECT ${dialect.each('$1', 'VARCHAR')}`;
}

async function observe(
  session: SqlSession,
  kind: AlertKind,
  readKind: ReadKind,
  targets: readonly string[],
  { runId, atMs }: ObservedBy,
  { targetKind, found }: { readonly targetKind?: 'record'; readonly found: string },
): Promise<void> {
  if (targets.length === 0) return;
  const of = exportOf(readKind);
  await recordObservation(session, {
    kind,
    job: of.job,
    targetKind: targetKind ?? of.targetKind,
    observed: named(session),
    found,
    values: [jsonText(targets)],
    by: runId,
    atMs,
  });
}

// Opens, renews and resolves alerts in the transaction of the work that shows them: one observation of targets of one kind, of
// which `found` is what is wrong now. The statements are over all targets at once, and there are none for work that found
// nothing where nothing stood.

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
    FROM (${found}) f WHERE NOT EXISTS (SELECT 1 FROM alert a WHERE a.alert_id = ${id}) ORDER BY 1
    ON CONFLICT (alert_id) DO NOTHING`;
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
    found: `SELECT w.*, w.target AS owner FROM ${dialect.relation(partOf('found'), foundFields)} w`,
  });
}

function partOf(name: string): string {
  return `(CAST($1 AS JSON)->'${name}')`;
}
