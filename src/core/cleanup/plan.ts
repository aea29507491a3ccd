/**
 * The plan of a cleanup: its content, its caps, its expiry, and changes at the service since it was made
 * (docs/design.md section 4.4, G6). Pure.
 */
import { counted, figure, parsedJson } from '../base/text.ts';
import { type DeletionTarget, equipmentOf, type ProductionUncertainty, targetText, wellsOf } from './target.ts';
import { UsageError } from '../base/errors.ts';
import { isFinished, type RunState } from '../run/run.ts';
import { HOUR_MS } from '../time/window.ts';

/**
 * What the service showed of a target's owner: the record of a time series, the body of a well. `absent`: the service
 * does not know it. `unreadable`: the answer broke the contract, and `body` names the fault.
 */
export interface TargetSnapshot {
  readonly state: 'present' | 'absent' | 'unreadable';
  readonly contentType: string | null;
  readonly body: string | null;
}

export interface PlannedTarget extends DeletionTarget {
  /** Ordinal in the plan, from 0, dense. */
  readonly ordinal: number;
  readonly snapshot: TargetSnapshot;
  /** The last day on which the well produced lately, by the warehouse: YYYY-MM-DD. */
  readonly producedOn: string | null;
  /** Why nobody can say that the well does not produce; null in plans of earlier versions. */
  readonly doubt: ProductionUncertainty | null;
}

export interface PlanCounts {
  readonly targets: number;
  readonly timeSeries: number;
  readonly microStrings: number;
  readonly wellbores: number;
  readonly equipment: number;
  readonly wells: number;
  /** Targets named more than once, and left out. */
  readonly repeated: number;
  /** Targets that the service does not know. */
  readonly unknown: number;
  readonly unreadable: number;
  /** Targets whose well produced lately. */
  readonly producing: number;
  /** Targets whose well counts as producing: its production was not read, or is in quarantine. Absent for none. */
  readonly unread?: number;
  /** Targets of wells under whose id the warehouse knows no production. Absent for none. */
  readonly unmapped?: number;
  /** Wells that the warehouse knows. */
  readonly knownWells: number;
}

export interface CleanupPlan {
  /** The beginning of `digest`, in groups that can be read aloud. */
  readonly planId: string;
  /** SHA-256 of the whole content of the plan. */
  readonly digest: string;
  readonly serviceUrl: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  /** Name of the saved selection that it was made from. */
  readonly selection: string | null;
  /** SHA-256 of the file that the selection was read from; null without one. Not part of `digest`. */
  readonly selectionSha256: string | null;
  /** Its author wants the targets of producing wells deleted too. */
  readonly includesProducing: boolean;
  readonly counts: PlanCounts;
  /** The caps that it was made within; null in plans of earlier versions. Not part of `digest`. */
  readonly caps: CleanupCaps | null;
  /** The run that claimed the plan; undefined until then. */
  readonly applied: PlanApplication | undefined;
}

export interface PlanApplication {
  readonly runId: string;
  readonly atMs: number;
  readonly by: string;
  /** State of a run that is not planned yet, and so has deleted nothing; absent for any other run. */
  readonly unplanned?: RunState;
}

/** `waits for a worker`, of a run that claimed a plan and is not planned yet; undefined for a run that is. */
export function claimText({ unplanned }: PlanApplication): string | undefined {
  if (unplanned === undefined) return undefined;
  if (!isFinished(unplanned)) return 'waits for a worker';
  return `${unplanned === 'failed' ? 'failed' : `was ${unplanned}`} before it was planned`;
}

/**
 * The first line of the digest. The targets follow, in order, each as {@link targetLine}; {@link countsLine} is last.
 */
export function planLine(
  plan: Pick<CleanupPlan, 'serviceUrl' | 'createdAtMs' | 'createdBy' | 'selection' | 'includesProducing'>,
): string {
  const { serviceUrl, createdAtMs, createdBy, selection, includesProducing } = plan;
  // Whatever earlier versions did not have is left out where it says nothing: their plans keep their digests.
  const producing = includesProducing ? ['includes producing'] : [];
  return `${JSON.stringify([serviceUrl, createdAtMs, createdBy, selection, ...producing])}\n`;
}

export function targetLine(target: PlannedTarget): string {
  const { ordinal, kind, ownerId, sourceId, snapshot, producedOn, doubt: uncertainty } = target;
  const { state, contentType, body } = snapshot;
  const fields = [ordinal, kind, ownerId, sourceId, state, contentType, body, producedOn];
  return `${JSON.stringify([...fields, ...(uncertainty === null ? [] : [uncertainty])])}\n`;
}

/** The line of the counts that the operator confirms and the caps limit. */
export function countsLine(counts: PlanCounts): string {
  const { targets, timeSeries, microStrings, wellbores, equipment, wells } = counts;
  const { repeated, unknown, unreadable, producing, knownWells, unread = 0, unmapped = 0 } = counts;
  const uncertain = unread + unmapped === 0 ? [] : [unread, unmapped];
  const shown = [repeated, unknown, unreadable, producing, knownWells, ...uncertain];
  return `${JSON.stringify([targets, timeSeries, microStrings, wellbores, equipment, wells, ...shown])}\n`;
}

/** `3f9a-1c27-b04e`, from a digest in hexadecimal. */
export function planIdOf(digest: string): string {
  return (digest.slice(0, 12).match(/.{4}/g) ?? []).join('-');
}

export interface CleanupCaps {
  readonly maxTargets: number;
  readonly maxShareOfWellsPercent: number;
}

/**
 * Every exceeded cap, one sentence each. The share rounds down to whole wells, but never to none unless it is 0: otherwise a
 * field of few wells could delete nothing.
 */
export function passedCaps(
  { targets, wells }: Pick<PlanCounts, 'targets' | 'wells'>,
  knownWells: number,
  caps: CleanupCaps,
): readonly string[] {
  const faults: string[] = [];
  if (targets > caps.maxTargets) {
    faults.push(
      `${counted(targets, 'target is', 'targets are')} more than the ${figure(caps.maxTargets)} that one run may delete (maxTargets)`,
    );
  }
  const mostWells = caps.maxShareOfWellsPercent === 0 ? 0 : 1;
  if (knownWells > 0 && wells > mostWells && wells * 100 > knownWells * caps.maxShareOfWellsPercent) {
    const share = Math.round((1_000 * wells) / knownWells) / 10;
    faults.push(
      `${counted(wells, 'well is', 'wells are')} ${share} % of the ${figure(knownWells)} that the warehouse knows, more than the ` +
        `${caps.maxShareOfWellsPercent} % that one run may touch (maxShareOfWellsPercent)`,
    );
  }
  return faults;
}

/** Other caps than those that a plan was made within, as a sentence; undefined where they are the same, or not known. */
export function otherCaps(
  { caps: made }: Pick<CleanupPlan, 'caps'>,
  now: CleanupCaps,
  who: string,
): string | undefined {
  if (made === null) return undefined;
  if (made.maxTargets === now.maxTargets && made.maxShareOfWellsPercent === now.maxShareOfWellsPercent)
    return undefined;
  return `the plan was made within ${capsText(made)}, and ${who} goes by ${capsText(now)}: by another configuration`;
}

function capsText({ maxTargets, maxShareOfWellsPercent }: CleanupCaps): string {
  return `${counted(maxTargets, 'target')} and ${maxShareOfWellsPercent} % of the wells`;
}

export function countsOf(
  targets: readonly DeletionTarget[],
  namedCount: number,
  knownWells: number,
): Omit<PlanCounts, 'unknown' | 'unreadable' | 'producing' | 'unread' | 'unmapped'> {
  const ofKind = (kind: DeletionTarget['kind']): number => targets.filter((target) => target.kind === kind).length;
  return {
    targets: targets.length,
    timeSeries: ofKind('time-series'),
    microStrings: ofKind('micro-strings'),
    wellbores: ofKind('wellbores'),
    equipment: equipmentOf(targets).length,
    wells: wellsOf(targets).length,
    repeated: namedCount - targets.length,
    knownWells,
  };
}

/**
 * Throws UsageError for a plan of another service, a plan that another run than `runId` claimed, and an expired plan.
 */
export function refuseUnfit(
  plan: CleanupPlan,
  now: {
    readonly serviceUrl: string;
    /** Other names of the service, under which older plans know it. */
    readonly serviceNames?: readonly string[];
    readonly atMs: number;
    readonly maxAgeMs: number;
    readonly runId?: string;
  },
): void {
  if (plan.serviceUrl !== now.serviceUrl && now.serviceNames?.includes(plan.serviceUrl) !== true) {
    throw new UsageError(
      `plan ${plan.planId} was made for another service: ${plan.serviceUrl}, and this one is ${now.serviceUrl}`,
      {
        hint: 'Set the address that it was made for, or make a plan for this service.',
      },
    );
  }
  refuseClaimed(plan, now.runId);
  refuseStale(plan, now);
}

/** Whether a target deserves a warning in its plan. */
export function isWarned({ snapshot, producedOn, doubt: uncertainty }: PlannedTarget): boolean {
  return snapshot.state !== 'present' || producedOn !== null || uncertainty !== null;
}

/** Throws UsageError for a plan that a run has claimed, unless it is the run `byRunId`. */
export function refuseClaimed({ planId, applied }: CleanupPlan, byRunId?: string): void {
  if (applied === undefined || applied.runId === byRunId) return;
  const { runId, atMs, unplanned } = applied;
  const claim = claimText(applied);
  if (claim === undefined) {
    throw new UsageError(`plan ${planId} was applied already, at ${isoText(atMs)} by run ${runId}`, {
      hint: 'To delete again, make a new plan.',
      action: { kind: 'retry-run', runId },
    });
  }
  const kind = unplanned !== undefined && isFinished(unplanned) ? 'retry-run' : 'show-run';
  throw new UsageError(`plan ${planId} belongs to run ${runId}, which ${claim}: nothing was deleted`, {
    action: { kind, runId },
  });
}

/** Throws UsageError for a plan older than `maxAgeMs`. */
export function refuseStale(plan: CleanupPlan, now: { readonly atMs: number; readonly maxAgeMs: number }): void {
  if (now.atMs - plan.createdAtMs <= now.maxAgeMs) return;
  const hours = now.maxAgeMs / HOUR_MS;
  const made = `was made at ${isoText(plan.createdAtMs)}, more than ${counted(hours, 'hour')} ago`;
  throw new UsageError(`plan ${plan.planId} ${made}: nothing was deleted`, {
    hint: 'Much may have changed since: make a new plan (cleanup.planMaxAgeHours sets how old one may be).',
  });
}

function isoText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

/** A sentence about what changed at the service since the plan; undefined when nothing did. */
export function changeSince(planned: PlannedTarget, now: TargetSnapshot): string | undefined {
  const { snapshot } = planned;
  const what = targetText(planned);
  if (snapshot.state !== now.state) return `${what}: was ${snapshot.state}, is ${now.state}`;
  if (snapshot.state !== 'present' || snapshot.body === now.body) return undefined;
  const [before, after] = [snapshot, now].map(({ body }) => asRecord(parsedJson(body ?? 'null')));
  if (before === undefined || after === undefined) return `${what}: the service shows something else`;
  const fields = changedFields(before, after);
  return fields.length === 0 ? undefined : `${what}: ${fields.join(', ')}`;
}

/** The names of the changed fields, in any order of the fields. */
function changedFields(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => {
    const [was, is] = [valueText(before[name]), valueText(after[name])];
    return was === is ? [] : [`${name} was ${cut(was)}, is ${cut(is)}`];
  });
}

function valueText(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value, sortedKeys);
}

function cut(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 30)}…${text.slice(-29)}`;
}

/** Replacer for JSON.stringify: sorts the keys of objects, so that equal values have equal texts. */
function sortedKeys(_key: string, value: unknown): unknown {
  const record = asRecord(value);
  if (record === undefined) return value;
  return Object.fromEntries(Object.entries(record).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
