/** Starts runs for every face: a console, an HTTP API, a schedule and the command line call the same functions. */
import { WellsyncError } from '../../core/base/errors.ts';
import { roughDurationText } from '../../core/base/text.ts';
import type { ChunkQueueName } from '../../core/run/job-description.ts';
import { decideOverlap, type UnfinishedRun } from '../../core/run/warehouse-queue.ts';
import { type IdempotencyKey, isFinished, type RunSummary } from '../../core/run/run.ts';
import { type RunQueue, runsQueueName } from '../../queue/port.ts';
import type { App } from '../app.ts';
import { checkBeforeRun } from '../preflight.ts';

/** A job and its parameters, as the functions of app/exports return them; the job's schema checks them again. */
export interface JobRequest {
  readonly job: string;
  readonly params: unknown;
  /** Distinct, for a job that takes them. */
  readonly targets?: readonly string[];
  /** The schedule that it is of. */
  readonly schedule?: string;
}

/** Id of a run and name of its job. */
export interface RunName {
  readonly runId: string;
  readonly job: string;
}

/**
 * Kind of the process's connection to Redis. `lasting`: for a process that follows or works runs; waits for Redis to
 * come back. `prompt`: fails at once without Redis. The first use decides.
 */
export type Connection = 'prompt' | 'lasting';

export interface Requester {
  /** Who requests the run, for the ledger: `user@host`. */
  readonly actor: string;
  readonly connection: Connection;
}

/**
 * Checks every part that work needs, writes the run into the ledger and queues it. Throws UsageError or
 * UnreachableError before the run exists.
 */
export async function startRun(app: App, request: JobRequest, requester: Requester): Promise<RunName> {
  await checkBeforeRun(app);
  return queueRun(app, request, requester);
}

/** As startRun, for a face that has already checked the parts. */
export async function queueRun(app: App, request: JobRequest, { actor, connection }: Requester): Promise<RunName> {
  const { job, params, ...details } = request;
  await app.queue(connection);
  const runService = await app.runService();
  return { runId: await runService.start(job, params, { actor, ...details }), job };
}

/**
 * As {@link startRun}, for a request that may come again: with the same key it is that of the first, whatever has become
 * of the parts since. Throws KeyReusedError if the key came with another body.
 */
export async function startKeyedRun(
  app: App,
  request: JobRequest,
  requester: Requester & { readonly key: IdempotencyKey },
): Promise<RunName & { readonly isRepeat: boolean }> {
  const { job, params, ...details } = request;
  const { actor, connection, key } = requester;
  await checkBeforeRun(app);
  await app.queue(connection);
  const started = await (await app.runService()).startKeyed(job, params, { actor, key, ...details });
  return { ...started, job };
}

/** The run of an earlier request with this key. Throws KeyReusedError if that had another body. */
export async function findKeyedRun({ ledger, warehouse }: App, key: IdempotencyKey): Promise<RunName | undefined> {
  const runId = (await warehouse.isStored()) ? await ledger.runs.findKeyed(key) : undefined;
  const run = runId === undefined ? undefined : await ledger.runs.readHead(runId);
  return run && { runId: run.runId, job: run.job };
}

// Starts a run unless the same one is unfinished: what keeps two crons from doing the same work twice.

/**
 * `started`: a new run. `going-on`: an unfinished one that nobody works. `going-on-first`: one of an earlier night, so
 * that the request is to be made again once it has ended. `under-way`: nothing is to be done.
 */
export type StartedOnce = RunName & { readonly kind: 'started' | 'going-on' | 'going-on-first' | 'under-way' };

/** The same run has not ended, and has not moved for so long that its end is not to be expected. */
class StuckRunError extends WellsyncError {
  override readonly name = 'StuckRunError';
}

/**
 * As queueRun, unless a run of the same job, service, parameters and targets has not ended, or a request with the key has
 * made one: then it is `under-way`, even if it has ended. `canWork`: the caller works runs itself. Throws StuckRunError if that run has not moved for `run.stuckAfterMs`.
 */
export async function queueRunOnce(
  app: App,
  { job, params, ...details }: JobRequest,
  { actor, connection, key }: Requester & { readonly key?: IdempotencyKey | undefined },
  { canWork }: { readonly canWork: boolean },
): Promise<StartedOnce> {
  await app.queue(connection);
  const runService = await app.runService();
  const { runId, unfinished } = await runService.startOnce(job, params, { actor, key, ...details });
  if (unfinished === undefined) return { kind: 'started', runId, job };
  if (isFinished(unfinished.state)) return { kind: 'under-way', runId, job };
  const seen = await checkUnattended(app, unfinished);
  const decision = decideOverlap(seen, { stuckAfterMs: app.config.run.stuckAfterMs, canWork });
  if (decision === 'stuck') throw stuckError(unfinished, seen);
  if (decision === 'skip') return { kind: 'under-way', runId, job };
  return { kind: canWork && unfinished.isOutdated ? 'going-on-first' : 'going-on', runId, job };
}

async function checkUnattended(
  app: App,
  { runId, job, requestedAtMs, reopenedAtMs = requestedAtMs }: RunSummary,
): Promise<UnfinishedRun> {
  const progress = await (await app.queue('prompt')).progress.read(runId);
  const isAttended = !(await isUnattended(app, job));
  if (progress !== undefined && progress.units > 0) return { isAttended, unmovedMs: progress.unmovedMs };
  // A retried run was requested long ago, and was queued again only when it was reopened.
  return { isAttended, unmovedMs: Math.max(0, Date.now() - reopenedAtMs) };
}

function stuckError({ runId, requestedAtMs }: RunSummary, { isAttended, unmovedMs }: UnfinishedRun): StuckRunError {
  const age = roughDurationText(Math.max(0, Date.now() - requestedAtMs));
  const still = roughDurationText(unmovedMs);
  const worker = isAttended ? 'a worker is running' : 'no worker is running';
  return new StuckRunError(
    'run-stuck',
    `run ${runId} of the same job was requested ${age} ago and has not moved for ${still}, and ${worker}: nothing was started`,
    {
      hint: 'A longer wait may be right for a service that is down: run.stuckAfterMs.',
      action: { kind: 'look-at-run', runId },
    },
  );
}

/** Whether no worker, on any host, listens for the runs of a job, or of any job. Such runs stay queued. */
export async function isUnattended(app: App, job?: string): Promise<boolean> {
  return isQueueUnattended(await app.queue('prompt'), job === undefined ? undefined : queueOfJob(app, job));
}

export async function isQueueUnattended(queue: RunQueue, chunkQueue: ChunkQueueName | undefined): Promise<boolean> {
  const needed: readonly (string | undefined)[] = [runsQueueName, chunkQueue];
  return (await queue.workers()).some((entry) => entry.workers === 0 && needed.includes(entry.queue));
}

/** The queue of a job's chunks; undefined for a job of another version. */
export function queueOfJob({ jobs }: Pick<App, 'jobs'>, job: string): ChunkQueueName | undefined {
  return jobs.find((candidate) => candidate.name === job)?.queue;
}
