/** The end of a run, for the coordinator and for a cancel without a worker. Two processes may end a run at once. */
import { type Fault, UsageError } from '../core/base/errors.ts';
import { balanceOf } from '../core/run/balance.ts';
import { type JobDescription, outcomesOf } from '../core/run/job-description.ts';
import { type MetricName, seriesOf, Totals } from '../core/run/metrics.ts';
import { isFinished, type RunRecord, type RunReport } from '../core/run/run.ts';
import type { MetricStore, RunQueue, StopRequest } from '../queue/port.ts';
import type { RunTotals } from '../warehouse/port/runs.ts';
import type { AnyJob, JobContext } from './job.ts';

interface ReportContext extends Pick<JobContext, 'ledger' | 'now'> {
  readonly jobs: readonly AnyJob[];
  /** Address of the warehouse, without secrets. */
  readonly location: string;
  /** Of this program. */
  readonly version: string;
}

/**
 * Settles open units if a stop was requested, builds the report, and ends the run in the ledger and in its progress.
 * Returns the report of the ended run; undefined if units are open, so that the run continues. A run that has ended is
 * unchanged. Throws UsageError for a run of an unknown job.
 */
export async function finishRun(
  run: RunRecord,
  stopRequest: StopRequest | undefined,
  context: ReportContext & Pick<JobContext, 'warehouse'> & { readonly queue: RunQueue },
): Promise<RunReport | undefined> {
  const { ledger, queue, jobs, now } = context;
  const { runId } = run;
  // Another process has ended the run, while its progress still exists.
  if (isFinished(run.state)) {
    await countEnd(run, jobs, queue);
    await queue.progress.finish(runId, run.state);
    return run.report;
  }
  const job = jobOf(run, jobs);
  if (stopRequest !== undefined) await ledger.runs.settleRest(runId, outcomeOfRest(stopRequest));
  const totals = await ledger.runs.totals(runId);
  if (totals.units.open > 0) return undefined;
  await job.atEnd?.(runId, { ledger, now });
  const { cancelled, failed } = totals.units;
  // A stop after all units were settled changed nothing: all that is left is the report, which may be made again.
  const isTooLate = run.unitCount !== undefined && cancelled === 0 && (stopRequest?.kind === 'cancel' || failed === 0);
  const report = buildReport({ run, totals }, isTooLate ? undefined : stopRequest, context);
  await ledger.runs.finish(report, await job.observe?.(run.params, report, context));
  // Another process may have planned or ended it in between: the ledger has the state.
  const ended = await ledger.runs.read(runId);
  if (ended === undefined || !isFinished(ended.state)) return undefined;
  await countEnd(ended, jobs, queue);
  await queue.progress.finish(runId, ended.state);
  return ended.report;
}

/** Before the progress ends: a process that dies in between leaves a run that is looked at again. */
async function countEnd(
  { report, generation, job: name, attemptStartedAtMs }: RunRecord,
  jobs: readonly AnyJob[],
  { metrics }: RunQueue,
): Promise<void> {
  const job = jobs.find((candidate) => candidate.name === name);
  if (report === undefined || job === undefined) return;
  // The seconds of each attempt are its own.
  const startedAtMs = attemptStartedAtMs ?? report.finishedAtMs;
  await countRunEnd({ ...report, startedAtMs }, generation, job, metrics);
}

export function jobOf({ runId, job: name }: RunRecord, jobs: readonly AnyJob[]): AnyJob {
  const job = jobs.find((candidate) => candidate.name === name);
  if (job !== undefined) return job;
  throw new UsageError(`run ${runId} is of a job that this version does not know: ${name}`);
}

function outcomeOfRest(stopRequest: StopRequest) {
  if (stopRequest.kind === 'cancel') return { state: 'cancelled' } as const;
  const { message, hint, action } = stopRequest.fault;
  const fault: Fault = {
    code: 'not-tried',
    message: `not tried, since the run was stopped: ${message}`,
    ...(hint === undefined ? {} : { hint }),
    ...(action === undefined ? {} : { action }),
  };
  return { state: 'failed', fault } as const;
}

/** What the end of a run adds to the metrics of all processes (docs/design.md section 11). */
const lastSuccess: MetricName = 'wellsync_last_success_timestamp_seconds';

/**
 * Counts the end of a run, once for each of its generations, however often and by whomever it is called; its rows once
 * over all of them, since a retry reports the sum of all.
 */
export async function countRunEnd(
  report: RunReport,
  generation: number,
  job: Pick<JobDescription, 'counts'>,
  store: MetricStore,
): Promise<void> {
  const { runId, job: name, state, counts, startedAtMs, finishedAtMs } = report;
  const labels = { job: name };
  const end = new Totals();
  end.add('wellsync_runs_total', { ...labels, state });
  end.observe('wellsync_run_seconds', labels, (finishedAtMs - startedAtMs) / 1000);
  await store.raise(`run:${runId}:${generation}`, end.takeChanged());
  const rows = new Totals();
  for (const outcome of outcomesOf(job.counts)) {
    rows.add('wellsync_rows_total', { ...labels, outcome }, counts[outcome] ?? 0);
  }
  await store.raise(`rows:${runId}`, rows.takeChanged());
  if (state === 'done') await store.set(new Map([[seriesOf(lastSuccess, labels), finishedAtMs / 1000]]));
}

/** A run that does not balance has failed (G2), as has one with a failed unit. */
function buildReport(
  { run, totals }: { readonly run: RunRecord; readonly totals: RunTotals },
  stopRequest: StopRequest | undefined,
  { jobs, location, version, now }: ReportContext,
): RunReport {
  const job = jobOf(run, jobs);
  const { open } = totals.units;
  const judgement = job.judge?.(run.params, totals.counts, totals.found);
  const counts = { ...totals.counts, ...judgement?.counts };
  const units = unitsOf(run, totals, stopRequest);
  const finishedAtMs = now();
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
    ...(judgement?.differences === undefined ? {} : { differences: judgement.differences }),
    startedAtMs: run.startedAtMs ?? run.requestedAtMs,
    finishedAtMs,
    workedMs: workedMsOfAttempts(run, finishedAtMs),
  };
}

/** An attempt that ended before its work began has taken no time. */
function workedMsOfAttempts(
  { attempts, attemptStartedAtMs }: Pick<RunRecord, 'attempts' | 'attemptStartedAtMs'>,
  finishedAtMs: number,
): number {
  const before = attempts.reduce((sum, attempt) => sum + attempt.finishedAtMs - attempt.startedAtMs, 0);
  return before + finishedAtMs - (attemptStartedAtMs ?? finishedAtMs);
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

/**
 * Ends the unfinished runs of a copied warehouse, which go on in the original: settles their open units as cancelled, so
 * that a retry opens them, and sends nothing. The audit of deletions stays as it was copied. Returns their ids.
 */
export async function interruptRuns(context: ReportContext): Promise<readonly string[]> {
  const { runs } = context.ledger;
  const unfinished = (await runs.unfinished()).map(({ runId }) => runId);
  for (const runId of unfinished) {
    const run = await runs.read(runId);
    if (run !== undefined) await interrupt(run, context);
  }
  return unfinished;
}

async function interrupt(run: RunRecord, context: ReportContext): Promise<void> {
  const { runs } = context.ledger;
  await runs.settleRest(run.runId, { state: 'cancelled' });
  const totals = await runs.totals(run.runId);
  const stop = { kind: 'cancel', requestedBy: 'the copying of the warehouse' } as const;
  const stopped = { code: 'interrupted', message: 'this is a copy of the warehouse: the run goes on in the original' };
  await runs.finish({ ...buildReport({ run, totals }, stop, context), state: 'interrupted', stopped });
}
