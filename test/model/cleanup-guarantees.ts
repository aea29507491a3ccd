/** What holds of cleanups at any moment, by the number of its guarantee (docs/guarantees.md): each answer is a violation. */
import type { AuditEvent } from '../../src/core/cleanup/audit-chain.ts';
import type { DeletionOutcome } from '../../src/core/cleanup/outcome.ts';
import { type DeletionTarget, targetText } from '../../src/core/cleanup/target.ts';
import type { RunReport } from '../../src/core/run/run.ts';
import type { CleanupScene } from './cleanup-commands.ts';
import { type AskedDeletion, producingWell } from './cleanup-service.ts';
import { bugsIn, reportOf, secretsIn, storedRuns, type StoredRun, unended } from './world-guarantees.ts';
import type { Asked, World } from './world.ts';

interface AuditRow extends DeletionTarget {
  readonly runId: string;
  readonly unit: number;
  readonly event: AuditEvent;
  readonly outcome: DeletionOutcome | null;
}

const targetColumns = 'kind, owner_id AS "ownerId", source_id AS "sourceId"';

function auditOf(asked: Asked): Promise<readonly AuditRow[]> {
  return asked.rows<AuditRow>(
    `SELECT run_id AS "runId", unit, event, outcome, ${targetColumns} FROM deletion_audit ORDER BY seq`,
  );
}

/** G6: asked when a deletion arrives. Each call has an intent of its own, in the plan that its run was confirmed for. */
export async function deletionViolations(
  world: World,
  confirmed: ReadonlyMap<string, string>,
  { runId, target, calls }: AskedDeletion,
): Promise<readonly string[]> {
  const what = `${runId} deletes ${targetText(target)}`;
  const isIt = (row: DeletionTarget): boolean => targetText(row) === targetText(target);
  const audit = await auditOf(world);
  const intents = audit.filter((row) => row.runId === runId && row.event === 'intent' && isIt(row)).length;
  const planned = await world.rows<DeletionTarget & { readonly planId: string; readonly includes: boolean }>(
    `SELECT plan_id AS "planId", includes_producing AS includes, ${targetColumns}
     FROM cleanup_plan JOIN cleanup_target USING (plan_id) WHERE run_id = '${runId}'`,
  );
  const own = planned.find(isIt);
  return [
    ...(intents < calls ? [`G6: ${what} in ${calls} calls with ${intents} intents`] : []),
    ...(own === undefined ? [`G6: ${what}, which is in no plan of it`] : []),
    ...(own !== undefined && confirmed.get(runId) !== own.planId ? [`G6: ${what}, by a plan nobody confirmed`] : []),
    ...(own?.includes === false && target.ownerId === producingWell ? [`G6: ${what}, and the well produces`] : []),
  ];
}

export async function cleanupViolations(scene: CleanupScene): Promise<readonly string[]> {
  const { world, service } = scene;
  const { broken } = await world.warehouse.ledger.deletions.verify();
  return [
    ...service.violations,
    ...(broken === undefined ? [] : [`G6: row ${broken.seq} of the audit ${broken.reason}`]),
    ...(await auditViolations(scene, world)),
    ...outcomesLeft(await auditOf(world), await storedRuns(world)),
    ...secretsIn(world, await storedRuns(world)),
    ...bugsIn(world),
  ];
}

/** Those that can be asked of a copy as well. */
export async function auditViolations(scene: CleanupScene, asked: Asked): Promise<readonly string[]> {
  const [runs, audit] = [await storedRuns(asked), await auditOf(asked)];
  return [
    ...(await unended(asked, runs)),
    ...runs.flatMap((run) => reportOf(run) ?? []).flatMap((report) => [...balanceOf(report)]),
    ...outcomesInOrder(audit),
    ...goneTargets(scene, audit),
    ...(await claimedTwice(asked)),
  ];
}

/** G2 */
function* balanceOf({ runId, counts, units }: RunReport): Generator<string> {
  const { deleted = 0, alreadyGone = 0, refused = 0 } = counts;
  const sum = deleted + alreadyGone + refused + units.failed + units.cancelled;
  if (sum !== units.total) yield `G2: ${runId} has ${units.total} targets, and accounts for ${sum}`;
}

const keyOf = (row: AuditRow): string => `${row.runId} ${targetText(row)}`;

/** G1, G6: a unit that has its outcome has no further event, and an outcome follows an intent. */
function* outcomesInOrder(audit: readonly AuditRow[]): Generator<string> {
  const last = new Map<string, AuditRow>();
  for (const row of audit) {
    const key = keyOf(row);
    const before = last.get(key)?.outcome ?? null;
    if (before !== null && before !== 'failed')
      yield `G1: ${key} was ${before}, and has ${row.outcome ?? row.event} after`;
    if (row.event === 'outcome' && row.outcome !== 'refused' && row.outcome !== 'failed' && !last.has(key)) {
      yield `G6: ${key} is ${row.outcome} without an intent`;
    }
    last.set(key, row);
  }
}

/** G6: in a run that has ended each intent has its outcome; a copy may have been made between the two. */
function* outcomesLeft(audit: readonly AuditRow[], runs: readonly StoredRun[]): Generator<string> {
  const ended = new Set(runs.flatMap((run) => reportOf(run)?.runId ?? []));
  const last = new Map(audit.map((row) => [keyOf(row), row]));
  for (const [key, { runId, event }] of last) {
    if (event === 'intent' && ended.has(runId)) yield `G6: ${key} has an intent without an outcome`;
  }
}

/** G6: what counts as deleted is gone, removed by the run that says so; what a run removed it does not call refused. */
function goneTargets({ service }: CleanupScene, audit: readonly AuditRow[]): readonly string[] {
  return audit.flatMap((row) => {
    const { runId, outcome } = row;
    const what = `${runId} calls ${targetText(row)} ${outcome}`;
    const by = service.removedBy.get(targetText(row));
    const isGone = !service.has(row);
    if ((outcome === 'deleted' || outcome === 'already gone') && !isGone) return [`G6: ${what}, and it is there`];
    if (outcome === 'deleted' && by !== runId) return [`G6: ${what}, and ${by} removed it`];
    return outcome === 'refused' && by === runId ? [`G6: ${what}, and has removed it`] : [];
  });
}

/** G6: a plan belongs to one run, as do the units that delete by it. */
async function claimedTwice(asked: Asked): Promise<readonly string[]> {
  const plans = await asked.rows<{ planId: string }>(
    'SELECT plan_id AS "planId" FROM deletion_audit GROUP BY plan_id HAVING count(DISTINCT run_id) > 1',
  );
  return plans.map(({ planId }) => `G6: two runs delete by plan ${planId}`);
}
