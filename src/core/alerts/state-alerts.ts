/** What is wrong with the installation beside its runs: schedules and the service (docs/design.md section 11). Pure. */
import type { UnreachableError } from '../base/errors.ts';
import { bytesText, instantText } from '../base/text.ts';
import { holdText, outageText, type ServiceHold, type ServiceOutage } from '../run/service-hold.ts';
import type { FoundAlert, Observation } from './alert.ts';

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
