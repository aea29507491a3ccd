/** What is wrong with the installation beside its runs: schedules and the service (docs/design.md section 11). Pure. */
import { instantText } from '../base/text.ts';
import { holdText, outageText, type ServiceHold, type ServiceOutage } from '../run/service-hold.ts';
import type { FoundAlert, Observation } from './alert.ts';

/** How long the service is down before anybody is told: a short outage ends by itself. */
const leastDownMs = 60_000;

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
