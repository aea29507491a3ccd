/** JSON of runs: camelCase, instants as ISO text, the same keys in every state. Pure. */
import type { Fault } from '../../core/base/errors.ts';
import type { ExitCode } from '../../core/run/exit-code.ts';
import type { HeldRows } from '../../core/run/held-rows.ts';
import type { RunReport } from '../../core/run/run.ts';
import type { ServiceHold } from '../../core/run/service-hold.ts';
import type { ServiceOutage } from '../../core/run/service-outage.ts';
import type { LiveRunStatus, RunStatus } from '../run-status.ts';

function iso(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString();
}

/**
 * The report of a finished run. `adviceOf` is the face's text for a fault's remedy: the `hint` of each fault, beside
 * its `action`.
 */
export function reportDocument(report: RunReport, exitCode: ExitCode, adviceOf: (fault: Fault) => string | undefined) {
  const { runId, job, service, warehouse, version, startedAtMs, finishedAtMs, stopped, failures, ...rest } = report;
  const worded = <F extends Fault>(fault: F): F => {
    const hint = adviceOf(fault);
    return hint === undefined ? fault : { ...fault, hint };
  };
  return {
    runId,
    job,
    service: service ?? null,
    warehouse: warehouse ?? null,
    version: version ?? null,
    ...rest,
    failures: failures.map(worded),
    stopped: stopped === undefined ? null : worded(stopped),
    startedAt: iso(startedAtMs),
    finishedAt: iso(finishedAtMs),
    durationMs: finishedAtMs - startedAtMs,
    exitCode,
  };
}

/** A run in any state; `progress` has the live figures, if there are any. */
export function statusDocument({ run, progress, warehouse }: RunStatus) {
  const { startedAtMs, finishedAtMs, settled } = run;
  return {
    runId: run.runId,
    job: run.job,
    service: run.service ?? null,
    actor: run.actor ?? null,
    warehouse,
    state: run.state,
    units: settled?.units.total ?? progress?.units ?? run.unitCount ?? null,
    settledUnits: settledUnitsOf({ run, progress }) ?? null,
    counts: settled?.counts ?? progress?.counts ?? {},
    requestedBy: run.actor ?? null,
    requestedAt: iso(run.requestedAtMs),
    retriedBy: run.reopenedBy ?? null,
    retriedAt: iso(run.reopenedAtMs),
    startedAt: iso(startedAtMs),
    finishedAt: iso(finishedAtMs),
    durationMs: startedAtMs === undefined || finishedAtMs === undefined ? null : finishedAtMs - startedAtMs,
  };
}

/** A run that has not ended, with what holds the requests to its service back. */
export function liveStatusDocument(status: LiveRunStatus) {
  return { ...statusDocument(status), hold: holdDocument(status.hold), outage: outageDocument(status.outage) };
}

export function outageDocument(outage: ServiceOutage | undefined) {
  return outage === undefined ? null : { since: iso(outage.sinceMs), fault: outage.fault };
}

export function holdDocument(hold: ServiceHold | undefined) {
  if (hold === undefined) return null;
  const { untilMs, askedUntilMs, isTooLong } = hold;
  return { until: iso(untilMs), askedUntil: iso(askedUntilMs), isTooLong };
}

/** Undefined if unknown: the run has no plan, or its progress is gone. */
export function settledUnitsOf({ run, progress }: Pick<RunStatus, 'run' | 'progress'>): number | undefined {
  const { settled } = run;
  return settled === undefined ? progress?.settledUnits : settled.units.total - settled.units.cancelled;
}

/** The rows that a run, or all runs, hold. */
export function heldDocument({ targets, rows, holds, parts }: HeldRows) {
  return { targets, rows, holds, parts: parts.map(({ sinceMs, ...part }) => ({ ...part, since: iso(sinceMs) })) };
}
