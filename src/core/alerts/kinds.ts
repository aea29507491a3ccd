/** The kinds of alerts, with their words, and the states that one may have. */
import { counted } from '../base/text.ts';

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
  readonly endedBy: EndedBy;
  /** Of several alerts of one cause: `11 wells failed`. */
  readonly one: string;
  readonly many: string;
}

/** Each has its paragraph in docs/operating.md. */
export const alertKinds = {
  'well-failed': { endedBy: 'person', one: 'well failed', many: 'wells failed' },
  'equipment-failed': {
    endedBy: 'person',
    one: 'equipment id failed',
    many: 'equipment ids failed',
  },
  'rows-held': {
    endedBy: 'release',
    one: 'target with held rows',
    many: 'targets with held rows',
  },
  'record-quarantined': {
    endedBy: 'accept',
    one: 'record in quarantine',
    many: 'records in quarantine',
  },
  'well-unknown': {
    endedBy: 'person',
    one: 'target unknown to the service',
    many: 'targets unknown to the service',
  },
  'wells-left-out': {
    endedBy: 'person',
    one: 'well left out of its list',
    many: 'wells left out of their lists',
  },
  'well-silent': { endedBy: 'person', one: 'silent well', many: 'silent wells' },
  'zone-changed': { endedBy: 'person', one: 'well with another time zone', many: 'wells with another time zone' },
  // No work shows what was restated gone.
  'rows-restated': {
    endedBy: 'person',
    one: 'month with restated rows',
    many: 'months with restated rows',
  },
  check: { endedBy: 'person', one: 'check with findings', many: 'checks with findings' },
  'rows-rejected': {
    endedBy: 'person',
    one: 'file with rejected rows',
    many: 'files with rejected rows',
  },
  'push-failed': { endedBy: 'person', one: 'push failed', many: 'pushes failed' },
  'deletion-failed': { endedBy: 'person', one: 'target not deleted', many: 'targets not deleted' },
  'run-failed': { endedBy: 'person', one: 'run failed as a whole', many: 'runs failed as a whole' },
  'schedule-missed': { endedBy: 'person', one: 'schedule missed', many: 'schedules missed' },
  'no-worker': { endedBy: 'person', one: 'job without a worker', many: 'jobs without a worker' },
  'disk-low': { endedBy: 'person', one: 'disk nearly full', many: 'disks nearly full' },
  'feed-late': { endedBy: 'person', one: 'feed not published', many: 'feeds not published' },
  'service-down': { endedBy: 'person', one: 'service down', many: 'services down' },
  'requests-held': { endedBy: 'person', one: 'service that holds', many: 'services that hold' },
  outage: { endedBy: 'person', one: 'part out of reach', many: 'parts out of reach' },
} as const satisfies Readonly<Record<string, AlertKindEntry>>;

export type AlertKind = keyof typeof alertKinds;

/** Of what exports find of a well, wherever it is said. */
export const severityOf = {
  'well-failed': 'error',
  'rows-held': 'warning',
  'record-quarantined': 'warning',
  'well-unknown': 'warning',
} as const satisfies Partial<Readonly<Record<AlertKind, Severity>>>;

/** Of the state of the installation, which processes see beside their runs: one may end what another one opened. */
export const stateKinds: readonly AlertKind[] = [
  'feed-late',
  'schedule-missed',
  'no-worker',
  'disk-low',
  'service-down',
  'requests-held',
  'outage',
];

/** Kinds of which the counts of a run tell already. */
const countedKinds: readonly AlertKind[] = [
  'rows-held',
  'record-quarantined',
  'well-unknown',
  'rows-rejected',
  'deletion-failed',
];

export function isCountedKind(kind: AlertKind): boolean {
  return countedKinds.includes(kind);
}

/** The words of an alert, or of several of one kind: `11 wells failed`. */
/** `areWells`: they are all of wells, which `target` may stand for. */
export function kindText(kind: AlertKind, alerts: number, areWells = false): string {
  const { one, many } = alertKinds[kind];
  const text = counted(alerts, one, many);
  return areWells ? text.replace('target', 'well') : text;
}
