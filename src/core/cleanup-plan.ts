/**
 * Owns the plan of a cleanup: what it holds, the caps that it must keep, when it may no longer be applied, and what changed
 * at the service since it was made (DESIGN.md section 4.4, G6). Pure.
 */
import { equipmentOf, targetText, wellsOf, type DeletionTarget } from './deletion-target.ts';
import { UsageError } from './errors.ts';

/**
 * What the service showed of a target's owner: the record of a time series, the body of a well. `absent`: it knows
 * nothing of it; `unreadable`: it answered what breaks the contract, and `body` says how.
 */
export interface Sighting {
  readonly state: 'present' | 'absent' | 'unreadable';
  readonly contentType: string | null;
  readonly body: string | null;
}

export interface PlannedTarget extends DeletionTarget {
  /** Its place in the plan, from 0, dense. */
  readonly ordinal: number;
  readonly sighting: Sighting;
  /** The last day within the last 30 on which the well produced, as the warehouse has it: YYYY-MM-DD. */
  readonly producedOn: string | null;
}

export interface PlanCounts {
  readonly targets: number;
  readonly timeSeries: number;
  readonly microStrings: number;
  readonly wellbores: number;
  readonly equipment: number;
  readonly wells: number;
  /** Named more than once, and left out. */
  readonly repeated: number;
  /** Targets of which the service shows nothing. */
  readonly unknown: number;
  readonly unreadable: number;
  /** Targets whose well produced within the last 30 days. */
  readonly producing: number;
  /** Wells that the warehouse knows. */
  readonly knownWells: number;
}

export interface CleanupPlan {
  /** The beginning of `digest`, in groups that can be read out. */
  readonly planId: string;
  /** SHA-256 of everything that the plan holds. */
  readonly digest: string;
  readonly serviceUrl: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  /** The saved selection that it was made from. */
  readonly selection: string | null;
  readonly counts: PlanCounts;
  /** Undefined as long as it is not applied. */
  readonly applied: { readonly runId: string; readonly atMs: number; readonly by: string } | undefined;
}

/** The plan as its digest has it first; its targets follow, in order, each by {@link targetLine}, and {@link countsLine} is last. */
export function planLine(plan: Pick<CleanupPlan, 'serviceUrl' | 'createdAtMs' | 'createdBy' | 'selection'>): string {
  return `${JSON.stringify([plan.serviceUrl, plan.createdAtMs, plan.createdBy, plan.selection])}\n`;
}

export function targetLine({ ordinal, kind, ownerId, sourceId, sighting, producedOn }: PlannedTarget): string {
  const { state, contentType, body } = sighting;
  return `${JSON.stringify([ordinal, kind, ownerId, sourceId, state, contentType, body, producedOn])}\n`;
}

/** What the operator is asked about and the caps are held to. */
export function countsLine(counts: PlanCounts): string {
  const { targets, timeSeries, microStrings, wellbores, equipment, wells } = counts;
  const { repeated, unknown, unreadable, producing, knownWells } = counts;
  const shown = [repeated, unknown, unreadable, producing, knownWells];
  return `${JSON.stringify([targets, timeSeries, microStrings, wellbores, equipment, wells, ...shown])}\n`;
}

/** `3f9a-1c27-b04e`, out of a digest in hexadecimal. */
export function planIdOf(digest: string): string {
  return (digest.slice(0, 12).match(/.{4}/g) ?? []).join('-');
}

export interface CleanupCaps {
  readonly maxTargets: number;
  readonly maxShareOfWellsPercent: number;
}

/** Every cap that is passed, one sentence each. */
export function passedCaps(
  { targets, wells }: Pick<PlanCounts, 'targets' | 'wells'>,
  knownWells: number,
  caps: CleanupCaps,
): readonly string[] {
  const faults: string[] = [];
  if (targets > caps.maxTargets) {
    faults.push(
      `${targets} ${targets === 1 ? 'target is' : 'targets are'} more than the ${caps.maxTargets} that one run may delete (maxTargets)`,
    );
  }
  if (knownWells > 0 && wells * 100 > knownWells * caps.maxShareOfWellsPercent) {
    const share = Math.round((1_000 * wells) / knownWells) / 10;
    faults.push(
      `${wells} ${wells === 1 ? 'well is' : 'wells are'} ${share} % of the ${knownWells} that the warehouse knows, more than the ` +
        `${caps.maxShareOfWellsPercent} % that one run may touch (maxShareOfWellsPercent)`,
    );
  }
  return faults;
}

export function countsOf(
  targets: readonly DeletionTarget[],
  namedCount: number,
  knownWells: number,
): Omit<PlanCounts, 'unknown' | 'unreadable' | 'producing'> {
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

/** Throws UsageError for a plan of another service, one that another run than `runId` applied, and one that is too old. */
export function refuseUnfit(
  plan: CleanupPlan,
  now: { readonly serviceUrl: string; readonly atMs: number; readonly maxAgeMs: number; readonly runId?: string },
): void {
  if (plan.serviceUrl !== now.serviceUrl) {
    throw new UsageError(
      `plan ${plan.planId} is of another service: ${plan.serviceUrl}, and this one is ${now.serviceUrl}`,
      {
        hint: 'Set the address that it was made for, or make a plan for this service.',
      },
    );
  }
  if (plan.applied !== undefined && plan.applied.runId !== now.runId) {
    const { runId, atMs } = plan.applied;
    throw new UsageError(`plan ${plan.planId} was applied already, at ${isoText(atMs)} by run ${runId}`, {
      hint: `See what it did: wellsync runs show ${runId}. To delete again, make a new plan.`,
    });
  }
  refuseStale(plan, now);
}

/** Throws UsageError for a plan that is older than plans may be. */
export function refuseStale(plan: CleanupPlan, now: { readonly atMs: number; readonly maxAgeMs: number }): void {
  if (now.atMs - plan.createdAtMs <= now.maxAgeMs) return;
  const hours = now.maxAgeMs / 3_600_000;
  const made = `was made at ${isoText(plan.createdAtMs)}, more than ${hours} ${hours === 1 ? 'hour' : 'hours'} ago`;
  throw new UsageError(`plan ${plan.planId} ${made}: nothing was deleted`, {
    hint: 'Much may have changed since: make a new plan (cleanup.planMaxAgeHours sets how old one may be).',
  });
}

function isoText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

/** What the service shows otherwise than the plan has it, in a sentence; undefined where it is the same. */
export function changeSince(planned: PlannedTarget, now: Sighting): string | undefined {
  const { sighting } = planned;
  const what = targetText(planned);
  if (sighting.state !== now.state) return `${what}: was ${sighting.state}, is ${now.state}`;
  if (sighting.state !== 'present' || sighting.body === now.body) return undefined;
  const [before, after] = [recordOf(sighting.body), recordOf(now.body)];
  if (before === undefined || after === undefined) return `${what}: the service shows something else`;
  const fields = changedFields(before, after);
  return fields.length === 0 ? undefined : `${what}: ${fields.join(', ')}`;
}

/** By name, whatever the order of the fields. */
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

/** For JSON.stringify: objects by sorted keys, so that equal values have equal texts. */
function sortedKeys(_key: string, value: unknown): unknown {
  const record = asRecord(value);
  if (record === undefined) return value;
  return Object.fromEntries(Object.entries(record).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function recordOf(body: string | null): Readonly<Record<string, unknown>> | undefined {
  try {
    return asRecord(JSON.parse(body ?? 'null'));
  } catch {
    return undefined;
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
