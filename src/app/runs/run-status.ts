/** Runs with their live figures: the state is from the ledger, the progress from Redis. */
import { networkPipesJobName } from '../../../jobs/network-pipes/job.ts';
import { exceptionRules, type JobDescription, unknownJob, wholeOf } from '../../core/run/job-description.ts';
import { isFinished, type RunRecord, type RunSummary } from '../../core/run/run.ts';
import { outagePartOf } from '../../core/base/errors.ts';
import type { RunFilter, RunNumbers } from '../../warehouse/port/runs.ts';
import type { App } from '../app.ts';
import type { ReadKey } from '../warehouse/last-known.ts';
import { type HeldBack, notHeldBack, readHeldBack } from '../service/service-requests.ts';
import { attemptDocuments, liveDocument, type RunDocument, runDocument, type RunFigures } from './run-document.ts';
import { liveProgressOf } from './run-progress.ts';
import { isUnattended } from './start-run.ts';

/** Runs, the newest first. */
export interface RunListDocument {
  readonly runs: readonly RunDocument[];
  /** Start of the next list; null on the last one. */
  readonly cursor: string | null;
  /** Start of the list of newer runs; null on the first one. */
  readonly newer: string | null;
  /** The service of the warehouse; null before its first run. */
  readonly service: string | null;
  /** Address without secrets. */
  readonly warehouse: string;
  /** Jobs with unfinished runs, but without a worker. */
  readonly unattendedJobs: readonly string[];
  /** Why live figures are missing; null if Redis answered. */
  readonly liveFault: string | null;
}

/** Without Redis the figures are those of the ledger. */
export async function listRuns(app: App, filter: RunFilter): Promise<RunListDocument> {
  return withLiveFigures(app, await readKeptRuns(app, filter));
}

/** What the ledger alone says of a list of runs. */
export interface KeptRuns {
  readonly runs: readonly RunSummary[];
  /** By run id, of the runs that have not ended. */
  readonly figures: ReadonlyMap<string, RunFigures>;
  readonly service: string | undefined;
  readonly cursor: string | undefined;
  readonly newer: string | undefined;
}

/** Throws UsageError for an invalid cursor. */
export async function readKeptRuns(app: App, filter: RunFilter): Promise<KeptRuns> {
  const { ledger } = app;
  const { runs, cursor, newer } = await ledger.runs.list(filter);
  const { service } = await ledger.ownership.read();
  const figures = await readKeptFigures(app, unfinishedOf(runs));
  return { runs, figures, service, cursor, newer };
}

/** How many runs of each state a filter admits, whatever state it asks for. */
export function countRuns({ ledger, jobs }: App, filter: RunFilter): Promise<RunNumbers> {
  return ledger.runs.count(filter, exceptionRules(jobs));
}

/** The newest pushes of network pipes. */
export function readKeptPushes(app: App, limit: number): Promise<KeptRuns> {
  return readKeptRuns(app, { limit, job: networkPipesJobName });
}

/** The newest ones tell of all. */
const mostUnfinished = 100;

/** The jobs with runs that have not ended, and without a worker. */
export async function jobsWithoutWorker(app: App): Promise<readonly string[]> {
  const { runs } = await app.ledger.runs.list({ limit: mostUnfinished, states: ['queued', 'running'] });
  return jobsUnattended(app, runs);
}

async function jobsUnattended(app: App, runs: readonly RunSummary[]): Promise<readonly string[]> {
  const jobs = [...new Set(runs.map(({ job }) => job))];
  const isAlone = await Promise.all(jobs.map((job) => isUnattended(app, job)));
  return jobs.filter((_job, index) => isAlone[index]);
}

/** Asks the queue alone. */
export async function withLiveFigures(app: App, kept: KeptRuns): Promise<RunListDocument> {
  const { runs } = kept;
  const unfinished = unfinishedOf(runs);
  const live = new Map<string, RunFigures | undefined>();
  const unattendedJobs: string[] = [];
  let liveFault: string | null = null;
  try {
    const figures = await Promise.all(unfinished.map((run) => readLiveFigures(app, run)));
    for (const [index, run] of unfinished.entries()) live.set(run.runId, figures[index]);
    unattendedJobs.push(...(await jobsUnattended(app, unfinished)));
  } catch (error) {
    liveFault = liveFaultOf(error);
  }
  return keptList(app, kept, { live, unattendedJobs, liveFault });
}

/** As {@link withLiveFigures}, without asking the queue. */
export function keptList(
  app: App,
  { runs, figures, service, cursor, newer }: KeptRuns,
  {
    live = new Map(),
    unattendedJobs = [],
    liveFault = null,
  }: {
    readonly live?: ReadonlyMap<string, RunFigures | undefined>;
    readonly unattendedJobs?: readonly string[];
    readonly liveFault?: string | null;
  } = {},
): RunListDocument {
  const { location: warehouse } = app.warehouse;
  const { timeZone } = app.config;
  const progressOf = ({ runId }: RunSummary): RunFigures | undefined => live.get(runId) ?? figures.get(runId);
  const documents = runs.map((run) =>
    runDocument(run, { job: jobDescriptionOf(run.job, app.jobs), progress: progressOf(run), warehouse, timeZone }),
  );
  return {
    runs: documents,
    cursor: cursor ?? null,
    newer: newer ?? null,
    service: service ?? null,
    warehouse,
    unattendedJobs,
    liveFault,
  };
}

/** Why the queue does not answer. Throws the fault of a warehouse that is away, where the queue has to read it. */
function liveFaultOf(error: unknown): string {
  if (outagePartOf(error) === 'warehouse') throw error;
  return error instanceof Error ? error.message : String(error);
}

function unfinishedOf(runs: readonly RunSummary[]): readonly RunSummary[] {
  return runs.filter(({ state }) => !isFinished(state));
}

/** A run with what it does now. */
export type LiveRunDocument = Awaited<ReturnType<typeof showLiveRun>>;

/** A run that has not ended. Throws UnreachableError('redis'). */
export async function showLiveRun(app: App, run: RunRecord, readKept: ReadKept = readAtOnce) {
  const live = await readLiveFigures(app, run);
  const isUnattendedRun: boolean | null = await isUnattended(app, run.job);
  return liveRun(app, run, live ?? (await keptFiguresOf(app, run, readKept)), {
    isUnattended: isUnattendedRun,
    heldBack: await readHeldBack(app),
    reading: await namedReading(app, run, live, readKept),
  });
}

/** How a page reads what the ledger has beside the run itself: undefined where that is not known now. */
type ReadKept = <T>(key: ReadKey, work: () => Promise<T>) => Promise<T | undefined>;

const readAtOnce: ReadKept = (_key, work) => work();

function keptFiguresOf(app: App, run: RunRecord, readKept: ReadKept): Promise<RunFigures | undefined> {
  return readKept(['figures', run.runId, run.generation, run.state], async () =>
    (await readKeptFigures(app, [run])).get(run.runId),
  );
}

/** A run in any state, also while Redis is away: `isUnattended` is null then. */
export async function showRun(app: App, run: RunRecord, readKept: ReadKept = readAtOnce): Promise<LiveRunDocument> {
  const nothing = { isUnattended: false, heldBack: notHeldBack };
  if (isFinished(run.state)) return liveRun(app, run, undefined, nothing);
  try {
    return await showLiveRun(app, run, readKept);
  } catch (error) {
    const liveFault = liveFaultOf(error);
    const kept = await keptFiguresOf(app, run, readKept);
    return liveRun(app, run, kept, { ...nothing, isUnattended: null, liveFault });
  }
}

/** As {@link showRun}, without asking the queue. */
export function showKeptRun(app: App, run: RunRecord): LiveRunDocument {
  return liveRun(app, run, undefined, { isUnattended: null, heldBack: notHeldBack });
}

interface LiveFacts {
  readonly isUnattended: boolean | null;
  readonly heldBack: HeldBack;
  readonly liveFault?: string | null;
  readonly reading?: readonly ReadingDocument[];
}

function liveRun(app: App, run: RunRecord, progress: RunFigures | undefined, facts: LiveFacts) {
  const { isUnattended: isLeft, heldBack, liveFault = null, reading = [] } = facts;
  const { location: warehouse } = app.warehouse;
  const { timeZone } = app.config;
  const job = jobDescriptionOf(run.job, app.jobs);
  return {
    ...runDocument(run, { job, progress, warehouse, timeZone }),
    parameters: run.params,
    retries: run.generation,
    attempts: attemptDocuments(run, job),
    ...liveDocument(progress, heldBack),
    pace: paceDocument(run, progress, job),
    reading,
    isUnattended: isLeft,
    liveFault,
  };
}

interface ReadingDocument {
  readonly target: string;
  readonly rows: number;
  readonly expectedRows: number | null;
}

/** Units that a page names while they are read. */
const mostReading = 12;

/** The targets that are being read, those with most rows first. */
async function namedReading(
  { ledger }: App,
  { runId }: RunRecord,
  progress: RunFigures | undefined,
  readKept: ReadKept,
): Promise<readonly ReadingDocument[]> {
  const reading = (progress?.reading ?? [])
    .filter(({ isRead }) => !isRead)
    .toSorted((left, right) => right.rows - left.rows)
    .slice(0, mostReading);
  if (reading.length === 0) return [];
  const numbers = reading.map(({ unit }) => unit);
  const named = await readKept(['names', runId, numbers], () =>
    ledger.runs.units(runId, { limit: mostReading, units: numbers }),
  );
  const names = new Map(named?.units.map(({ unit, target }) => [unit, target]));
  return reading.flatMap(({ unit, rows, expectedRows }) => {
    const target = names.get(unit);
    return target === undefined ? [] : [{ target, rows, expectedRows: expectedRows ?? null }];
  });
}

/** How far the attempt is, and how fast; null where that is not known. */
function paceDocument(run: RunRecord, progress: RunFigures | undefined, job: JobDescription) {
  const { attemptStartedAtMs: startMs } = run;
  if (progress === undefined || startMs === undefined) return null;
  const { counts = {}, units } = run.attempts.at(-1) ?? {};
  const before = { units: units === undefined ? 0 : units.done + units.held, rows: counts[wholeOf(job) ?? ''] ?? 0 };
  const whole = { reading: [], underWay: [], ...progress };
  const { share, rows, rowsPerSecond, leftMs } = liveProgressOf(whole, job, {
    elapsedMs: Date.now() - startMs,
    before,
  });
  return { share, rows, rowsPerSecond: rowsPerSecond ?? null, leftMs: leftMs ?? null };
}

/** A progress that is not opened yet, or is of an earlier attempt, says nothing of what is done. */
async function readLiveFigures(app: App, { runId, generation }: RunSummary): Promise<RunFigures | undefined> {
  const progress = await (await app.queue('prompt')).progress.read(runId);
  const isLive = progress !== undefined && progress.state === 'running' && progress.generation === generation;
  return isLive ? progress : undefined;
}

/** Of the runs that have not ended and have a plan, by run. */
async function readKeptFigures({ ledger }: App, runs: readonly RunSummary[]): Promise<ReadonlyMap<string, RunFigures>> {
  const planned = runs.filter(({ unitCount, state }) => unitCount !== undefined && !isFinished(state));
  if (planned.length === 0) return new Map();
  const figures = await ledger.runs.figures(planned.map(({ runId }) => runId));
  return new Map(
    [...figures].map(([runId, { units, counts }]) => [
      runId,
      { units: units.total, settledUnits: units.total - units.open, counts },
    ]),
  );
}

/** The description of a job by name; a neutral one for a job that only another version knows. */
export function jobDescriptionOf(name: string, jobs: readonly JobDescription[]): JobDescription {
  return jobs.find((job) => job.name === name) ?? unknownJob(name);
}
