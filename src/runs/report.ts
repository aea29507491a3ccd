/** Makes the report of a run from its ledger: pure, and the same whenever it is made. */
import type { Fault } from '../core/errors.ts';
import type { RunRecord, RunReport } from '../core/run.ts';
import type { Halt } from '../queue/port.ts';
import type { RunSums } from '../warehouse/warehouse.ts';
import type { AnyJob } from './job.ts';

/** A run that does not balance is a failed run (G2), and so is one with a failed unit. */
export function buildReport(
  run: RunRecord,
  job: AnyJob,
  sums: RunSums,
  halt: Halt | undefined,
  finishedAtMs: number,
): RunReport {
  const { open, ...units } = sums.units;
  const balance = job.balance(sums.counts, units);
  const stopped = stopFault(halt, balance.balanced, open);
  return {
    runId: run.runId,
    job: run.job,
    state: halt?.kind === 'cancel' ? 'cancelled' : stopped !== undefined || units.failed > 0 ? 'failed' : 'done',
    ...(stopped === undefined ? {} : { stopped }),
    units,
    counts: sums.counts,
    balance,
    failures: sums.failures,
    notices: sums.notices,
    startedAtMs: run.startedAtMs ?? run.requestedAtMs,
    finishedAtMs,
  };
}

function stopFault(halt: Halt | undefined, balanced: boolean, open: number): Fault | undefined {
  if (halt?.kind === 'stop') return halt.fault;
  if (halt?.kind === 'cancel') return { code: 'cancelled', message: `cancelled by ${halt.requestedBy}` };
  if (!balanced)
    return { code: 'unbalanced', message: 'the counts of the run do not add up: some records are not accounted for' };
  if (open > 0) return { code: 'unsettled', message: `${open} units have no outcome` };
  return undefined;
}

/** DESIGN.md section 8: 0 done; 1 failed; 3 done, with rejected, quarantined or held records; 4 cancelled. */
export function exitCodeOf(report: RunReport, exceptions: readonly string[]): 0 | 1 | 3 | 4 {
  if (report.state === 'failed') return 1;
  if (report.state === 'cancelled') return 4;
  const hasExceptions = report.units.held > 0 || exceptions.some((name) => (report.counts[name] ?? 0) > 0);
  return hasExceptions ? 3 : 0;
}
