/** What raises an alert, and what ends it (docs/design.md section 11). Pure. */
import { exceptionsOf, type JobDescription } from '../run/job-description.ts';
import type { RunReport } from '../run/run.ts';

/** One alert is open for each cause. */
export interface Cause {
  /** `null`: of no job, such as a hold of the service. */
  readonly job: string | null;
  /** Name of the schedule that requested the run; null for one by hand or by cron. */
  readonly schedule: string | null;
  readonly service: string | null;
  /** `run-failed` or the code of the fault, `exceptions`, `stale-wells`, `service-hold`. */
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
export interface Look {
  readonly scope: string;
  readonly atMs: number;
  readonly troubles: readonly Trouble[];
}

/** The look at the end of a run; undefined for one that tells neither good nor bad, since somebody ended it. */
export function lookAtRun(
  report: RunReport,
  actor: string | undefined,
  job: Pick<JobDescription, 'counts'>,
): Look | undefined {
  const { runId, job: name, state, service = null, finishedAtMs } = report;
  if (state !== 'done' && state !== 'failed') return undefined;
  const schedule = scheduleOf(actor);
  const troubleOf = (code: string, message: string): Trouble => ({
    cause: { job: name, schedule, service, code },
    message,
    runId,
  });
  const scope = JSON.stringify([name, schedule, service]);
  if (state === 'failed') {
    const { code = 'run-failed', message } = report.stopped ?? {};
    const reason = message ?? `${report.units.failed} of ${report.units.total} units failed`;
    return { scope, atMs: finishedAtMs, troubles: [troubleOf(code, `${name} failed: ${reason}`)] };
  }
  const exceptions = exceptionsOf(job).flatMap(({ name: count }) =>
    (report.counts[count] ?? 0) > 0 ? [`${report.counts[count]} ${count}`] : [],
  );
  const held = report.units.held > 0 ? [`${report.units.held} held`] : [];
  const all = [...held, ...exceptions];
  const troubles = all.length === 0 ? [] : [troubleOf('exceptions', `${name} is done, with ${all.join(', ')}`)];
  return { scope, atMs: finishedAtMs, troubles };
}

/** A level that is too high, or not: stale wells, a hold of the service. */
export function lookAtLevel(
  code: string,
  level: { readonly service: string; readonly value: number; readonly most: number; readonly message: string },
  atMs: number,
): Look {
  const { service, value, most, message } = level;
  const cause: Cause = { job: null, schedule: null, service, code };
  return {
    scope: JSON.stringify([code, service]),
    atMs,
    troubles: value > most ? [{ cause, message, runId: null }] : [],
  };
}

/** A run of a schedule has `schedule/NAME@HOST` as its actor. */
function scheduleOf(actor: string | undefined): string | null {
  return /^schedule\/(.+)@/.exec(actor ?? '')?.[1] ?? null;
}
