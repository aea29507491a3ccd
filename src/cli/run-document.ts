/** Decides the JSON of runs, as `--json` prints it: camelCase, instants as ISO text, the same keys in every state. Pure. */
import type { RunRecord, RunReport } from '../core/run.ts';
import type { BoardState } from '../queue/port.ts';
import type { ExitCode } from './exit-codes.ts';

function iso(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString();
}

/** The report of a run that has ended. */
export function reportDocument(report: RunReport, exitCode: ExitCode) {
  const { startedAtMs, finishedAtMs, stopped, ...rest } = report;
  return {
    ...rest,
    stopped: stopped ?? null,
    startedAt: iso(startedAtMs),
    finishedAt: iso(finishedAtMs),
    durationMs: finishedAtMs - startedAtMs,
    exitCode,
  };
}

/** How a run stands, ended or not; `board` gives the live figures where there are any. */
export function standingDocument(run: RunRecord, board: BoardState | undefined) {
  const { startedAtMs, finishedAtMs, report } = run;
  return {
    runId: run.runId,
    job: run.job,
    state: run.state,
    units: report?.units.total ?? board?.units ?? run.unitCount ?? null,
    settledUnits: settledUnitsOf(run, board) ?? null,
    counts: report?.counts ?? board?.counts ?? {},
    requestedAt: iso(run.requestedAtMs),
    startedAt: iso(startedAtMs),
    finishedAt: iso(finishedAtMs),
    durationMs: startedAtMs === undefined || finishedAtMs === undefined ? null : finishedAtMs - startedAtMs,
  };
}

/** Undefined where nobody knows: the run is not planned, or its board is gone. */
export function settledUnitsOf(run: RunRecord, board: BoardState | undefined): number | undefined {
  if (run.report === undefined) return board?.settledUnits;
  return run.report.units.total - run.report.units.cancelled;
}
