/** What the commits of exports show: each observation is of the targets of a batch, after what the batch has written. */
import { exportOf, failureOf } from '../../../core/alerts/alert.ts';
import { type AlertKind, severityOf } from '../../../core/alerts/kinds.ts';
import { causeOfReason } from '../../../core/daily/record-check.ts';
import type { ReadKind } from '../../../core/run/run.ts';
import { epochMs, jsonText, type SqlSession } from '../session.ts';
import { recordObservation } from './alert-state.ts';
import { isAccepted, targetOfRecord } from '../daily/quarantine.ts';

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
