/**
 * Alerts: what needs a person, known until it is solved (docs/design.md section 11). A kind and a target of a job are one
 * alert for good: it opens, is renewed while it lasts, is resolved, and opens again under the same id.
 */
import type { Action } from '../base/action.ts';
import { recordLists } from '../definitions/record-list.ts';
import type { ReadKind } from '../run/run.ts';
import type { AlertKind, AlertState, Severity } from './kinds.ts';
import type { UnreachableError } from '../base/errors.ts';
import { bytesText, instantText } from '../base/text.ts';
import { holdText, outageText, type ServiceHold, type ServiceOutage } from '../run/service-hold.ts';

/** Names of targets are unique within their kind: a uwi, the source id of a well, an equipment id, a record, a
 * month (`2026-03`), a check of a well (`UWI CHECK`).
 */
export type AlertTargetKind = 'well' | 'source-well' | 'equipment' | 'record' | 'month' | 'check' | (string & {});

/** The job and the kind of targets by which an export is told of. */
export function exportOf(kind: ReadKind): { readonly job: string; readonly targetKind: AlertTargetKind } {
  if (kind === 'uwi') return { job: 'export daily-production', targetKind: 'well' };
  if (kind === 'well') return { job: 'export wells', targetKind: 'source-well' };
  const list = recordLists.find(({ targets }) => targets.kind === kind);
  return { job: `export ${list?.name ?? kind}`, targetKind: kind };
}

/** What the failed units of a job are told of as; undefined for a job that reads nothing. */
export function failureOf(
  job: string,
): { readonly kind: AlertKind; readonly job: string; readonly targetKind: AlertTargetKind } | undefined {
  const kinds: readonly ReadKind[] = ['uwi', 'well', ...recordLists.map(({ targets }) => targets.kind)];
  // Gaps are read by a job of their own, and are of the same export.
  const read = kinds.find((kind) => `${job} `.startsWith(`${exportOf(kind).job} `));
  if (read === undefined) return undefined;
  return { kind: read === 'equipment' ? 'equipment-failed' : 'well-failed', ...exportOf(read) };
}

/** What a person can do about an alert that is not resolved. */
export function actionOf({
  kind,
  target,
  detail,
  openedAtMs,
}: Pick<Alert, 'kind' | 'target' | 'detail' | 'openedAtMs'>): Action | undefined {
  const { runId } = detail;
  switch (kind) {
    case 'well-failed':
    case 'equipment-failed':
      return typeof runId === 'string' ? { kind: 'retry-run', runId } : undefined;
    case 'rows-held':
      return typeof runId === 'string' ? { kind: 'release-rows', runId } : undefined;
    case 'record-quarantined':
      return { kind: 'show-quarantine' };
    case 'well-unknown':
      return { kind: target.kind === 'well' ? 'show-unknown' : 'show-unknown-definitions' };
    case 'well-silent':
      return { kind: 'show-stale' };
    case 'zone-changed':
      return { kind: 'rezone' };
    case 'check':
      return { kind: 'show-findings', uwi: target.id.slice(0, target.id.lastIndexOf(' ')) };
    case 'wells-left-out':
    case 'disk-low':
    case 'feed-late':
    case 'outage':
      return undefined;
    case 'rows-restated':
      return { kind: 'show-restated', sinceMs: openedAtMs };
    case 'rows-rejected':
      return typeof runId === 'string' ? { kind: 'get-rejects', runId } : undefined;
    case 'deletion-failed':
      return { kind: 'plan-cleanup' };
    case 'push-failed':
    case 'run-failed':
      return typeof runId === 'string' ? { kind: 'retry-run', runId } : undefined;
    case 'schedule-missed':
    case 'no-worker':
      return { kind: 'start-worker' };
    case 'service-down':
    case 'requests-held':
      return { kind: 'release-service' };
  }
}

/** What is wrong with one target now. */
export interface FoundAlert {
  readonly target: string;
  readonly severity: Severity;
  /** The same for targets that fail for one reason. */
  readonly cause: string;
  readonly summary: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** Rows, days or records: more is worse. */
  readonly size: number;
}

/** What was seen of targets of one kind, beside or at the end of work: those that are not found are well. */
export interface Observation {
  readonly kind: AlertKind;
  readonly job: string | null;
  readonly targetKind: AlertTargetKind;
  /** The targets that were seen; `all`: every one of the kind. */
  readonly observed: readonly string[] | 'all';
  readonly found: readonly FoundAlert[];
}

export interface Alert {
  /** 16 hexadecimal digits, the same for the same kind, job and target. */
  readonly id: string;
  readonly kind: AlertKind;
  readonly state: AlertState;
  readonly severity: Severity;
  readonly job: string | null;
  readonly target: { readonly kind: AlertTargetKind; readonly id: string };
  /** The same for targets that fail for one reason: they are told of together. */
  readonly cause: string;
  /** One sentence for a person, without secrets (G10). */
  readonly summary: string;
  /** What the kind has beside it, such as the run, the days and the code of the fault. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly openedAtMs: number;
  /** A run, or who else saw it first. */
  readonly openedBy: string;
  readonly seenAtMs: number;
  readonly acknowledged: AlertSignature | undefined;
  /** Until when it is acknowledged, milliseconds since 1970; undefined for good. */
  readonly untilMs: number | undefined;
  /** By a run, or a person. */
  readonly resolved: AlertSignature | undefined;
}

/** Who did it, when, and why; a run gives no reason. */
export interface AlertSignature {
  readonly by: string;
  readonly atMs: number;
  readonly because: string | undefined;
}

// What is wrong with the installation beside its runs: schedules and the service (docs/design.md section 11). Pure.

/** How long a part is down before anybody is told: a short outage ends by itself. */
export const leastDownMs = 60_000;

/** Of the service with this key. `maxHoldMs`: a hold for longer is told of. */
export function observeService(
  service: string,
  { hold, outage }: { readonly hold: ServiceHold | undefined; readonly outage: ServiceOutage | undefined },
  maxHoldMs: number,
): readonly Observation[] {
  const about = { job: null, targetKind: 'service', observed: [service] } as const;
  const isDown = outage !== undefined && outage.forMs >= leastDownMs;
  const isHeld = hold !== undefined && hold.leftMs > maxHoldMs;
  return [
    {
      ...about,
      kind: 'service-down',
      found: isDown ? [found(service, 'error', outageText(outage), { since: instantText(outage.sinceMs) })] : [],
    },
    {
      ...about,
      kind: 'requests-held',
      found: isHeld ? [found(service, 'warning', holdText(hold), { until: instantText(hold.untilMs) })] : [],
    },
  ];
}

const partNames = { redis: 'Redis', warehouse: 'the warehouse' } as const;

/** A part that all work waits for. */
export type NeededPart = keyof typeof partNames;

/** Parts that a host has used, and how; `outage`: undefined where it could. */
export function observeOutages(
  host: string,
  parts: ReadonlyMap<NeededPart, { readonly sinceMs: number | undefined; readonly reason: string } | undefined>,
): Observation {
  const targetOf = (part: NeededPart): string => `${host}: ${partNames[part]}`;
  return {
    kind: 'outage',
    job: null,
    targetKind: 'part',
    observed: [...parts.keys()].map(targetOf),
    found: [...parts].flatMap(([part, outage]) =>
      outage === undefined
        ? []
        : [
            found(targetOf(part), 'error', `work waits: ${outage.reason}`, {
              ...(outage.sinceMs !== undefined && { since: instantText(outage.sinceMs) }),
            }),
          ],
    ),
  };
}

/** Of the part out of reach that kept a command from its beginning; undefined for a part that no alert is of. */
export function refusalOf(
  error: UnreachableError,
  { service, host }: { readonly service: string; readonly host: string },
): Observation | undefined {
  const words = `work could not begin: ${error.message}`;
  if (error.part === 'service') {
    const target = found(service, 'error', words, {});
    return { kind: 'service-down', job: null, targetKind: 'service', observed: [service], found: [target] };
  }
  if (error.part !== 'redis' && error.part !== 'warehouse') return undefined;
  return observeOutages(host, new Map([[error.part, { sinceMs: undefined, reason: error.message }]]));
}

/** Jobs with runs that have not ended; `unattended`: those of which no worker has the queue. */
export function observeWorkers(unattended: readonly string[]): Observation {
  const words = 'runs wait, and no worker has their queue';
  const all = unattended.map((job) => found(job, 'error', words, {}));
  return { kind: 'no-worker', job: null, targetKind: 'job', observed: 'all', found: all };
}

/** Below so many bytes a disk is nearly full: rows and rejects of one run may take as many. */
export const leastFreeBytes = 1e9;

/** `location`: host and folder. */
export function observeDisk(location: string, freeBytes: number): Observation {
  // No figure: it would be another one at each poll.
  const words = `less than ${bytesText(leastFreeBytes)} is free`;
  return {
    kind: 'disk-low',
    job: null,
    targetKind: 'disk',
    observed: [location],
    found: freeBytes < leastFreeBytes ? [found(location, 'warning', words, {})] : [],
  };
}

/** Of the feed at this address; `fault`: why it could not be published, undefined where it was. */
export function observeFeed(address: string, fault: string | undefined): Observation {
  const all =
    fault === undefined ? [] : [found(address, 'warning', `what is due could not be published: ${fault}`, {})];
  return { kind: 'feed-late', job: null, targetKind: 'feed', observed: [address], found: all };
}

/** As the ledger has it at an instant before it was read. */
export interface ScheduleState {
  readonly name: string;
  readonly job: string;
  readonly isPaused: boolean;
  /** A tick that nobody has taken although it was to be, milliseconds since 1970. */
  readonly overdueMs: number | undefined;
  readonly lastTick: { readonly dueMs: number; readonly outcome: string; readonly words?: string } | undefined;
}

/** A tick that was skipped tells neither good nor bad; a paused schedule is somebody's will. */
export function observeSchedules(states: readonly ScheduleState[]): Observation {
  const telling = states.filter(
    ({ isPaused, overdueMs, lastTick }) => isPaused || overdueMs !== undefined || lastTick?.outcome !== 'skipped',
  );
  return {
    kind: 'schedule-missed',
    job: null,
    targetKind: 'schedule',
    observed: telling.map(({ name }) => name),
    found: telling.flatMap((state) => missedBy(state) ?? []),
  };
}

function missedBy({ name, job, isPaused, overdueMs, lastTick }: ScheduleState): FoundAlert | undefined {
  if (isPaused) return undefined;
  const missedMs = overdueMs ?? (lastTick?.outcome === 'missed' ? lastTick.dueMs : undefined);
  if (missedMs !== undefined) {
    const words = `${name} was due at ${instantText(missedMs)}, and no worker took it in time`;
    return found(name, 'error', words, { job, due: instantText(missedMs) });
  }
  if (lastTick?.outcome !== 'failed') return undefined;
  const reason = lastTick.words ?? 'no reason is known';
  return found(name, 'error', `${name} could not start its run: ${reason}`, { job });
}

function found(
  target: string,
  severity: 'error' | 'warning',
  summary: string,
  detail: FoundAlert['detail'],
): FoundAlert {
  return { target, severity, cause: target, summary, detail, size: 1 };
}
