/**
 * Alerts: what needs a person, known until it is solved (docs/design.md section 11). A kind and a target of a job are one
 * alert for good: it opens, is renewed while it lasts, is resolved, and opens again under the same id.
 */
import type { Action } from '../base/action.ts';
import { recordLists } from '../definitions/record-list.ts';
import type { ReadKind } from '../run/run.ts';
import type { AlertKind, AlertState, Severity } from './kinds.ts';

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
