/** Cleanup plans in DuckDB, with their targets and snapshots. Each call is one transaction. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { CleanupPlan, PlanCounts, PlannedTarget, TargetSnapshot } from '../../../core/cleanup/plan.ts';
import type { ProductionDoubt } from '../../../core/cleanup/producing.ts';
import type { DeletionTarget, TargetKind } from '../../../core/cleanup/target.ts';
import { UsageError } from '../../../core/base/errors.ts';
import type { RunState } from '../../../core/run/run.ts';
import type { CleanupPlans, TargetSlice } from '../../port/cleanup.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { sessionOf } from '../file/session.ts';
import { instant, jsonText, readRows, streamRows } from '../file/sql.ts';
import { wellFormed } from '../../sql/json-text.ts';
import { appendRows } from '../file/append-rows.ts';
import { readRecentProduction } from './recent-production.ts';
import { claimForService } from '../../sql/ownership/service-claim.ts';

/** Longest time for making a plan, in days: older drafts are abandoned. */
const keepDraftsDays = 1;

export function createCleanupPlans(file: DatabaseFile): CleanupPlans {
  return {
    knownWells: () => file.transact(countWells),
    recentProduction: async (uwis, days) =>
      uwis.length === 0 ? new Map() : file.transact((connection) => readRecentProduction(connection, uwis, days)),
    draft: (draftId, targets) => file.transact((connection) => appendTargets(connection, draftId, targets)),
    keep: (draftId, plan) =>
      file.transact(async (connection) => {
        if (file.service !== undefined) await claimForService(sessionOf(connection), file.service);
        await keepPlan(connection, draftId, plan);
      }),
    read: (planId) => file.transact(async (connection) => (await readPlans(connection, 'plan_id = $1', [planId]))[0]),
    list: (limit) =>
      file.transact((connection) => readPlans(connection, 'true ORDER BY created_at DESC, plan_id LIMIT $1', [limit])),
    targets: (planId, slice) => file.transact((connection) => readTargets(connection, planId, slice)),
    targetCount: (planId) => file.transact((connection) => countTargets(connection, planId)),
    ids: (planId) => file.transact((connection) => readIds(connection, planId)),
    warnedTargets: (planId, limit) => file.transact((connection) => readWarned(connection, planId, limit)),
    claim: (planId, claim) => file.transact((connection) => claimPlan(connection, planId, claim)),
    ofRun: (runId) => file.transact((connection) => planOfRun(connection, runId)),
  };
}

async function countWells(connection: DuckDBConnection): Promise<number> {
  const [row] = await readRows<{ wells: number }>(
    connection,
    'SELECT count(*) AS wells FROM (SELECT uwi FROM watermark UNION SELECT DISTINCT uwi FROM daily_production)',
  );
  return row?.wells ?? 0;
}

async function appendTargets(
  connection: DuckDBConnection,
  planId: string,
  targets: readonly PlannedTarget[],
): Promise<void> {
  // Days are appended as text: the appender would require DuckDB's own type of value.
  await connection.run('CREATE OR REPLACE TEMP TABLE drafted AS FROM cleanup_target LIMIT 0');
  await connection.run('ALTER TABLE drafted ALTER produced_on TYPE VARCHAR');
  await appendRows<PlannedTarget>(
    connection,
    'drafted',
    targets,
    [
      () => planId,
      ({ ordinal }) => ordinal,
      ({ kind }) => kind,
      ({ ownerId }) => ownerId,
      ({ sourceId }) => sourceId,
      ({ snapshot }) => snapshot.state,
      ({ snapshot }) => snapshot.contentType,
      ({ snapshot }) => snapshot.body,
      ({ producedOn }) => producedOn,
      ({ doubt }) => doubt,
    ],
    'temp',
  );
  await connection.run('INSERT INTO cleanup_target FROM drafted');
}

async function keepPlan(connection: DuckDBConnection, draftId: string, plan: CleanupPlan): Promise<void> {
  const { planId, digest, serviceUrl, selection, selectionSha256, createdBy, createdAtMs, counts, includesProducing } =
    plan;
  await connection.run(
    `INSERT INTO cleanup_plan
       (plan_id, digest, service_url, selection, created_by, created_at, counts, selection_sha256, includes_producing)
     VALUES ($1, $2, $3, $4, $5, ${instant('$6')}, $7, $8, $9)`,
    [
      planId,
      digest,
      serviceUrl,
      selection,
      wellFormed(createdBy),
      BigInt(createdAtMs),
      jsonText(counts),
      selectionSha256,
      includesProducing,
    ],
  );
  await connection.run('UPDATE cleanup_target SET plan_id = $2 WHERE plan_id = $1', [draftId, planId]);
  await connection.run(
    `DELETE FROM cleanup_target WHERE plan_id NOT IN (SELECT plan_id FROM cleanup_plan)
       AND plan_id < 'draft ' || strftime(${instant('$1')}::TIMESTAMP - INTERVAL ${keepDraftsDays} DAY, '%Y-%m-%dT%H:%M:%S')`,
    [BigInt(createdAtMs)],
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
  connection: DuckDBConnection,
  condition: string,
  values: (string | number)[],
): Promise<readonly CleanupPlan[]> {
  const rows = await readRows<PlanRow>(
    connection,
    `SELECT plan_id, digest, service_url, selection, selection_sha256, includes_producing, created_by, epoch_ms(created_at) AS created_ms, counts, run_id,
       applied_by, epoch_ms(applied_at) AS applied_ms,
       (SELECT state FROM run WHERE run.run_id = cleanup_plan.run_id AND unit_count IS NULL) AS unplanned FROM cleanup_plan WHERE ${condition}`,
    values,
  );
  return rows.map((row) => ({
    planId: row.plan_id,
    digest: row.digest,
    serviceUrl: row.service_url,
    selection: row.selection,
    selectionSha256: row.selection_sha256,
    includesProducing: row.includes_producing ?? false,
    createdBy: row.created_by,
    createdAtMs: row.created_ms,
    counts: JSON.parse(row.counts) as PlanCounts,
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

export async function planOfRun(connection: DuckDBConnection, runId: string): Promise<CleanupPlan | undefined> {
  return (await readPlans(connection, 'run_id = $1', [runId]))[0];
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
  connection: DuckDBConnection,
  planId: string,
  { from, limit }: TargetSlice,
): Promise<readonly PlannedTarget[]> {
  const rows = await readRows<TargetRow>(
    connection,
    `${selectTargets} AND ordinal >= $2 AND ordinal < $3 ORDER BY ordinal`,
    [planId, from, from + limit],
  );
  return rows.map(targetOf);
}

async function countTargets(connection: DuckDBConnection, planId: string): Promise<number> {
  const [row] = await readRows<{ targets: number }>(
    connection,
    'SELECT count(*) AS targets FROM cleanup_target WHERE plan_id = $1',
    [planId],
  );
  return row?.targets ?? 0;
}

async function readIds(connection: DuckDBConnection, planId: string): Promise<readonly DeletionTarget[]> {
  const targets: DeletionTarget[] = [];
  const select = `SELECT kind, owner_id AS "ownerId", source_id AS "sourceId" FROM cleanup_target
    WHERE plan_id = $1 ORDER BY ordinal`;
  for await (const target of streamRows<DeletionTarget>(connection, select, [planId])) targets.push(target);
  return targets;
}

async function readWarned(
  connection: DuckDBConnection,
  planId: string,
  limit: number,
): Promise<readonly PlannedTarget[]> {
  const rows = await readRows<TargetRow>(
    connection,
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
  connection: DuckDBConnection,
  planId: string,
  { runId, atMs, by }: Parameters<CleanupPlans['claim']>[1],
): Promise<string> {
  await connection.run(
    `UPDATE cleanup_plan SET run_id = $2, applied_by = $3, applied_at = ${instant('$4')}
     WHERE plan_id = $1 AND run_id IS NULL`,
    [planId, runId, by, BigInt(atMs)],
  );
  const [earlier] = await readRows<{ runId: string }>(
    connection,
    'SELECT run_id AS "runId" FROM deletion_audit WHERE plan_id = $1 AND run_id <> $2 LIMIT 1',
    [planId, runId],
  );
  if (earlier !== undefined) return earlier.runId;
  const [plan] = await readPlans(connection, 'plan_id = $1', [planId]);
  if (plan?.applied === undefined) throw new UsageError(`there is no plan ${planId}`);
  return plan.applied.runId;
}
