/**
 * The composition of wellsync from the configuration: warehouse, queue, jobs, run service and workers. Each part is
 * opened, and its libraries loaded, at its first use; all are closed together. The service and its token are only
 * loaded where work is done (G10).
 */
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import { createJobs } from '../../jobs/registry.ts';
import { AbortedError, faultOf, type OutageRecord, TakenOverError } from '../core/base/errors.ts';
import { withSteps } from '../core/base/failpoint.ts';
import type { ServiceIdentity } from '../core/base/service-key.ts';
import type { ChunkQueueName } from '../core/run/job-description.ts';
import { roughDurationText } from '../core/base/text.ts';
import { type BeatTimes, beatTimes } from '../core/run/warehouse-queue.ts';
import type { SharedFiles } from '../files/shared-files.ts';
import { createPipeFiles, type PipeFiles } from '../pipes/pipe-files.ts';
import type { QueueHandlers, RunningWorkers, RunQueue } from '../queue/port.ts';
import type { AnyJob } from '../runs/job.ts';
import { checkQueue, claimQueue, type QueueClaim, WorkedElsewhereError } from '../runs/queue-claim.ts';
import { RunService } from '../runs/run-service.ts';
import type { ProductionDataService } from '../service/production-data-service.ts';
import type { AnswerRelayed } from '../service/relay.ts';
import { createWarehouse } from '../warehouse/create-warehouse.ts';
import type { Ledger, Warehouse, WarehouseHandle } from '../warehouse/port/warehouse.ts';
import { chunkConcurrencyOf, jobSettings, sharedFilesOf } from './job-settings.ts';
import { createQueueWay, type QueueWay } from './queue-way.ts';
import {
  openRelayed,
  openService,
  RequestMeter,
  type ServiceClient,
  type ServiceKind,
} from './service/open-service.ts';
import { knownSecrets, serviceIdentityOf } from './service/service-settings.ts';
import { versionOfPackage } from './version.ts';

const now = Date.now;
const version = versionOfPackage();

export interface App extends AsyncDisposable {
  readonly config: Config;
  /** Whether an operator at a terminal sees what the process says. */
  readonly isAttended: boolean;
  /** Tells the operator what must be seen, whatever else is kept quiet. */
  readonly report: (message: string) => void;
  readonly jobs: readonly AnyJob[];
  readonly queueWay: QueueWay;
  readonly warehouse: Warehouse;
  readonly ledger: Ledger;
  readonly pipeFiles: PipeFiles;
  /** The files that several hosts share; undefined without files.url. */
  readonly sharedFiles: SharedFiles | undefined;
  /** Returns the same queue at every call until its connection ends; the first call decides its kind. Throws UnreachableError('redis'). */
  queue(kind: 'prompt' | 'lasting'): Promise<RunQueue>;
  /** Throws UsageError if the warehouse belongs to another service than the configured one (G11). */
  checkService(): Promise<void>;
  /**
   * Assigns the warehouse to the queue of the app. Throws as {@link checkService} does, and UnreachableError if another
   * queue with living workers has the warehouse (G11).
   */
  claimQueue(log: Logger): Promise<QueueClaim>;
  /** Throws UnreachableError if a run that is queued now would be refused: another queue has the warehouse (G11). */
  checkQueue(): Promise<void>;
  runService(): Promise<RunService>;
  /**
   * Calls `ask` with the service for what is no run, within the limits that hold across all workers (G9): it ends with
   * ServiceHoldError where the service asked all to wait. Without Redis the process that works the warehouse sends the
   * requests, and `ask` is called again where that one ends meanwhile; where nobody works it, this process keeps others from it
   * until `ask` has ended.
   */
  withService<T>(log: Logger, ask: AskService<T>, wait?: { readonly patienceMs: number }): Promise<T>;
  /**
   * An app with the same configuration: what this one began to stop, or lost to another process, does not keep it from work.
   */
  another(): App;
  /** Works these queues in this process until stopped. Closing the app does not stop them. */
  startWorkers(how: WorkingHow): Promise<RunningWorkers>;
}

/** `sender`: the process that sends the requests. */
export type AskService<T> = (service: ProductionDataService, sender: 'this' | 'worker') => Promise<T>;

interface WorkingHow {
  readonly queues: readonly ChunkQueueName[];
  readonly log: Logger;
  readonly outages: OutageRecord;
  /** Called when this process has ended a run, or found it ended. */
  readonly onRunEnded?: (runId: string) => Promise<void>;
  /** Of a process that works schedules. */
  readonly ticks?: QueueHandlers['ticks'];
}

export interface AppOptions {
  /** By default true. */
  readonly isAttended?: boolean;
  /** Called with a remark for the operator. */
  readonly report?: (message: string) => void;
  readonly lockWaitMs?: number;
  readonly log?: Logger;
  /** Intervals of the beat of a working queue; tests set shorter ones. */
  readonly beat?: BeatTimes;
  /** Whether a server of the warehouse that does not answer at first is waited for: it may be starting too. */
  readonly isAwaited?: boolean;
  /** Called when another program holds the warehouse for long, or its server does not answer. */
  readonly onWait?: (message: string) => void;
  /** Called after the warehouse of an earlier version was migrated. */
  readonly onMigrated?: (message: string) => void;
}

/** Processes that begin or end while a question is asked: more are none that work. */
const mostAskedWorkers = 3;

/** How long a question waits for a working process that is stopped, or whose host is busy: its beat grows old meanwhile. */
const askPatienceMs = 60_000;

/** The warehouse is another process's, which can be asked. */
function isTakenByOther(error: unknown): boolean {
  return error instanceof WorkedElsewhereError || error instanceof TakenOverError;
}

/** What was asked by a claim that is lost, the next process asks. */
async function untilLost<T>(answer: Promise<T>, lost: AbortSignal): Promise<T> {
  const answered = new AbortController();
  const loss = new Promise<never>((_, reject) => {
    const lose = (): void => reject(lost.reason as Error);
    if (lost.aborted) lose();
    lost.addEventListener('abort', lose, { signal: answered.signal });
  });
  try {
    return await Promise.race([answer, loss]);
  } finally {
    answered.abort();
  }
}

async function endAsking(claimed: Promise<QueueClaim>): Promise<void> {
  const claim = await claimed.catch(() => undefined);
  await claim?.[Symbol.asyncDispose]();
  // It has written nothing by it, and goes on beside whoever works next.
  claim?.liftFence();
}

export function createApp(config: Config, options: AppOptions = {}): App {
  return new ComposedApp(config, options);
}

class ComposedApp implements App {
  readonly config: Config;
  readonly another: () => App;
  readonly isAttended: boolean;
  readonly report: (message: string) => void;
  readonly jobs: readonly AnyJob[];
  readonly queueWay: QueueWay;
  readonly warehouse: WarehouseHandle;
  readonly ledger: Ledger;
  readonly pipeFiles: PipeFiles;
  readonly sharedFiles: SharedFiles | undefined;
  readonly #times: BeatTimes;
  /** The claim of a process that does not work, until its questions to the service have ended. */
  #asking: { readonly claim: Promise<QueueClaim>; users: number } | undefined;
  /** The end of the last such claim. */
  #ending: Promise<void> | undefined;
  #isWorking = false;
  readonly #closers: (() => Promise<void>)[] = [];
  #queue: Promise<RunQueue> | undefined;
  /** Aborts when the workers of this process begin to stop. */
  readonly #stopping = new AbortController();
  /** Whether the workers of this process stopped without Redis. */
  #isGivenUp = false;
  #meter: RequestMeter | undefined;
  readonly #services = new Map<ServiceKind, Promise<ServiceClient>>();

  constructor(config: Config, options: AppOptions) {
    const { beat = beatTimes, isAttended = true, report = () => {}, ...warehouseOptions } = options;
    this.config = config;
    this.another = () => new ComposedApp(config, options);
    this.isAttended = isAttended;
    this.report = report;
    this.#times = beat;
    const { url, ...settings } = config.warehouse;
    const service = config.service.url === undefined ? undefined : serviceIdentityOf(config);
    const opening = { ...settings, ...warehouseOptions, service, now, secrets: knownSecrets };
    this.warehouse = withSteps('warehouse', createWarehouse(url, opening));
    this.ledger = withSteps('ledger', this.warehouse.ledger);
    this.#closers.push(() => this.warehouse.close());
    this.queueWay = createQueueWay(config, { warehouse: this.warehouse, ledger: this.ledger });
    this.sharedFiles = sharedFilesOf(config, this.ledger);
    this.#closers.push(async () => this.sharedFiles?.close());
    this.pipeFiles = createPipeFiles(this.sharedFiles);
    this.jobs = createJobs(jobSettings(config), this.pipeFiles);
  }

  async queue(kind: 'prompt' | 'lasting'): Promise<RunQueue> {
    const known = this.#queue;
    // A process that goes on after an outage connects again; one that gave Redis up ends.
    if (!this.#isGivenUp && (await known)?.isEnded === true && this.#queue === known) this.#queue = undefined;
    this.#queue ??= this.#openQueue(kind).catch((error: unknown) => {
      // The next call tries again.
      this.#queue = undefined;
      throw error;
    });
    return this.#queue;
  }

  async #openQueue(kind: 'prompt' | 'lasting'): Promise<RunQueue> {
    const opened = withSteps('queue', await this.queueWay.open(kind));
    this.#closers.push(() => opened.close());
    return opened;
  }

  async withService<T>(log: Logger, ask: AskService<T>, { patienceMs } = { patienceMs: askPatienceMs }): Promise<T> {
    const { queueWay, warehouse } = this;
    const isLimitedElsewhere = queueWay.kind === 'redis' || this.#isWorking || !(await warehouse.isStored());
    if (isLimitedElsewhere) return ask(await this.#service('prompt', log), 'this');
    const onSilent = (): void =>
      this.report(
        `the process that works ${warehouse.location} does not answer: waiting for it, at most ${roughDurationText(patienceMs)}`,
      );
    for (let tries = 1; ; tries += 1) {
      const worker = await queueWay.otherWorker({ patienceMs, onSilent });
      try {
        if (worker === undefined) return await this.#askAlone(log, ask);
        return await ask(await openRelayed(this, log, worker), 'worker');
      } catch (error) {
        // Whoever works now is asked again: what was read so far changed nothing.
        const hasEnded = worker?.closed.aborted === true && !(error instanceof AbortedError);
        const isOther = hasEnded || (worker === undefined && isTakenByOther(error));
        if (!isOther || tries === mostAskedWorkers) throw error;
      }
    }
  }

  /** Questions of a server may come side by side. */
  async #askAlone<T>(log: Logger, ask: AskService<T>): Promise<T> {
    // A claim that ends would take the next one of this process with it.
    await this.#ending;
    const claimed = (this.#asking ??= { claim: this.claimQueue(log), users: 0 });
    claimed.users += 1;
    try {
      const { signal } = await claimed.claim;
      return await untilLost(ask(await this.#service('prompt', log), 'this'), signal);
    } finally {
      claimed.users -= 1;
      if (claimed.users === 0) {
        this.#asking = undefined;
        this.#ending = endAsking(claimed.claim);
        await this.#ending;
      }
    }
  }

  /**
   * Returns the same client at every call of a kind. A prompt one ends with ServiceHoldError where the service asked all to
   * wait, as does one for the requests of other commands; a lasting one waits. The first call decides who hears of the
   * outages of the service.
   */
  async #service(kind: ServiceKind, log: Logger, outages?: OutageRecord): Promise<ServiceClient> {
    const known = this.#services.get(kind);
    if (known !== undefined) return known;
    this.#meter ??= new RequestMeter(async () => (await this.queue(kind === 'lasting' ? kind : 'prompt')).metrics);
    const onSent = this.#meter.record.bind(this.#meter);
    const how = { kind, log, stopping: this.#stopping.signal, onSent, outages };
    const opened = openService(this, how, (close) => this.#closers.push(close));
    this.#services.set(kind, opened);
    return opened;
  }

  async checkService(): Promise<void> {
    await this.ledger.ownership.checkService(serviceIdentityOf(this.config));
  }

  async claimQueue(log: Logger): Promise<QueueClaim> {
    await this.checkService();
    const { queueWay } = this;
    let checked = '';
    const check = async (service: ServiceIdentity): Promise<void> => {
      if (checked !== JSON.stringify(service)) await this.ledger.ownership.checkService(service);
      checked = JSON.stringify(service);
    };
    const answer: AnswerRelayed = async (...given) => {
      const { answeringRelayed } = await import('../service/relay.ts');
      const { sender } = await this.#service('relayed', log);
      return answeringRelayed(sender, check)(...given);
    };
    const entered = await queueWay.enter(answer);
    const end = async (): Promise<void> => {
      this.#isWorking = false;
      await entered.end();
    };
    try {
      const isGone = (queueId: string): Promise<boolean> => queueWay.isGone(queueId);
      const work = { ...entered, end };
      const claim = await claimQueue({ ...(await this.#claimContext('lasting')), log, isGone, work });
      try {
        const unreached = await entered.begin();
        if (unreached !== undefined)
          log.warn({ because: faultOf(unreached).message }, 'other commands wait for this one');
        return claim;
      } catch (error) {
        await claim[Symbol.asyncDispose]();
        throw error;
      }
    } catch (error) {
      await end();
      throw error;
    }
  }

  async checkQueue(): Promise<void> {
    if (await this.warehouse.isStored()) await checkQueue(await this.#claimContext('prompt'));
  }

  async runService(): Promise<RunService> {
    const serviceKey = (): string => serviceIdentityOf(this.config).key;
    const { warehouse, jobs } = this;
    return new RunService({ ...(await this.#claimContext('prompt')), warehouse, jobs, serviceKey, now, version });
  }

  async #claimContext(kind: 'prompt' | 'lasting') {
    const { location } = this.warehouse;
    const { kind: queueKind } = this.queueWay;
    return { ledger: this.ledger, queue: await this.queue(kind), location, times: this.#times, kind: queueKind };
  }

  async startWorkers({
    queues,
    log,
    outages,
    onRunEnded = async () => {},
    ticks,
  }: WorkingHow): Promise<RunningWorkers> {
    const { warehouse, ledger, jobs, config } = this;
    const [service, queue] = [await this.#service('lasting', log, outages), await this.queue('lasting')];
    const context = { service, warehouse, ledger, queue, jobs, now, log, outages, version };
    const { attempts: maxAttempts, baseDelayMs, maxDelayMs, maxHoldMs } = config.queue;
    const retry = { maxAttempts, baseDelayMs, maxDelayMs, maxHoldMs };
    const { Coordinator, coordinatorDefaults } = await import('../runs/coordinator.ts');
    const { ChunkWorker } = await import('../runs/chunk-worker.ts');
    const coordinator = new Coordinator(context, { ...coordinatorDefaults, maxHoldMs });
    const chunkWorker = new ChunkWorker({ ...context, retry, random: Math.random });
    const workers = await this.queueWay.startWorkers({
      settings: { queues, graceMs: config.worker.graceMs, chunkConcurrency: chunkConcurrencyOf(config), retry },
      handlers: withSteps('worker', {
        coordinate: async (runId, signal) => {
          const step = await coordinator.coordinate(runId, signal);
          // Before the item ends: a process that dies in between leaves it to the next one.
          if (step.kind === 'finished') await onRunEnded(runId);
          return step;
        },
        work: (item, attempt, signal) => chunkWorker.work(item, attempt, signal),
        ...(ticks && { ticks }),
      } satisfies QueueHandlers),
      log,
      outages,
      onGivenUp: () => {
        this.#isGivenUp = true;
        void queue.giveUp();
      },
    });
    this.#isWorking = true;
    const stop = (graceMs?: number): Promise<void> => {
      this.#stopping.abort();
      return workers.stop(graceMs);
    };
    return { stop };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // While its queue is open.
    await this.#meter?.close();
    // A part that fails to close must neither hide an earlier error nor keep others open.
    for (const close of this.#closers.toReversed()) await Promise.allSettled([close()]);
  }
}
