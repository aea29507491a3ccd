/** Cleanup plans, with their targets and snapshots. Each call is one transaction. */
import { UsageError } from '../../../core/base/errors.ts';
import type { AuditEntry } from '../../../core/cleanup/audit-chain.ts';
import type {
  CleanupCaps,
  CleanupPlan,
  PlanCounts,
  PlannedTarget,
  TargetSnapshot,
} from '../../../core/cleanup/plan.ts';
import {
  type ProductionDoubt,
  type RecentDays,
  type RecentProduction,
  unreadDays,
} from '../../../core/cleanup/producing.ts';
import type { DeletionTarget, TargetKind } from '../../../core/cleanup/target.ts';
import type { RunState } from '../../../core/run/run.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { CleanupPlans, PlanPlace, TargetSlice } from '../../port/cleanup.ts';
import { claimForService } from './service-claim.ts';
import {
  dayOfNumber,
  epochMs,
  jsonText,
  type SqlColumns,
  type SqlDatabase,
  type SqlDialect,
  type SqlSession,
  takeTurn,
} from '../session.ts';

/** Longest time for making a plan: older drafts are abandoned. */
const keepDraftsMs = DAY_MS;

export function createCleanupPlans(database: SqlDatabase): CleanupPlans {
  return {
    knownWells: () => database.transact(countWells),
    recentProduction: async (uwis, days) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readRecentProduction(session, uwis, days)),
    draft: (draftId, targets) =>
      database.transact((session) => session.append('cleanup_target', targetColumns(draftId), targets)),
    keep: (draftId, plan) =>
      database.transact(async (session) => {
        if (database.service !== undefined) await claimForService(session, database.service);
        await keepPlan(session, draftId, plan);
      }),
    read: (planId) => database.transact(async (session) => (await readPlans(session, 'plan_id = $1', [planId]))[0]),
    list: (limit, after) => database.transact((session) => readPlans(session, ...newestPlans(limit, after))),
    targets: (planId, slice) => database.transact((session) => readTargets(session, planId, slice)),
    targetCount: (planId) => database.transact((session) => countTargets(session, planId)),
    ids: (planId) => database.transact((session) => readIds(session, planId)),
    warnedTargets: (planId, limit) => database.transact((session) => readWarned(session, planId, limit)),
    claim: (planId, claim) => database.transact((session) => claimPlan(session, planId, claim)),
    ofRun: (runId) => database.transact((session) => planOfRun(session, runId)),
  };
}

/** A condition with its values. */
function newestPlans(limit: number, after: PlanPlace | undefined): [string, (string | number | Date)[]] {
  const order = 'ORDER BY created_at DESC, plan_id LIMIT $1';
  if (after === undefined) return [`true ${order}`, [limit]];
  const isBehind = '(created_at < $2::TIMESTAMPTZ OR (created_at = $2::TIMESTAMPTZ AND plan_id > $3))';
  return [`${isBehind} ${order}`, [limit, new Date(after.createdAtMs), after.planId]];
}

async function countWells(session: SqlSession): Promise<number> {
  const [row] = await session.rows<{ wells: number }>(
    'SELECT count(*) AS wells FROM (SELECT uwi FROM watermark UNION SELECT DISTINCT uwi FROM daily_production) known',
  );
  return row?.wells ?? 0;
}

function targetColumns(planId: string): SqlColumns<PlannedTarget> {
  return {
    plan_id: () => planId,
    ordinal: ({ ordinal }) => ordinal,
    kind: ({ kind }) => kind,
    owner_id: ({ ownerId }) => ownerId,
    source_id: ({ sourceId }) => sourceId,
    sighting: ({ snapshot }) => snapshot.state,
    content_type: ({ snapshot }) => snapshot.contentType,
    body: ({ snapshot }) => snapshot.body,
    produced_on: ({ producedOn }) => producedOn,
    doubt: ({ doubt }) => doubt,
  };
}

async function keepPlan(session: SqlSession, draftId: string, plan: CleanupPlan): Promise<void> {
  const {
    planId,
    digest,
    serviceUrl,
    selection,
    selectionSha256,
    createdBy,
    createdAtMs,
    counts,
    caps,
    includesProducing,
  } = plan;
  await session.run(
    `INSERT INTO cleanup_plan
       (plan_id, digest, service_url, selection, created_by, created_at, counts, selection_sha256, includes_producing)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      planId,
      digest,
      serviceUrl,
      selection,
      createdBy,
      new Date(createdAtMs),
      jsonText(caps === null ? counts : { ...counts, caps }),
      selectionSha256,
      includesProducing,
    ],
  );
  await session.run('UPDATE cleanup_target SET plan_id = $2 WHERE plan_id = $1', [draftId, planId]);
  await session.run(
    `DELETE FROM cleanup_target WHERE plan_id NOT IN (SELECT plan_id FROM cleanup_plan) AND plan_id < $1`,
    [`draft ${new Date(createdAtMs - keepDraftsMs).toISOString().slice(0, -'.000Z'.length)}`],
  );
}

interface PlanRow {
  readonly plan_id: string;
  readonly digest: string;
  readonly service_url: string;
  readonly selection: string | null;
  readonly selection_sha256: string | null;
  readonly includes_producing: boolean | null;
  readonly created_by: string;
  readonly created_ms: number;
  readonly counts: string;
  readonly run_id: string | null;
  readonly applied_by: string | null;
  readonly applied_ms: number | null;
  /** State of the run that claimed the plan, if it is not planned. */
  readonly unplanned: RunState | null;
}

async function readPlans(
  session: SqlSession,
  condition: string,
  values: (string | number | Date)[],
): Promise<readonly CleanupPlan[]> {
  const rows = await session.rows<PlanRow>(
    `SELECT plan_id, digest, service_url, selection, selection_sha256, includes_producing, created_by, ${epochMs('created_at')} AS created_ms, counts, run_id,
       applied_by, ${epochMs('applied_at')} AS applied_ms,
       (SELECT state FROM run WHERE run.run_id = cleanup_plan.run_id AND unit_count IS NULL) AS unplanned FROM cleanup_plan WHERE ${condition}`,
    values,
  );
  return rows.map(({ counts, ...row }) => ({
    planId: row.plan_id,
    digest: row.digest,
    serviceUrl: row.service_url,
    selection: row.selection,
    selectionSha256: row.selection_sha256,
    includesProducing: row.includes_producing ?? false,
    createdBy: row.created_by,
    createdAtMs: row.created_ms,
    ...countsAndCaps(counts),
    applied:
      row.run_id === null || row.applied_ms === null
        ? undefined
        : {
            runId: row.run_id,
            atMs: row.applied_ms,
            by: row.applied_by ?? '',
            ...(row.unplanned === null ? {} : { unplanned: row.unplanned }),
          },
  }));
}

/** The caps are kept beside the counts, which are what they limit. */
function countsAndCaps(text: string): Pick<CleanupPlan, 'counts' | 'caps'> {
  const { caps = null, ...counts } = JSON.parse(text) as PlanCounts & { readonly caps?: CleanupCaps };
  return { counts, caps };
}

async function planOfRun(session: SqlSession, runId: string): Promise<CleanupPlan | undefined> {
  return (await readPlans(session, 'run_id = $1', [runId]))[0];
}

/** What the audit says of a plan and its run with each of their deletions, and when the plan was made. */
export type PlanOfAudit = Pick<AuditEntry, 'planId' | 'serviceUrl' | 'requestedBy' | 'retriedBy'> & {
  readonly createdAtMs: number;
};

/** The plan that the run has claimed. */
export async function planOfAudit(session: SqlSession, runId: string): Promise<PlanOfAudit | undefined> {
  const [plan] = await session.rows<PlanOfAudit>(
    `SELECT plan_id AS "planId", service_url AS "serviceUrl", coalesce(applied_by, '') AS "requestedBy",
       (SELECT reopened_by FROM run WHERE run.run_id = cleanup_plan.run_id) AS "retriedBy",
       ${epochMs('created_at')} AS "createdAtMs" FROM cleanup_plan WHERE run_id = $1`,
    [runId],
  );
  return plan;
}

interface TargetRow {
  readonly ordinal: number;
  readonly kind: TargetKind;
  readonly owner_id: string;
  readonly source_id: string | null;
  readonly sighting: TargetSnapshot['state'];
  readonly content_type: string | null;
  readonly body: string | null;
  readonly produced_on: string | null;
  readonly doubt: ProductionDoubt | null;
}

const selectTargets = `SELECT ordinal, kind, owner_id, source_id, sighting, content_type, body, produced_on, doubt
  FROM cleanup_target WHERE plan_id = $1`;

async function readTargets(
  session: SqlSession,
  planId: string,
  { from, limit }: TargetSlice,
): Promise<readonly PlannedTarget[]> {
  const rows = await session.rows<TargetRow>(`${selectTargets} AND ordinal >= $2 AND ordinal < $3 ORDER BY ordinal`, [
    planId,
    from,
    from + limit,
  ]);
  return rows.map(targetOf);
}

async function countTargets(session: SqlSession, planId: string): Promise<number> {
  const [row] = await session.rows<{ targets: number }>(
    'SELECT count(*) AS targets FROM cleanup_target WHERE plan_id = $1',
    [planId],
  );
  return row?.targets ?? 0;
}

async function readIds(session: SqlSession, planId: string): Promise<readonly DeletionTarget[]> {
  const targets: DeletionTarget[] = [];
  const select = `SELECT kind, owner_id AS "ownerId", source_id AS "sourceId" FROM cleanup_target
    WHERE plan_id = $1 ORDER BY ordinal`;
  for await (const target of session.stream<DeletionTarget>(select, [planId])) targets.push(target);
  return targets;
}

async function readWarned(session: SqlSession, planId: string, limit: number): Promise<readonly PlannedTarget[]> {
  const rows = await session.rows<TargetRow>(
    `${selectTargets} AND (sighting <> 'present' OR produced_on IS NOT NULL OR doubt IS NOT NULL) ORDER BY ordinal LIMIT $2`,
    [planId, limit],
  );
  return rows.map(targetOf);
}

function targetOf(row: TargetRow): PlannedTarget {
  return {
    ordinal: row.ordinal,
    kind: row.kind,
    ownerId: row.owner_id,
    sourceId: row.source_id,
    snapshot: { state: row.sighting, contentType: row.content_type, body: row.body },
    producedOn: row.produced_on,
    doubt: row.doubt,
  };
}

async function claimPlan(
  session: SqlSession,
  planId: string,
  { runId, atMs, by }: Parameters<CleanupPlans['claim']>[1],
): Promise<string> {
  // A plan that is claimed now must not be pruned meanwhile.
  await takeTurn(session, 'retention');
  await session.run(
    `UPDATE cleanup_plan SET run_id = $2, applied_by = $3, applied_at = $4
     WHERE plan_id = $1 AND run_id IS NULL`,
    [planId, runId, by, new Date(atMs)],
  );
  const [earlier] = await session.rows<{ runId: string }>(
    'SELECT run_id AS "runId" FROM deletion_audit WHERE plan_id = $1 AND run_id <> $2 LIMIT 1',
    [planId, runId],
  );
  if (earlier !== undefined) return earlier.runId;
  const [plan] = await readPlans(session, 'plan_id = $1', [planId]);
  if (plan?.applied === undefined) throw new UsageError(`there is no plan ${planId}`);
  return plan.applied.runId;
}

// What the warehouse knows of the production of wells within the last days, for a cleanup.

/**
 * A well is read where reads reached those days, and each of them is below the watermark or in the coverage ledger, the
 * last ones left out. An entry of the quarantine without a day counts by the time at which it was noticed.
 */
const statementOf = (dialect: SqlDialect): string => `
  WITH asked AS MATERIALIZED (SELECT DISTINCT ${dialect.each('$1', 'VARCHAR')} AS uwi),
       due_day AS (SELECT ${dayOfNumber('number')} AS day FROM (SELECT ${dialect.each('$3', 'INTEGER')} AS number) numbers),
       known AS (
         SELECT uwi FROM watermark UNION SELECT uwi FROM coverage UNION SELECT uwi FROM well_key
         UNION SELECT uwi FROM quarantine),
       produced AS (
         SELECT uwi, max(production_day) AS day FROM daily_production
         WHERE date >= $2::TIMESTAMPTZ AND uwi IN (SELECT uwi FROM asked)
           AND (oil_rate > 0 OR gas_rate > 0 OR water_rate > 0)
         GROUP BY uwi),
       reached AS (
         SELECT uwi, max(to_day) AS day FROM coverage WHERE uwi IN (SELECT uwi FROM asked) GROUP BY uwi),
       unread AS (
         SELECT DISTINCT asked.uwi
         FROM asked LEFT JOIN watermark USING (uwi)
           JOIN due_day ON day >= coalesce(watermark::DATE, DATE '0001-01-01')
         WHERE NOT EXISTS (
           SELECT 1 FROM coverage
           WHERE coverage.uwi = asked.uwi AND from_day <= due_day.day AND due_day.day < to_day)),
       doubtful AS (
         SELECT DISTINCT uwi FROM quarantine
         WHERE uwi IN (SELECT uwi FROM asked)
           AND coalesce(production_day, noticed_at::DATE) >= $2::TIMESTAMPTZ::DATE)
  SELECT asked.uwi, produced.day AS "producedOn",
    unread.uwi IS NULL
      AND (coalesce(watermark.watermark >= $2::TIMESTAMPTZ, false)
        OR coalesce(reached.day > $2::TIMESTAMPTZ::DATE, false))
      AS "isRead",
    doubtful.uwi IS NOT NULL AS "isQuarantined"
  FROM asked LEFT JOIN produced ON produced.uwi = asked.uwi LEFT JOIN watermark ON watermark.uwi = asked.uwi
    LEFT JOIN reached ON reached.uwi = asked.uwi LEFT JOIN doubtful ON doubtful.uwi = asked.uwi
    LEFT JOIN unread ON unread.uwi = asked.uwi
  WHERE asked.uwi IN (SELECT uwi FROM known)`;

async function readRecentProduction(
  session: SqlSession,
  uwis: readonly string[],
  { sinceMs, nowMs }: RecentDays,
): Promise<ReadonlyMap<string, RecentProduction>> {
  const rows = await session.rows<RecentProduction & { readonly uwi: string }>(statementOf(session.dialect), [
    jsonText(uwis),
    new Date(sinceMs),
    jsonText(dueDays({ sinceMs, nowMs })),
  ]);
  return new Map(rows.map(({ uwi, ...known }) => [uwi, known]));
}

/** Numbers of the days, in UTC, that must have been read. */
function dueDays({ sinceMs, nowMs }: RecentDays): readonly number[] {
  const first = Math.floor(sinceMs / DAY_MS);
  const count = Math.floor(nowMs / DAY_MS) - unreadDays - first;
  return Array.from({ length: Math.max(count, 0) }, (_, index) => first + index);
}
