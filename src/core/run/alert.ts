/** What raises an alert, and what ends it (docs/design.md section 11). Pure. */
import { counted, figure, listed } from '../base/text.ts';
import { exceptionsIn, type JobDescription } from './job-description.ts';
import type { Fault } from '../base/errors.ts';
import type { RunReport } from './run.ts';

/** Each has its paragraph in docs/operating.md. */
export const alertCodes = [
  'run-failed',
  'exceptions',
  'schedule-missed',
  'schedule-failed',
  'stale-wells',
  'service-hold',
] as const;
export type AlertCode = (typeof alertCodes)[number];

/** One alert is open for each cause. */
export interface Cause {
  /** `null`: of no job, such as a hold of the service. */
  readonly job: string | null;
  /** Name of the schedule that requested the run; null for one by hand or by cron. */
  readonly schedule: string | null;
  readonly service: string | null;
  /** One of {@link alertCodes}, or the code of the fault of a run that failed. */
  readonly code: string;
}

/** A cause that was found at an instant. */
export interface Trouble {
  readonly cause: Cause;
  /** For a person; without secrets (G10). */
  readonly message: string;
  readonly runId: string | null;
}

/**
 * What was seen of one scope, such as the runs of a job: `troubles` are all that it has, so that those which it had
 * before are over. An older look at the same scope changes nothing.
 */
export interface Observation {
  readonly scope: string;
  readonly atMs: number;
  readonly troubles: readonly Trouble[];
}

/** The look at the end of a run; undefined for one that tells neither good nor bad, since somebody ended it. */
export function observeRun(
  report: RunReport,
  actor: string | undefined,
  job: Pick<JobDescription, 'counts' | 'units' | 'record'>,
): Observation | undefined {
  const { runId, job: name, state, service = null, finishedAtMs } = report;
  if (state !== 'done' && state !== 'failed') return undefined;
  const schedule = scheduleOf(actor);
  const troubleOf = (code: Fault['code'], message: string): Trouble => ({
    cause: { job: name, schedule, service, code },
    message,
    runId,
  });
  const scope = JSON.stringify([name, schedule, service]);
  if (state === 'failed') {
    const unnamed: AlertCode = 'run-failed';
    const { code = unnamed, message } = report.stopped ?? {};
    const { one, many, failing } = job.units;
    const failed = `${figure(report.units.failed)} of ${counted(report.units.total, one, many)} ${failing}`;
    const reason = message ?? failed;
    return { scope, atMs: finishedAtMs, troubles: [troubleOf(code, `${name} failed: ${reason}`)] };
  }
  const exceptions = exceptionsIn(report, job);
  const troubles =
    exceptions.length === 0 ? [] : [troubleOf('exceptions', `${name} is done, with ${listed(exceptions)}`)];
  return { scope, atMs: finishedAtMs, troubles };
}

/** A level that is too high, or not: stale wells, a hold of the service. */
export function observeLevel(
  code: AlertCode,
  level: { readonly service: string; readonly value: number; readonly most: number; readonly message: string },
  atMs: number,
): Observation {
  const { service, value, most, message } = level;
  const cause: Cause = { job: null, schedule: null, service, code };
  return {
    scope: JSON.stringify([code, service]),
    atMs,
    troubles: value > most ? [{ cause, message, runId: null }] : [],
  };
}

export interface ScheduleState {
  readonly name: string;
  readonly job: string;
  readonly service: string;
  readonly isPaused: boolean;
  /** A tick that nobody has taken although it was to be, milliseconds since 1970. */
  readonly overdueMs: number | undefined;
  readonly lastTick: { readonly dueMs: number; readonly outcome: string; readonly words?: string } | undefined;
}

/**
 * What the ledger says of a schedule at an instant before it was read; undefined for a tick that was skipped, which tells
 * neither good nor bad. A paused one is somebody's will.
 */
export function observeSchedule(state: ScheduleState, atMs: number): Observation | undefined {
  const { name, job, service, isPaused, overdueMs, lastTick } = state;
  const found = (code: AlertCode, message: string): Observation => ({
    scope: JSON.stringify(['schedule', name, service]),
    atMs,
    troubles: [{ cause: { job, schedule: name, service, code }, message, runId: null }],
  });
  const missed = (dueMs: number): Observation =>
    found('schedule-missed', `${name} was due at ${new Date(dueMs).toISOString()}, and no worker took it in time`);
  const well = { ...found('schedule-missed', ''), troubles: [] };
  if (isPaused) return well;
  if (overdueMs !== undefined) return missed(overdueMs);
  if (lastTick?.outcome === 'skipped') return undefined;
  if (lastTick?.outcome === 'missed') return missed(lastTick.dueMs);
  if (lastTick?.outcome !== 'failed') return well;
  return found('schedule-failed', `${name} could not start its run: ${lastTick.words ?? 'no reason is known'}`);
}

/** A run of a schedule has `schedule/NAME@HOST` as its actor. */
function scheduleOf(actor: string | undefined): string | null {
  return /^schedule\/(.+)@/.exec(actor ?? '')?.[1] ?? null;
}
