/** Builds the report of a run from its ledger. Pure, with the same result each time. */
import type { Fault } from '../core/base/errors.ts';
import { balanceOf } from '../core/run/balance.ts';
import type { RunRecord, RunReport } from '../core/run/run.ts';
import type { StopRequest } from '../queue/port.ts';
import type { RunTotals } from '../warehouse/port/runs.ts';
import type { AnyJob } from './job.ts';

/** A run that does not balance has failed (G2), as has one with a failed unit. */
export function buildReport(
  {
    run,
    job,
    totals,
    location,
    version,
  }: {
    readonly run: RunRecord;
    readonly job: AnyJob;
    readonly totals: RunTotals;
    /** Address of the warehouse, without secrets. */
    readonly location: string;
    readonly version: string;
  },
  stopRequest: StopRequest | undefined,
  finishedAtMs: number,
): RunReport {
  const { open } = totals.units;
  const judgement = job.judge?.(run.params, totals.counts);
  const counts = { ...totals.counts, ...judgement?.counts };
  const units = unitsOf(run, totals, stopRequest);
  const balance = balanceOf(job, counts, units);
  const stopped = stopFault(stopRequest, balance.balanced, open) ?? job.failureOf?.({ units, counts });
  return {
    runId: run.runId,
    job: run.job,
    ...(run.service === undefined ? {} : { service: run.service }),
    warehouse: location,
    version,
    state: stopRequest?.kind === 'cancel' ? 'cancelled' : stopped !== undefined || units.failed > 0 ? 'failed' : 'done',
    ...(stopped === undefined ? {} : { stopped }),
    units,
    counts,
    balance,
    failures: totals.failures,
    notices: [...totals.notices, ...(judgement?.notices ?? [])],
    startedAtMs: run.startedAtMs ?? run.requestedAtMs,
    finishedAtMs,
  };
}

/**
 * The settled units. A run that ended without a plan has none: its targets, if its job takes any, are failed or
 * cancelled as the units would be.
 */
function unitsOf(run: RunRecord, { units }: RunTotals, stopRequest: StopRequest | undefined): RunReport['units'] {
  const { open: _, ...settled } = units;
  const isPlanned = run.unitCount !== undefined || settled.total > 0;
  if (isPlanned || run.targetCount === undefined || stopRequest === undefined) return settled;
  const outcome = stopRequest.kind === 'cancel' ? 'cancelled' : 'failed';
  return { ...settled, total: run.targetCount, [outcome]: run.targetCount };
}

function stopFault(stopRequest: StopRequest | undefined, balanced: boolean, open: number): Fault | undefined {
  if (stopRequest?.kind === 'stop') return stopRequest.fault;
  if (stopRequest?.kind === 'cancel') return { code: 'cancelled', message: `cancelled by ${stopRequest.requestedBy}` };
  if (!balanced)
    return {
      code: 'unbalanced',
      message: 'the counts of the run are not reconciled: some records are not accounted for',
    };
  if (open > 0) return { code: 'unsettled', message: `${open} units have no outcome` };
  return undefined;
}
