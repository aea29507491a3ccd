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
  type DeletionTarget,
  type RecentDays,
  type RecentProduction,
  unreadDays,
} from '../../../core/cleanup/target.ts';
import type { RunState } from '../../../core/run/run.ts';
import { DAY_MS } from '../../../core/time/window.ts';
import type { CleanupPlans, PlanPosition } from '../../port/cleanup.ts';
import { claimForService } from './service-claim.ts';
import {
  columnsOf,
  countOf,
  dayOfNumber,
  epochMs,
  type InSession,
  jsonText,
  membersOf,
  type SqlColumns,
  type SqlDatabase,
  type SqlDialect,
  type SqlSession,
  type SqlValue,
  takeTurn,
  transacted,
} from '../session.ts';

/** Longest time for making a plan: older drafts are abandoned. */
const keepDraftsMs = DAY_MS;

export function createCleanupPlans(database: SqlDatabase): CleanupPlans {
  return {
    ...transacted<Omit<CleanupPlans, 'recentProduction'>>(database, {
      knownWells: (session) => countOf(session, knownWells),
      draft: (session, draftId, targets) => session.append('cleanup_target', targetColumns(draftId), targets),
      keep: async (session, draftId, plan) => {
        await claimForService(session, database);
        await keepPlan(session, draftId, plan);
      },
      read: readPlan,
      list: (session, limit, after) => readPlans(session, ...newestPlans(limit, after)),
      targets: readTargets,
      targetCount: (session, planId) => countOf(session, 'cleanup_target WHERE plan_id = $1', [planId]),
      ids: readIds,
      warnedTargets: readWarned,
      claim: claimPlan,
      ofRun: async (session, runId) => (await readPlans(session, 'run_id = $1', [runId]))[0],
    }),
    recentProduction: async (uwis, days) =>
      uwis.length === 0 ? new Map() : database.transact((session) => readRecentProduction(session, uwis, days)),
  };
}

function newestPlans(limit: number, after: PlanPosition | undefined): [string, readonly SqlValue[]] {
  const order = 'ORDER BY created_at DESC, plan_id LIMIT $1';
  if (after === undefined) return [`true ${order}`, [limit]];
  const isBehind = '(created_at < $2::TIMESTAMPTZ OR (created_at = $2::TIMESTAMPTZ AND plan_id > $3))';
  return [`${isBehind} ${order}`, [limit, new Date(after.createdAtMs), after.planId]];
}

const knownWells = '(SELECT uwi FROM watermark UNION SELECT DISTINCT uwi FROM daily_production) known';

function targetColumns(planId: string): SqlColumns<PlannedTarget> {
  return {
    plan_id: () => planId,
    ...columnsOf('ordinal', 'kind', 'ownerId', 'sourceId'),
    sighting: ({ snapshot }) => snapshot.state,
    content_type: ({ snapshot }) => snapshot.contentType,
    body: ({ snapshot }) => snapshot.body,
    ...columnsOf('producedOn', 'doubt'),
  };
}

const keepPlan: InSession<CleanupPlans['keep']> = async (session, draftId, plan) => {
  const { planId, createdAtMs, counts, caps } = plan;
  await session.run(
    `INSERT INTO cleanup_plan
       (plan_id, digest, service_url, selection, created_by, created_at, counts, selection_sha256, includes_producing)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      planId,
      plan.digest,
      plan.serviceUrl,
      plan.selection,
      plan.createdBy,
      new Date(createdAtMs),
      jsonText(caps === null ? counts : { ...counts, caps }),
      plan.selectionSha256,
      plan.includesProducing,
    ],
  );
  await session.run('UPDATE cleanup_target SET plan_id = $2 WHERE plan_id = $1', [draftId, planId]);
  await session.run(
    `DELETE FROM cleanup_target WHERE plan_id NOT IN (SELECT plan_id FROM cleanup_plan) AND plan_id < $1`,
    [`draft ${new Date(createdAtMs - keepDraftsMs).toISOString().slice(0, -'.000Z'.length)}`],
  );
};

type PlainMembers = Omit<CleanupPlan, 'counts' | 'caps' | 'applied'>;

/** `counts` has the caps beside them, which are what they limit. */
interface PlanRow extends PlainMembers {
  readonly counts: string;
  readonly runId: string | null;
  readonly appliedBy: string | null;
  readonly appliedAtMs: number | null;
  /** State of the run that claimed the plan, if it is not planned. */
  readonly unplanned: RunState | null;
}

async function readPlans(
  session: SqlSession,
  condition: string,
  values: readonly SqlValue[],
): Promise<readonly CleanupPlan[]> {
  const rows = await session.rows<PlanRow>(
    `SELECT ${membersOf('planId', 'digest', 'serviceUrl', 'selection', 'selectionSha256')},
       coalesce(includes_producing, false) AS "includesProducing", ${membersOf('createdBy')},
       ${epochMs('created_at')} AS "createdAtMs", ${membersOf('counts', 'runId', 'appliedBy')},
       ${epochMs('applied_at')} AS "appliedAtMs",
       (SELECT state FROM run WHERE run.run_id = cleanup_plan.run_id AND unit_count IS NULL) AS unplanned
     FROM cleanup_plan WHERE ${condition}`,
    values,
  );
  return rows.map(({ counts: text, runId, appliedBy: by, appliedAtMs: atMs, unplanned, ...plain }) => {
    const { caps = null, ...counts } = JSON.parse(text) as PlanCounts & { readonly caps?: CleanupCaps };
    const isApplied = runId !== null && atMs !== null;
    const applied = isApplied ? { runId, atMs, by: by ?? '', ...(unplanned !== null && { unplanned }) } : undefined;
    return { ...plain, counts, caps, applied };
  });
}

const readPlan: InSession<CleanupPlans['read']> = async (session, planId) =>
  (await readPlans(session, 'plan_id = $1', [planId]))[0];

/** What the audit says of a plan and its run with each of their deletions, and when the plan was made. */
export type PlanOfAudit = Pick<AuditEntry, 'planId' | 'serviceUrl' | 'requestedBy' | 'retriedBy'> & {
  readonly createdAtMs: number;
};

/** The plan that the run has claimed. */
export async function planOfAudit(session: SqlSession, runId: string): Promise<PlanOfAudit | undefined> {
  const [plan] = await session.rows<PlanOfAudit>(
    `SELECT ${membersOf('planId', 'serviceUrl')}, coalesce(applied_by, '') AS "requestedBy",
       (SELECT reopened_by FROM run WHERE run.run_id = cleanup_plan.run_id) AS "retriedBy",
       ${epochMs('created_at')} AS "createdAtMs" FROM cleanup_plan WHERE run_id = $1`,
    [runId],
  );
  return plan;
}

type TargetRow = Omit<PlannedTarget, 'snapshot'> & TargetSnapshot;

const selectTargets = `SELECT ${membersOf('ordinal', 'kind', 'ownerId', 'sourceId')}, sighting AS state,
    ${membersOf('contentType', 'body', 'producedOn', 'doubt')} FROM cleanup_target WHERE plan_id = $1`;

async function targetsOf(session: SqlSession, rest: string, values: SqlValue[]): Promise<readonly PlannedTarget[]> {
  const rows = await session.rows<TargetRow>(`${selectTargets} AND ${rest}`, values);
  return rows.map(({ state, contentType, body, producedOn, doubt: uncertainty, ...target }) => {
    return { ...target, snapshot: { state, contentType, body }, producedOn, doubt: uncertainty };
  });
}

const readTargets: InSession<CleanupPlans['targets']> = (session, planId, { from, limit }) =>
  targetsOf(session, 'ordinal >= $2 AND ordinal < $3 ORDER BY ordinal', [planId, from, from + limit]);

const isWarned = `(sighting <> 'present' OR produced_on IS NOT NULL OR doubt IS NOT NULL)`;

const readWarned: InSession<CleanupPlans['warnedTargets']> = (session, planId, limit) =>
  targetsOf(session, `${isWarned} ORDER BY ordinal LIMIT $2`, [planId, limit]);

const readIds: InSession<CleanupPlans['ids']> = async (session, planId) => {
  const targets: DeletionTarget[] = [];
  const members = membersOf('kind', 'ownerId', 'sourceId');
  const select = `SELECT ${members} FROM cleanup_target WHERE plan_id = $1 ORDER BY ordinal`;
  for await (const target of session.stream<DeletionTarget>(select, [planId])) targets.push(target);
  return targets;
};

const claimPlan: InSession<CleanupPlans['claim']> = async (session, planId, { runId, atMs, by }) => {
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
  const plan = await readPlan(session, planId);
  if (plan?.applied === undefined) throw new UsageError(`there is no plan ${planId}`);
  return plan.applied.runId;
};

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

const readRecentProduction: InSession<CleanupPlans['recentProduction']> = async (session, uwis, days) => {
  const values = [jsonText(uwis), new Date(days.sinceMs), jsonText(dueDays(days))];
  const statement = statementOf(session.dialect);
  const rows = await session.rows<RecentProduction & { readonly uwi: string }>(statement, values);
  return new Map(rows.map(({ uwi, ...known }) => [uwi, known]));
};

/** Numbers of the days, in UTC, that must have been read. */
function dueDays({ sinceMs, nowMs }: RecentDays): readonly number[] {
  const first = Math.floor(sinceMs / DAY_MS);
  const count = Math.floor(nowMs / DAY_MS) - unreadDays - first;
  return Array.from({ length: Math.max(count, 0) }, (_, index) => first + index);
}
