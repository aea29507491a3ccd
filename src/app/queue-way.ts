/**
 * Through what the warehouse is worked: a queue embedded in the working process, or Redis, as the configuration says. Nothing
 * falls back from one to the other. The libraries of either are loaded when it is used.
 */
import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import type { OutageRecord } from '../core/base/errors.ts';
import { beatTimes, type QueueKind } from '../core/run/warehouse-queue.ts';
import type { LimiterSettings, SharedLimiter } from '../queue/limiter.ts';
import type { EnteredWork } from '../queue/embedded/working.ts';
import type { QueueHandlers, QueueIdentity, RunningWorkers, RunQueue, WorkerSettings } from '../queue/port.ts';
import type { AnswerRelayed } from '../service/relay.ts';
import { canonicalPath } from '../warehouse/duckdb/file/canonical-path.ts';
import { databaseFileOf } from '../warehouse/create-warehouse.ts';
import type { Ledger, Warehouse } from '../warehouse/port/warehouse.ts';
import { queueAddressOf, redisLocationOf, serviceIdentityOf } from './service/service-settings.ts';

export interface StartedWorkersOptions {
  readonly settings: WorkerSettings;
  readonly handlers: QueueHandlers;
  readonly log: Logger;
  readonly outages: OutageRecord;
  /** Called when the work in flight cannot be handed back. */
  readonly onGivenUp: () => void;
}

export interface QueueWay {
  readonly kind: QueueKind;
  /** Throws UnreachableError('redis'). */
  open(kind: 'prompt' | 'lasting'): Promise<RunQueue>;
  startWorkers(options: StartedWorkersOptions): Promise<RunningWorkers>;
  limiter(settings: LimiterSettings): Promise<SharedLimiter>;
  /** The living workers' warehouse and queue, without the warehouse. Throws UnreachableError('redis'). */
  identity(): Promise<QueueIdentity>;
  /** Before a claim (src/runs/queue-claim.ts). `answer` sends the requests of other commands to the service. */
  enter(answer: AnswerRelayed): Promise<EnteredWork>;
  /** Whether the process of a queue that beats has certainly ended. */
  isGone(queueId: string): Promise<boolean>;
  /**
   * The process that works the warehouse without Redis; undefined where no other one can be reached. One that beats and does not
   * answer is waited for; `onSilent` is called then.
   */
  otherWorker(wait?: { readonly patienceMs: number; readonly onSilent: () => void }): Promise<OtherWorker | undefined>;
  /** `action` is called in the working process when another one has left runs in the ledger, or has changed the schedules. */
  onWoken(action: () => void): void;
}

export interface OtherWorker {
  /** Aborts when it has ended. */
  readonly closed: AbortSignal;
  /** Lets it send a request to the service. */
  sendRequest(request: unknown, signal: AbortSignal): Promise<unknown>;
}

export function createQueueWay(config: Config, stores: { readonly warehouse: Warehouse; readonly ledger: Ledger }) {
  return config.redis === undefined ? createEmbeddedWay(config, stores) : createRedisWay(config, stores);
}

function createRedisWay(
  config: Config,
  { warehouse, ledger }: { readonly warehouse: Warehouse; readonly ledger: Ledger },
): QueueWay {
  /** The service whose queues a command uses: that of the warehouse, if it has one. */
  const service = async (): Promise<string> => {
    const owner = (await warehouse.isStored()) ? (await ledger.ownership.read()).service : undefined;
    return owner ?? serviceIdentityOf(config).key;
  };
  return {
    kind: 'redis',
    open: async (kind) => {
      const { createRunQueue } = await import('../queue/redis/run-queue.ts');
      return createRunQueue({ ...redisLocationOf(config), service: await service() }, kind);
    },
    startWorkers: async (options) => {
      const { startWorkers } = await import('../queue/redis/workers.ts');
      return startWorkers({ address: queueAddressOf(config), ...options });
    },
    limiter: async (settings) => {
      const { createRedisLimiter } = await import('../queue/redis/limiter/redis-admission.ts');
      return createRedisLimiter({ ...queueAddressOf(config), ...settings });
    },
    identity: async () => {
      const { readQueueIdentity } = await import('../queue/redis/queue-names.ts');
      return readQueueIdentity(queueAddressOf(config));
    },
    enter: async () => ({
      begin: async () => undefined,
      beaten: () => undefined,
      prepareEnd: async () => undefined,
      end: async () => undefined,
    }),
    isGone: async () => false,
    otherWorker: async () => undefined,
    onWoken: () => undefined,
  };
}

function createEmbeddedWay(
  config: Config,
  { warehouse, ledger }: { readonly warehouse: Warehouse; readonly ledger: Ledger },
): QueueWay {
  let opened: ReturnType<typeof openQueue> | undefined;
  const openQueue = async () => {
    const file = databaseFileOf(config.warehouse.url);
    const { ProcessQueue } = await import('../queue/embedded/process-queue.ts');
    const { newProcessId } = await import('../queue/embedded/peers.ts');
    return new ProcessQueue({
      queueId: newProcessId(),
      beside: file === undefined ? path.join(config.dataDir, 'postgres') : canonicalPath(file),
      isOfServer: file === undefined,
      presence: ledger.presence,
      isBeating: async () =>
        (await warehouse.isStored()) && ((await ledger.ownership.beatAgeMs()) ?? Infinity) < beatTimes.staleAfterMs,
      owner: async () => ((await warehouse.isStored()) ? ledger.ownership.beatOf() : undefined),
      now: Date.now,
      store: {
        read: async (...what) => ((await warehouse.isStored()) ? ledger.queueState.read(...what) : []),
        write: (changes) => ledger.queueState.write(changes),
      },
    });
  };
  const queue = () => (opened ??= openQueue());
  return {
    kind: 'embedded',
    open: queue,
    startWorkers: async (options) => {
      const { startEmbeddedWorkers } = await import('../queue/embedded/workers.ts');
      return startEmbeddedWorkers({ queue: (await queue()).local, now: Date.now, ...options });
    },
    limiter: async (settings) => {
      const { SharedLimiter: Limiter } = await import('../queue/limiter.ts');
      return new Limiter(await (await queue()).admission(), settings);
    },
    identity: async () => (await queue()).workingIdentity(),
    enter: async (answer) => (await queue()).working.enter(answer),
    isGone: async (queueId) => (await queue()).peers.isGone(queueId),
    otherWorker: async (wait) => {
      const { working, peers } = await queue();
      return working.isWorking ? undefined : peers.find(wait);
    },
    onWoken: (action) => void queue().then(({ working }) => working.onWoken(action)),
  };
}
