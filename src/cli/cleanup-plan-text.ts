/** Decides how the plan of a cleanup reads on a terminal and as JSON. Pure. */
import type { CleanupPlan, PlanCounts, PlannedTarget } from '../core/cleanup-plan.ts';
import { targetText } from '../core/deletion-target.ts';
import { tableText } from './table.ts';
import { counted, figure, instantText, printable, roughDurationText } from './words.ts';

const mostWarningsShown = 10;

export interface ShownPlan {
  readonly plan: CleanupPlan;
  /** The first of the targets that are worth a warning. */
  readonly warned: readonly PlannedTarget[];
}

/** Lines of text, without a last line end. A plan that is not kept has no id that anybody could use. */
export function planText({ plan, warned }: ShownPlan, kept: 'kept' | 'not kept' = 'kept'): string {
  const head = kept === 'kept' ? `Plan ${plan.planId}: delete` : 'Would delete';
  const parts = [
    headText(plan, head),
    countsText(plan.counts),
    warningsText(plan, warned),
    verificationText(plan.counts),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function headText(plan: CleanupPlan, head: string): string {
  const { serviceUrl, createdAtMs, createdBy, selection, counts } = plan;
  const from = selection === null ? '' : `, from the selection ${selection}`;
  return [
    `${head} ${counted(counts.targets, 'target')} at ${printable(serviceUrl)}`,
    `Made at ${instantText(createdAtMs)} by ${printable(createdBy)}${from}`,
  ].join('\n');
}

function countsText(counts: PlanCounts): string {
  const rows = [
    ['1', 'time series', figure(counts.timeSeries), `of ${counted(counts.equipment, 'piece')} of equipment`],
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

function warningsText({ counts }: CleanupPlan, warned: readonly PlannedTarget[]): string {
  const lines = [
    ...warning(counts.producing, 'belongs', 'belong', 'to a well that produced within the last 30 days'),
    ...warning(counts.unknown, 'is', 'are', 'not known to the service'),
    ...warning(counts.unreadable, 'is', 'are', 'shown by the service in a form that breaks its contract'),
    ...shareWarning(counts),
  ];
  if (lines.length === 0) return '';
  const shown = warned.slice(0, mostWarningsShown).map((target) => `      ${targetWarning(target)}`);
  const hidden = counts.producing + counts.unknown + counts.unreadable - shown.length;
  const more = hidden > 0 ? ['      and more'] : [];
  return ['Warnings', ...lines.map((line) => `  ! ${line}`), ...shown, ...more].join('\n');
}

function warning(count: number, one: string, many: string, what: string): readonly string[] {
  return count === 0 ? [] : [`${counted(count, 'target')} ${count === 1 ? one : many} ${what}`];
}

function shareWarning({ wells: count, knownWells }: PlanCounts): readonly string[] {
  if (count === 0 || knownWells > 0) return [];
  return ['the warehouse knows no wells: nobody can say which share of them this is'];
}

function targetWarning(target: PlannedTarget): string {
  const { sighting, producedOn } = target;
  const remarks = [
    ...(producedOn === null ? [] : [`produced on ${producedOn}`]),
    ...(sighting.state === 'absent' ? ['not known'] : []),
    ...(sighting.state === 'unreadable' ? [sighting.body ?? 'not readable'] : []),
  ];
  return printable(`${targetText(target)}: ${remarks.join(', ')}`);
}

function verificationText({ timeSeries, microStrings, wellbores }: PlanCounts): string {
  const unread = ['Micro strings and wellbores have no documented read:', 'nothing can show that they are gone.'];
  return [
    'A deletion cannot be undone at the service.',
    ...(timeSeries > 0 ? ['Each time series is looked for after its deletion.'] : []),
    ...(microStrings + wellbores > 0 ? unread : []),
  ].join('\n');
}

/** Where the targets of a kept plan are, and what may be done with it now. */
export function planStanding(plan: CleanupPlan, nowMs: number, maxAgeMs: number): string {
  return [
    'Every target, and what the service showed of it:',
    `  wellsync query "FROM cleanup_target WHERE plan_id = '${plan.planId}'"`,
    ...whatMayBeDone(plan, nowMs, maxAgeMs),
  ].join('\n');
}

function whatMayBeDone(
  { planId, createdAtMs, applied }: CleanupPlan,
  nowMs: number,
  maxAgeMs: number,
): readonly string[] {
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

/** JSON: camelCase, instants as ISO text. */
export function planDocument({ plan, warned }: ShownPlan) {
  const { createdAtMs, applied, ...rest } = plan;
  return {
    ...rest,
    state: applied === undefined ? 'planned' : 'applied',
    createdAt: new Date(createdAtMs).toISOString(),
    applied: applied === undefined ? null : { ...applied, atMs: undefined, at: new Date(applied.atMs).toISOString() },
    warnings: warned.map(({ sighting, ...target }) => ({ ...target, sighting: sighting.state })),
  };
}

export function plansText(plans: readonly CleanupPlan[], nowMs: number, maxAgeMs: number): string {
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
  );
}

function stateText({ applied, createdAtMs }: CleanupPlan, nowMs: number, maxAgeMs: number): string {
  if (applied !== undefined) return 'applied';
  return nowMs - createdAtMs > maxAgeMs ? 'too old' : 'planned';
}
