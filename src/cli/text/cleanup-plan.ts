/** The text of a cleanup plan for a terminal. */
import { consequencesOf, planState, type ShownPlan, warningsOf } from '../../app/cleanups/plan-document.ts';
import type { QueryResult } from '../../app/warehouse/query-file.ts';
import { counted, figure, instantText, printable, roughDurationText } from '../../core/base/text.ts';
import {
  claimText,
  type CleanupPlan,
  type PlanApplication,
  type PlanCounts,
  type PlannedTarget,
} from '../../core/cleanup/plan.ts';
import type { ProductionDoubt } from '../../core/cleanup/producing.ts';
import { type DeletionTarget, targetText } from '../../core/cleanup/target.ts';
import { isFinished } from '../../core/run/run.ts';
import { tableText } from './table.ts';

const mostWarningsShown = 10;

/** Lines of text without a final line end. A plan that is not kept shows no id. */
export function planText({ plan, warned }: ShownPlan, kept: 'kept' | 'not kept' = 'kept'): string {
  const head = kept === 'kept' ? `Plan ${plan.planId}: delete` : 'Would delete';
  const parts = [
    headText(plan, head),
    countsText(plan.counts),
    warningsText(plan, warned),
    consequencesOf(plan.counts).join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function headText(plan: CleanupPlan, head: string): string {
  const { serviceUrl, createdAtMs, createdBy, selection, selectionSha256, counts } = plan;
  const from = selection === null ? '' : `, from the selection ${selection}`;
  const file = selectionSha256 === null ? [] : [`File of the selection: SHA-256 ${selectionSha256}`];
  return [
    `${head} ${counted(counts.targets, 'target')} at ${printable(serviceUrl)}`,
    `Made at ${instantText(createdAtMs)} by ${printable(createdBy)}${from}`,
    ...file,
  ].join('\n');
}

function countsText(counts: PlanCounts): string {
  const rows = [
    ['1', 'time series', figure(counts.timeSeries), `of ${counted(counts.equipment, 'equipment id')}`],
    ['2', 'micro strings', figure(counts.microStrings), `all that ${wells(counts.microStrings)}`],
    ['3', 'wellbores', figure(counts.wellbores), `all that ${wells(counts.wellbores)}`],
  ].filter(([, , count]) => count !== '0');
  const repeated =
    counts.repeated === 0 ? '' : `\n\n  ${counted(counts.repeated, 'target was', 'targets were')} named more than once`;
  return `${tableText([{}, {}, { align: 'right' }, {}], rows, '  ')}${repeated}`;
}

function wells(count: number): string {
  return count === 1 ? 'the well has' : 'the wells have';
}

function warningsText(plan: CleanupPlan, warned: readonly PlannedTarget[]): string {
  const lines = warningsOf(plan);
  if (lines.length === 0) return '';
  const shown = warned.slice(0, mostWarningsShown).map((target) => `      ${targetWarning(target)}`);
  const more = warned.length > shown.length ? ['      and more'] : [];
  return ['Warnings', ...lines.map((line) => `  ! ${line}`), ...shown, ...more].join('\n');
}

function targetWarning(target: PlannedTarget): string {
  const { snapshot, producedOn, doubt } = target;
  const remarks = [
    ...(snapshot.state === 'absent' ? ['not known'] : []),
    ...(snapshot.state === 'unreadable' ? [snapshot.body ?? 'not readable'] : []),
    ...(producedOn === null ? [] : [`produced on ${producedOn}`]),
    ...(producedOn !== null || doubt === null ? [] : [doubts[doubt]]),
  ];
  return printable(`${targetText(target)}: ${remarks.join(', ')}`);
}

const doubts: Readonly<Record<ProductionDoubt, string>> = {
  unread: 'its production was not read within cleanup.refuseIfProducedWithinDays',
  quarantined: 'records of its production are in quarantine',
  unmapped: 'the warehouse knows no production under its id',
};

/** Where to see the targets of a kept plan, and what may be done with it now. */
export function planStatus(plan: CleanupPlan, nowMs: number, maxAgeMs: number): string {
  return [
    'Every target, and what the service showed of it:',
    `  wellsync query "SELECT * FROM cleanup_target WHERE plan_id = '${plan.planId}'"`,
    ...whatMayBeDone(plan, nowMs, maxAgeMs),
  ].join('\n');
}

function whatMayBeDone(
  { planId, createdAtMs, applied }: CleanupPlan,
  nowMs: number,
  maxAgeMs: number,
): readonly string[] {
  if (applied !== undefined && applied.unplanned !== undefined) return whatItsRunMayDo(applied);
  if (applied !== undefined) {
    const { runId, atMs, by } = applied;
    return [`Applied at ${instantText(atMs)} by ${printable(by)}:`, `  wellsync runs show ${runId}`];
  }
  const leftMs = createdAtMs + maxAgeMs - nowMs;
  if (leftMs <= 0) {
    return ['Nothing was deleted, and it is too old to be applied (cleanup.planMaxAgeHours): make a new one.'];
  }
  return [`Nothing was deleted. Apply it within ${roughDurationText(leftMs)}:`, `  wellsync cleanup --apply ${planId}`];
}

function whatItsRunMayDo(claim: PlanApplication): readonly string[] {
  const { runId, unplanned = 'queued' } = claim;
  const kind = isFinished(unplanned) ? 'retry' : 'show';
  return [`Nothing was deleted by run ${runId}, which ${claimText(claim)}.`, `  wellsync runs ${kind} ${runId}`];
}

export function plansText(plans: readonly CleanupPlan[], nowMs: number, maxAgeMs: number, width: number): string {
  if (plans.length === 0) return 'There are no plans.';
  const rows = plans.map((plan) => [
    plan.planId,
    figure(plan.counts.targets),
    stateText(plan, nowMs, maxAgeMs),
    instantText(plan.createdAtMs),
    plan.createdBy,
    plan.applied?.runId ?? '',
  ]);
  const heads = ['plan', 'targets', 'state', 'made at', 'by', 'run'];
  return tableText(
    heads.map((head) => ({ head, align: head === 'targets' ? 'right' : 'left' })),
    rows,
    '',
    width,
  );
}

function stateText(plan: CleanupPlan, nowMs: number, maxAgeMs: number): string {
  if (plan.applied !== undefined) return planState(plan);
  return nowMs - plan.createdAtMs > maxAgeMs ? 'too old' : 'planned';
}

// Deletions as a table: a line each, the most important fields in the first columns.

/** A row of `DeletionLedger.list`. */
type Cells = Readonly<Record<string, unknown>>;

const columns: ReadonlyArray<{ readonly name: string; readonly type: string; readonly of: (cells: Cells) => unknown }> =
  [
    { name: 'noted at', type: 'VARCHAR', of: ({ noted_at }) => instantText(Date.parse(String(noted_at))) },
    { name: 'outcome', type: 'VARCHAR', of: ({ outcome }) => outcome },
    { name: 'target', type: 'VARCHAR', of: targetOf },
    { name: 'returned', type: 'BIGINT', of: ({ answer }) => answer },
    { name: 'verified', type: 'VARCHAR', of: ({ verification }) => verification },
    { name: 'by', type: 'VARCHAR', of: ({ requested_by }) => requested_by },
    { name: 'retried by', type: 'VARCHAR', of: ({ retried_by }) => retried_by },
    { name: 'run', type: 'VARCHAR', of: ({ run_id }) => run_id },
    { name: 'message', type: 'VARCHAR', of: ({ words }) => words },
    { name: 'plan', type: 'VARCHAR', of: ({ plan_id }) => plan_id },
    { name: 'service', type: 'VARCHAR', of: ({ service_url }) => service_url },
    { name: 'row', type: 'BIGINT', of: ({ seq }) => seq },
  ];

function targetOf({ kind, owner_id, source_id }: Cells): string {
  return targetText({ kind, ownerId: owner_id, sourceId: source_id } as DeletionTarget);
}

/** The deletions in a form for people: the target in one cell, and empty cells for null. */
export function readableDeletions(list: QueryResult): QueryResult {
  return { columns: columns.map(({ name, type }) => ({ name, type })), rows: readableRows(list) };
}

async function* readableRows({ columns: given, rows }: QueryResult): AsyncGenerator<readonly unknown[]> {
  for await (const row of rows) {
    const cells = Object.fromEntries(given.map(({ name }, position) => [name, row[position]]));
    yield columns.map(({ of }) => of(cells) ?? '');
  }
}
