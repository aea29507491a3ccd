/** Requests of an operator or a schedule about runs: start, release of held rows, cancel and retry. */
import { createHash, randomBytes } from 'node:crypto';
import { UsageError } from '../core/base/errors.ts';
import { counted } from '../core/base/text.ts';
import { ReleaseConflictError } from '../core/daily/shrink-guard.ts';
import { isOutdated } from '../core/run/warehouse-queue.ts';
import { type IdempotencyKey, isFinished, type RunHead, type RunSummary } from '../core/run/run.ts';
import type { RunQueue } from '../queue/port.ts';
import type { Targets } from '../warehouse/port/runs.ts';
import type { Ledger, Warehouse } from '../warehouse/port/warehouse.ts';
import { finishRun } from './finish-run.ts';
import type { AnyJob } from './job.ts';
import { checkQueue, type ClaimContext } from './queue-claim.ts';

/**
 * `had-ended`: the run had ended before. `requested`: workers will end it. `ended`: the call ended it, since there was
 * no worker.
 */
type CancelOutcome = 'had-ended' | 'requested' | 'ended';

interface RunServiceContext extends ClaimContext {
  readonly ledger: Ledger;
  readonly warehouse: Warehouse;
  readonly queue: RunQueue;
  readonly jobs: readonly AnyJob[];
  /** The service of new runs, without secrets. Throws UsageError if none is configured. */
  readonly serviceKey: () => string;
  readonly now: () => number;
  /** Of this program, for reports. */
  readonly version: string;
}

interface RunDetails {
  readonly actor: string;
  /** An id of {@link newRunId} that the caller keeps, so that it finds the run after a crash; by default a new one. */
  readonly runId?: string;
  readonly targets?: Targets;
  /** The schedule that the run is of. */
  readonly schedule?: string;
}

/** `isOutdated`: the run leaves out what came to the service since its request. */
type UnfinishedSummary = RunSummary & { readonly isOutdated: boolean };

export class RunService {
  readonly #context: RunServiceContext;

  constructor(context: RunServiceContext) {
    this.#context = context;
  }

  /**
   * Checks the parameters, writes the run into the warehouse, then queues it. Returns the run's id. Throws UsageError,
   * also if the warehouse belongs to another service, and UnreachableError if another queue works it (G11).
   */
  async start(jobName: string, params: unknown, details: RunDetails): Promise<string> {
    const { request, checkedTargets } = await this.#requested(jobName, params, details);
    await this.#context.ledger.runs.create(request, checkedTargets);
    await this.#enqueue(request.runId, 0);
    return request.runId;
  }

  /**
   * As {@link start}, unless a request with this key has made a run: returns that one and starts none: a worker queues it
   * if the queue has lost it. Throws KeyReusedError if the key came with another body.
   */
  async startKeyed(
    jobName: string,
    params: unknown,
    { key, ...details }: RunDetails & { readonly key: IdempotencyKey },
  ): Promise<{ readonly runId: string; readonly isRepeat: boolean }> {
    const { request, checkedTargets } = await this.#requested(jobName, params, details);
    const madeId = await this.#context.ledger.runs.createKeyed(request, key, checkedTargets);
    if (madeId === undefined) await this.#enqueue(request.runId, 0);
    return { runId: madeId ?? request.runId, isRepeat: madeId !== undefined };
  }

  /**
   * As {@link start}, unless a run for the same work has not ended: returns that one, queued again if the queue has lost it,
   * and starts none. With a key, that of an earlier request with the key as well, even if it has ended.
   */
  async startOnce(
    jobName: string,
    params: unknown,
    { key, ...details }: RunDetails & { readonly key?: IdempotencyKey | undefined },
  ): Promise<{ readonly runId: string; readonly unfinished: UnfinishedSummary | undefined }> {
    const { request, checkedTargets, job } = await this.#requested(jobName, params, details);
    const unfinished = await this.#context.ledger.runs.createOnce(request, checkedTargets, key);
    if (unfinished === undefined) {
      await this.#enqueue(request.runId, 0);
      return { runId: request.runId, unfinished };
    }
    const { runId, generation, state, requestedAtMs } = unfinished;
    const isQueued = isFinished(state) || (await this.#context.queue.isSubmitted(runId, generation));
    if (!isQueued) await this.#context.queue.submit(runId, generation);
    const readsUpToRequest = job.readsUpToRequest?.(request.params) ?? false;
    const outdated = isOutdated({ requestedAtMs, readsUpToRequest }, request.requestedAtMs);
    return { runId, unfinished: { ...unfinished, isOutdated: outdated } };
  }

  /**
   * Starts the run that releases what the run `of` holds, for a person who was shown `rows` held rows. Returns its id, or
   * that of the run that a request with the key made (`isRepeat`). Throws UsageError where the job of `of` holds nothing, and
   * ReleaseConflictError where `of` has not ended, where the number of held rows is another one by now, and where an
   * unfinished run releases some of them.
   */
  async release(
    of: string,
    rows: number,
    { actor, key }: { readonly actor: string; readonly key?: IdempotencyKey | undefined },
  ): Promise<{ readonly runId: string; readonly job: string; readonly isRepeat: boolean }> {
    const job = releasingJobOf(await this.#known(of), this.#context.jobs);
    const { release } = job;
    await checkQueue(this.#context);
    const requestedAtMs = this.#context.now();
    const request = this.#requestOf(job, release.params(of, requestedAtMs), { actor, requestedAtMs });
    const { runId } = request;
    const released = await this.#context.ledger.holds.release(request, { of, kind: release.kind, rows }, key);
    switch (released.kind) {
      case 'created':
        await this.#enqueue(runId, 0);
        return { runId, job: job.name, isRepeat: false };
      case 'repeated':
        return { runId: released.runId, job: job.name, isRepeat: true };
      case 'under-way':
        throw releaseUnderWay(released.runId);
      case 'changed':
        throw otherRowsHeld(of, released.rows, rows);
    }
  }

  async #requested(jobName: string, params: unknown, { targets, ...details }: RunDetails) {
    const job = this.#context.jobs.find((candidate) => candidate.name === jobName);
    if (job === undefined) throw new UsageError(`there is no job named ${jobName}`);
    await checkQueue(this.#context);
    await job.checkStart?.(this.#context);
    const requestedAtMs = this.#context.now();
    const checkedTargets = await targetsFor(job, targets);
    const request = this.#requestOf(job, params, { ...details, requestedAtMs }, checkedTargets);
    return { request, checkedTargets, job };
  }

  #requestOf(
    job: AnyJob,
    params: unknown,
    { actor, runId, requestedAtMs, schedule }: Omit<RunDetails, 'targets'> & { readonly requestedAtMs: number },
    targets: readonly string[] = [],
  ) {
    const checked = job.params.parse(params);
    return {
      runId: runId ?? newRunId(requestedAtMs),
      job: job.name,
      params: checked,
      service: this.#context.serviceKey(),
      actor,
      requestedAtMs,
      requestKey: requestKey(job, checked, targets),
      ...(schedule !== undefined && { schedule }),
    };
  }

  /**
   * Queues a run of the ledger. An outage of Redis is not an error here: the run exists, and a worker queues it once
   * Redis is back (src/runs/revival.ts).
   */
  async #enqueue(runId: string, generation: number): Promise<void> {
    try {
      await this.#context.queue.progress.forget(runId);
      await this.#context.queue.submit(runId, generation);
    } catch {
      // The run waits in the ledger.
    }
  }

  /**
   * Requests that a run stop; running work notices within a second or two. Ends a run that no worker would stop. A
   * worker that starts at the same moment does no harm: units are settled once, and a run ends once.
   */
  async cancel(runId: string, requestedBy: string): Promise<CancelOutcome> {
    await checkQueue(this.#context);
    const { ledger, queue } = this.#context;
    const run = await this.#known(runId);
    if (isFinished(run.state)) return 'had-ended';
    await queue.progress.requestStop(runId, { kind: 'cancel', requestedBy });
    await queue.submit(runId, run.generation);
    if (await this.#mayBeWorked(runId)) return 'requested';
    // The first request stays, which may be an older one.
    const stopRequest = (await queue.progress.read(runId))?.stopRequest ?? {
      kind: 'cancel',
      requestedBy,
    };
    const known = await ledger.runs.read(runId);
    if (known === undefined) return 'had-ended';
    return (await finishRun(known, stopRequest, this.#context)) === undefined ? 'requested' : 'ended';
  }

  /**
   * Ends the runs whose last unit this process has settled: it stops working, and the next one may come tomorrow. Returns
   * their ids.
   */
  async endSettled(): Promise<readonly string[]> {
    const { ledger, queue } = this.#context;
    const ended: string[] = [];
    for (const { runId } of await ledger.runs.unfinished()) {
      const progress = await queue.progress.read(runId);
      if (progress === undefined || progress.units === 0 || progress.settledUnits < progress.units) continue;
      const run = await ledger.runs.read(runId);
      if (run === undefined) continue;
      if ((await finishRun(run, progress.stopRequest, this.#context)) !== undefined) ended.push(runId);
    }
    return ended;
  }

  /**
   * Every process that works a queue coordinates the runs of all queues. One that has just died may still hold a chunk.
   */
  async #mayBeWorked(runId: string): Promise<boolean> {
    const { queue } = this.#context;
    if ((await queue.workers()).some(({ workers }) => workers > 0)) return true;
    return (await queue.chunkStatuses(runId)).some(({ status }) => status === 'active');
  }

  /**
   * Reopens the failed, cancelled and unknown units of a finished run and queues it. Returns their number. Throws as {@link
   * start} does.
   */
  async retry(runId: string, requestedBy: string): Promise<number> {
    await checkQueue(this.#context);
    const { job: jobName } = await this.#known(runId);
    const job = this.#context.jobs.find((candidate) => candidate.name === jobName);
    await job?.checkRetry?.(runId, this.#context);
    const opened = await this.#context.ledger.runs.reopen(runId, requestedBy);
    if (opened === 0) return 0;
    const run = await this.#known(runId);
    await this.#enqueue(runId, run.generation);
    return opened;
  }

  async #known(runId: string): Promise<RunHead> {
    const run = await this.#context.ledger.runs.readHead(runId);
    if (run === undefined) {
      throw new UsageError(`there is no run ${runId}`, { action: { kind: 'list-runs' } });
    }
    return run;
  }
}

/** Undefined for a job that takes none. Throws UsageError if there is no target, or one is empty. */
async function targetsFor(
  { name, takesTargets }: AnyJob,
  targets: Targets | undefined,
): Promise<readonly string[] | undefined> {
  if (takesTargets !== true) {
    if (targets === undefined) return undefined;
    throw new UsageError(`${name} takes no targets`);
  }
  const found: string[] = [];
  for await (const target of targets ?? []) {
    if (target === '') throw new UsageError(`${name} was given a target without a name`);
    found.push(target);
  }
  if (found.length === 0) throw new UsageError(`${name} was given no targets`);
  return found;
}

/** Sorts by time, is readable, and holds no character that BullMQ refuses: 20261121-093015-k3f9. */
export function newRunId(nowMs: number): string {
  const [day, time] = new Date(nowMs).toISOString().slice(0, 19).split('T') as [string, string];
  return `${day.replaceAll('-', '')}-${time.replaceAll(':', '')}-${randomBytes(3).toString('hex')}`;
}

// The identity of what a run was requested for: two requests with one key ask for the same work.

/**
 * SHA-256 of the job's name, its checked parameters without those that vary from request to request, and its targets in
 * any order (docs/design.md section 5).
 */
export function requestKey(
  { name, varyingParams = [] }: Pick<AnyJob, 'name' | 'varyingParams'>,
  params: unknown,
  targets: readonly string[],
): string {
  const hash = createHash('sha256').update(JSON.stringify([name, steadyOf(params, varyingParams)]));
  for (const target of targets.toSorted()) hash.update(JSON.stringify(target));
  return hash.digest('hex');
}

/** The members in the order of their names, which does not depend on who built the object. */
function steadyOf(params: unknown, varying: readonly string[]): readonly (readonly [string, unknown])[] {
  return Object.entries(params ?? {})
    .filter(([name, value]) => value !== undefined && !varying.includes(name))
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
}

// The release of rows that a run holds: which job does it, and why it is refused (G4).

type ReleasingJob = AnyJob & Required<Pick<AnyJob, 'release'>>;

/** Throws UsageError for a job that holds no rows, and ReleaseConflictError for a run that has not ended. */
export function releasingJobOf(
  { runId, job: name, state }: Pick<RunSummary, 'runId' | 'job' | 'state'>,
  jobs: readonly AnyJob[],
): ReleasingJob {
  const job = jobs.find((candidate): candidate is ReleasingJob => {
    return candidate.name === name && candidate.release !== undefined;
  });
  if (job === undefined) throw new UsageError(`run ${runId} holds no rows: ${name} removes none`);
  if (isFinished(state)) return job;
  const message = `run ${runId} is ${state}: what it holds can be released when it has ended`;
  throw new ReleaseConflictError('run-not-ended', message);
}

export function otherRowsHeld(runId: string, rows: number, shown: number): ReleaseConflictError {
  const action = { kind: 'list-held' } as const;
  if (rows === 0) return new ReleaseConflictError('nothing-held', `run ${runId} holds no rows`, { action });
  const message = `run ${runId} holds ${counted(rows, 'row')}, and not ${shown}: nothing was released`;
  return new ReleaseConflictError('not-confirmed', message, { action });
}

/** `runId`: the run that releases some of the rows, and has not ended. */
function releaseUnderWay(runId: string): ReleaseConflictError {
  const action = { kind: 'show-run', runId } as const;
  return new ReleaseConflictError('release-under-way', `run ${runId} releases these rows already`, { action });
}
