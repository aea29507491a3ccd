/** Starts runs for every face: a console, an HTTP API, a schedule and the command line call the same functions. */
import type { IdempotencyKey } from '../core/run/idempotency-key.ts';
import type { App } from './app.ts';
import { checkBeforeRun } from './preflight.ts';

/** A job and its parameters, as the functions of app/requests return them; the job's schema checks them again. */
export interface JobRequest {
  readonly job: string;
  readonly params: unknown;
  /** Distinct, for a job that takes them. */
  readonly targets?: readonly string[];
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

export interface Asker {
  /** Who requests the run, for the ledger: `user@host`. */
  readonly actor: string;
  readonly connection: Connection;
}

/**
 * Checks every part that work needs, writes the run into the ledger and queues it. Throws UsageError or
 * UnreachableError before the run exists.
 */
export async function startRun(app: App, request: JobRequest, asker: Asker): Promise<RunName> {
  await checkBeforeRun(app);
  return queueRun(app, request, asker);
}

/** As startRun, for a face that has already checked the parts. */
export async function queueRun(app: App, request: JobRequest, { actor, connection }: Asker): Promise<RunName> {
  const { job, params, targets } = request;
  await app.queue(connection);
  const runService = await app.runService();
  const runId = await runService.start(job, params, { actor, ...(targets === undefined ? {} : { targets }) });
  return { runId, job };
}

/**
 * As {@link startRun}, for a request that may come again: with the same key it is that of the first, whatever has become
 * of the parts since. Throws KeyReusedError if the key came with another body.
 */
export async function startKeyedRun(
  app: App,
  request: JobRequest,
  asker: Asker & { readonly key: IdempotencyKey },
): Promise<RunName & { readonly isRepeat: boolean }> {
  const { job, params, targets } = request;
  const { actor, connection, key } = asker;
  await checkBeforeRun(app);
  await app.queue(connection);
  const details = { actor, key, ...(targets === undefined ? {} : { targets }) };
  const started = await (await app.runService()).startKeyed(job, params, details);
  return { ...started, job };
}

/** The run of an earlier request with this key. Throws KeyReusedError if that had another body. */
export async function findKeyedRun({ ledger, warehouse }: App, key: IdempotencyKey): Promise<RunName | undefined> {
  const runId = (await warehouse.isStored()) ? await ledger.runs.findKeyed(key) : undefined;
  const run = runId === undefined ? undefined : await ledger.runs.readHead(runId);
  return run && { runId: run.runId, job: run.job };
}

/**
 * Reopens the failed, cancelled and unknown units of a finished run and queues it, after the same checks as for a new run.
 * Returns the number of units; 0 leaves the run unchanged. Throws UsageError for a run that has not finished or must
 * not be retried.
 */
export async function retryRun(app: App, runId: string, { actor, connection }: Asker): Promise<number> {
  await checkBeforeRun(app);
  await app.queue(connection);
  return (await app.runService()).retry(runId, actor);
}
