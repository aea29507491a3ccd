/**
 * Alerts: what needs a person, known until it is solved (docs/design.md section 11). A kind and a target of a job are one
 * alert for good: it opens, is renewed while it lasts, is resolved, and opens again under the same id.
 */
import { recordLists } from '../definitions/record-list.ts';
import type { ReadKind } from '../run/run.ts';

export const severities = ['error', 'warning', 'info'] as const;
export type Severity = (typeof severities)[number];

export const alertStates = ['open', 'acknowledged', 'resolved'] as const;
export type AlertState = (typeof alertStates)[number];

/**
 * What may end an alert beside the work that shows it gone: `person`, or only one act: `release` (runs release), `accept`
 * (alerts accept).
 */
type EndedBy = 'person' | 'release' | 'accept';

interface AlertKindEntry {
  readonly severity: Severity;
  readonly endedBy: EndedBy;
  /** Of several alerts of one cause: `11 wells failed`. */
  readonly one: string;
  readonly many: string;
}

/** Each has its paragraph in docs/operating.md. */
export const alertKinds = {
  'well-failed': { severity: 'error', endedBy: 'person', one: 'well failed', many: 'wells failed' },
  'equipment-failed': {
    severity: 'error',
    endedBy: 'person',
    one: 'equipment id failed',
    many: 'equipment ids failed',
  },
  'rows-held': {
    severity: 'warning',
    endedBy: 'release',
    one: 'target with held rows',
    many: 'targets with held rows',
  },
  'record-quarantined': {
    severity: 'warning',
    endedBy: 'accept',
    one: 'record in quarantine',
    many: 'records in quarantine',
  },
  'well-unknown': {
    severity: 'warning',
    endedBy: 'person',
    one: 'target unknown to the service',
    many: 'targets unknown to the service',
  },
  'wells-left-out': {
    severity: 'warning',
    endedBy: 'person',
    one: 'well left out of its list',
    many: 'wells left out of their lists',
  },
  // One that was silent before alerts were is `info`.
  'well-silent': { severity: 'warning', endedBy: 'person', one: 'silent well', many: 'silent wells' },
  // No work shows what was restated gone.
  'rows-restated': {
    severity: 'warning',
    endedBy: 'person',
    one: 'month with restated rows',
    many: 'months with restated rows',
  },
} as const satisfies Readonly<Record<string, AlertKindEntry>>;

export type AlertKind = keyof typeof alertKinds;

/** Names of targets are unique within their kind: a uwi, the source id of a well, an equipment id, a record, a month (`2026-03`). */
export type AlertTargetKind = 'well' | 'source-well' | 'equipment' | 'record' | 'month' | (string & {});

/** The job and the kind of targets by which an export is told of. */
export function exportOf(kind: ReadKind): { readonly job: string; readonly targetKind: AlertTargetKind } {
  if (kind === 'uwi') return { job: 'export daily-production', targetKind: 'well' };
  if (kind === 'well') return { job: 'export wells', targetKind: 'source-well' };
  const list = recordLists.find(({ targets }) => targets.kind === kind);
  return { job: `export ${list?.name ?? kind}`, targetKind: kind };
}

/** What the failed units of a job are told of as; undefined for a job that reads nothing. */
export function failureOf(job: string): { readonly kind: AlertKind; readonly targetKind: AlertTargetKind } | undefined {
  const kinds: readonly ReadKind[] = ['uwi', 'well', ...recordLists.map(({ targets }) => targets.kind)];
  const read = kinds.find((kind) => exportOf(kind).job === job);
  if (read === undefined) return undefined;
  return { kind: read === 'equipment' ? 'equipment-failed' : 'well-failed', targetKind: exportOf(read).targetKind };
}

export interface Alert {
  /** 16 hexadecimal digits, the same for the same kind, job and target. */
  readonly id: string;
  readonly kind: AlertKind;
  readonly state: AlertState;
  readonly severity: Severity;
  readonly job: string | null;
  readonly target: { readonly kind: AlertTargetKind; readonly id: string };
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
