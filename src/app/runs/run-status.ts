/** Runs with their live figures: the state is from the ledger, the progress from Redis. */
import { networkPipesJobName } from '../../../jobs/network-pipes/job.ts';
import { type ExitCode, exitCodeOfReport } from '../../core/run/exit-code.ts';
import { exceptionsOf, type JobDescription, unknownJob } from '../../core/run/job-description.ts';
import { isFinished, type RunReport, type RunSummary } from '../../core/run/run.ts';
import type { RunProgress } from '../../queue/port.ts';
import type { RunFilter } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import { type HeldBack, notHeldBack, readHeldBack } from '../service/service-view.ts';
import { isUnattended } from './start-run.ts';

/** What a run that has not ended has done so far, earlier attempts included. */
export type RunFigures = Pick<RunProgress, 'units' | 'settledUnits' | 'counts'> &
  /** Known while Redis has them. */
  Partial<Pick<RunProgress, 'chunks' | 'chunksEnded' | 'reading' | 'stopRequest'>>;

export interface RunStatus {
  readonly run: RunSummary;
  /** Live from Redis, else from the ledger. Undefined for a run that has ended or has no plan. */
  readonly progress: RunFigures | undefined;
  /** Address without secrets. */
  readonly warehouse: string;
}

/** A run that has not ended. */
export interface LiveRunStatus extends RunStatus, HeldBack {
  /** Whether no worker has its queue. */
  readonly isUnattended: boolean;
}

export interface RunList {
  /** The newest first. */
  readonly runs: readonly RunStatus[];
  /** The service of the warehouse; undefined before its first run. */
  readonly service: string | undefined;
  /** Address without secrets. */
  readonly warehouse: string;
  /** Start of the next list; undefined on the last one. */
  readonly cursor: string | undefined;
  /** Jobs with unfinished runs, but without a worker. */
  readonly unattendedJobs: readonly string[];
  /** Why live figures are missing; undefined if Redis answered. */
  readonly liveFault: string | undefined;
}

/** Without Redis the figures are those of the ledger. */
export async function listRuns(app: App, filter: RunFilter): Promise<RunList> {
  return withLiveFigures(app, await readKeptRuns(app, filter));
}

/** What the ledger alone says of a list of runs. */
export interface KeptRuns {
  readonly runs: readonly RunSummary[];
  /** By run id, of the runs that have not ended. */
  readonly figures: ReadonlyMap<string, RunFigures | undefined>;
  readonly service: string | undefined;
  readonly cursor: string | undefined;
}

/** Throws UsageError for an invalid cursor. */
export async function readKeptRuns(app: App, filter: RunFilter): Promise<KeptRuns> {
  const { ledger } = app;
  const { runs, cursor } = await ledger.runs.list(filter);
  const { service } = await ledger.ownership.read();
  const figures = new Map<string, RunFigures | undefined>();
  for (const run of unfinishedOf(runs)) figures.set(run.runId, await readKeptFigures(app, run));
  return { runs, figures, service, cursor };
}

/** The newest pushes of network pipes. */
export function readKeptPushes(app: App, limit: number): Promise<KeptRuns> {
  return readKeptRuns(app, { limit, job: networkPipesJobName });
}

/** Reads Redis alone. */
export async function withLiveFigures(app: App, { runs, figures, service, cursor }: KeptRuns): Promise<RunList> {
  const { location: warehouse } = app.warehouse;
  const unfinished = unfinishedOf(runs);
  const live = new Map<string, RunFigures | undefined>();
  const unattendedJobs: string[] = [];
  let liveFault: string | undefined;
  try {
    for (const run of unfinished) live.set(run.runId, await readLiveFigures(app, run));
    for (const job of new Set(unfinished.map((run) => run.job))) {
      if (await isUnattended(app, job)) unattendedJobs.push(job);
    }
  } catch (error) {
    liveFault = error instanceof Error ? error.message : String(error);
  }
  const progressOf = ({ runId }: RunSummary): RunFigures | undefined => live.get(runId) ?? figures.get(runId);
  const statuses = runs.map((run) => ({ run, progress: progressOf(run), warehouse }));
  return { runs: statuses, service, warehouse, cursor, unattendedJobs, liveFault };
}

function unfinishedOf(runs: readonly RunSummary[]): readonly RunSummary[] {
  return runs.filter(({ state }) => !isFinished(state));
}

/** Throws UnreachableError('redis'). */
export async function statusOf(app: App, run: RunSummary): Promise<LiveRunStatus> {
  const progress = (await readLiveFigures(app, run)) ?? (await readKeptFigures(app, run));
  const { location: warehouse } = app.warehouse;
  return { run, progress, warehouse, isUnattended: await isUnattended(app, run.job), ...(await readHeldBack(app)) };
}

/** A run in any state, also while Redis is away. */
export interface RunView extends HeldBack {
  readonly status: RunStatus;
  /** Undefined where Redis does not answer. */
  readonly isUnattended: boolean | undefined;
  /** Why live figures are missing; undefined if Redis answered, or the run has ended. */
  readonly liveFault: string | undefined;
}

export async function viewOf(app: App, run: RunSummary): Promise<RunView> {
  const { location: warehouse } = app.warehouse;
  const nothing = { isUnattended: false, ...notHeldBack, liveFault: undefined };
  if (isFinished(run.state)) return { status: { run, progress: undefined, warehouse }, ...nothing };
  try {
    const { isUnattended: isLeft, hold, outage, ...status } = await statusOf(app, run);
    return { status, isUnattended: isLeft, hold, outage, liveFault: undefined };
  } catch (error) {
    const liveFault = error instanceof Error ? error.message : String(error);
    return { status: { run, progress: undefined, warehouse }, isUnattended: undefined, ...notHeldBack, liveFault };
  }
}

/** A progress that is not opened yet, or is of an earlier attempt, says nothing of what is done. */
async function readLiveFigures(app: App, { runId, generation }: RunSummary): Promise<RunFigures | undefined> {
  const progress = await (await app.queue('prompt')).progress.read(runId);
  const isLive = progress !== undefined && progress.state === 'running' && progress.generation === generation;
  return isLive ? progress : undefined;
}

async function readKeptFigures({ ledger }: App, run: RunSummary): Promise<RunFigures | undefined> {
  if (run.unitCount === undefined || isFinished(run.state)) return undefined;
  const { units, counts } = await ledger.runs.totals(run.runId);
  return { units: units.total, settledUnits: units.total - units.open, counts };
}

/** The description of the job of a finished run, and the exit code of docs/design.md section 8. */
export function outcomeOf(
  { jobs }: Pick<App, 'jobs'>,
  report: RunReport,
): { readonly job: JobDescription; readonly exitCode: ExitCode } {
  const job = jobDescriptionOf(report.job, jobs);
  return {
    job,
    exitCode: exitCodeOfReport(
      report,
      exceptionsOf(job).map(({ name }) => name),
    ),
  };
}

// The outcome of a run as a sentence, and the next steps, from the description of its job. Pure.

/** The description of a job by name; a neutral one for a job that only another version knows. */
export function jobDescriptionOf(name: string, jobs: readonly JobDescription[]): JobDescription {
  return jobs.find((job) => job.name === name) ?? unknownJob(name);
}
