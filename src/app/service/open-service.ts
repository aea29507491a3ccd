import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../../../config/schema.ts';
import { AbortedError, type OutageRecord, UnreachableError } from '../../core/base/errors.ts';
import { withSteps } from '../../core/base/failpoint.ts';
import { Totals } from '../../core/run/metrics.ts';
import { holdText } from '../../core/run/service-hold.ts';
import type { MetricStore } from '../../queue/port.ts';
import type { Sender } from '../../service/create-service.ts';
import type { ProductionDataService } from '../../service/production-data-service.ts';
import type { AskWorker } from '../../service/relay.ts';
import type { SentRequest, ServiceDependencies } from '../../service/request-layer.ts';
import { sleep } from '../../timers/sleep.ts';
import type { OtherWorker, QueueWay } from '../queue-way.ts';
import { knownSecrets, serviceIdentityOf, serviceUrlOf, tlsOf, tokenOf } from './service-settings.ts';

/** How long a command waits for the end of a hold or an outage before it says so and ends. */
const promptWaitMs = 5_000;

/**
 * `lasting`: of work, which waits for the service. The others say soon that it is down, or asked all to wait: `prompt` of what
 * is no run, `relayed` of the requests that other commands hand over.
 */
export type ServiceKind = 'prompt' | 'lasting' | 'relayed';

export type ServiceClient = ProductionDataService & { readonly sender: Sender };

/** The longest body of a relayed answer, by that of others: each has the memory of its own beside the work's (G8). */
const relayedShare = 1 / 4;

/** Opens the client with its share of the limits that hold across all workers (G9). */
export async function openService(
  { config, queueWay }: { readonly config: Config; readonly queueWay: QueueWay },
  {
    kind,
    log,
    stopping,
    onSent,
    outages,
  }: {
    readonly kind: ServiceKind;
    readonly log: Logger;
    readonly stopping: AbortSignal;
    readonly onSent: (sent: SentRequest) => void;
    readonly outages: OutageRecord | undefined;
  },
  closeLater: (close: () => Promise<void>) => void,
): Promise<ServiceClient> {
  const { concurrency, requestsPerSecond, timeoutMs, maxBodyBytes } = config.service;
  const { attempts: maxAttempts, ...pace } = config.service.retry;
  const { createProductionDataService } = await import('../../service/create-service.ts');
  const limiter = await queueWay.limiter({
    concurrency,
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
    maxHoldMs: config.queue.maxHoldMs,
    stopping,
    ...(outages === undefined ? {} : { outages }),
    ...(kind === 'lasting' ? {} : { maxWaitMs: promptWaitMs }),
    onHold: (hold) => log.warn({ until: new Date(hold.untilMs).toISOString() }, holdText(hold)),
  });
  closeLater(() => limiter.close());
  const { sender, ...service } = createProductionDataService(
    {
      baseUrl: serviceUrlOf(config),
      token: tokenOf(config),
      tls: tlsOf(config),
      timeoutMs,
      concurrency,
      maxBodyBytes: kind === 'relayed' ? Math.ceil(maxBodyBytes * relayedShare) : maxBodyBytes,
      retry: { maxAttempts, ...pace },
    },
    {
      limiter,
      secrets: knownSecrets,
      onSent,
      ...remarksTo(log),
    },
  );
  closeLater(() => service.close());
  return { ...withSteps('service', service), sender };
}

/** The service through the process that works the warehouse, which has the limits and the token. */
export async function openRelayed(
  { config }: { readonly config: Config },
  log: Logger,
  worker: OtherWorker,
): Promise<ProductionDataService> {
  const { createRelayedService } = await import('../../service/relay.ts');
  const { attempts: maxAttempts, ...pace } = config.service.retry;
  const identity = serviceIdentityOf(config);
  const settings = { identity, baseUrl: serviceUrlOf(config), retry: { maxAttempts, ...pace } };
  const ask: AskWorker = async (request, signal) => {
    try {
      return await worker.sendRequest(request, signal);
    } catch (error) {
      // No fault of the request, which would be sent again.
      if (!worker.closed.aborted || error instanceof AbortedError) throw error;
      throw new UnreachableError('warehouse', 'the process that worked the warehouse has ended', { cause: error });
    }
  };
  return createRelayedService(settings, ask, { secrets: knownSecrets, ...remarksTo(log) });
}

function remarksTo(log: Logger): Pick<ServiceDependencies, 'onRetry' | 'onUndeclaredStatus'> {
  return {
    onRetry: ({ error, about, ...fields }, own = log) =>
      own.debug({ ...about, ...fields, because: error.message }, 'a request is tried again'),
    onUndeclaredStatus: warnOnce(log),
  };
}

/** A service may end every well's pages with a 204: one line for each status and method is enough. */
function warnOnce(log: Logger): (request: string, status: number, own: Logger | undefined) => void {
  const logged = new Set<string>();
  return (request, status, own = log) => {
    const kind = `${request.split(' ')[0]} ${status}`;
    if (logged.has(kind)) return;
    logged.add(kind);
    own.warn({ request, status }, `an answer with status ${status} was taken, where only 200 is declared`);
  };
}

const reportEveryMs = 5_000;

/** How long the end of a process waits for Redis. */
const lastReportMs = 1_000;

/** Counts the requests of this process, and reports the totals to the metrics of all (docs/design.md section 11). */
export class RequestMeter {
  readonly #openStore: () => Promise<MetricStore>;
  readonly #source = `process:${randomUUID()}`;
  readonly #totals = new Totals();
  readonly #closing = new AbortController();
  #reporting: Promise<void> | undefined;

  /** `openStore` is called for the first request. */
  constructor(openStore: () => Promise<MetricStore>) {
    this.#openStore = openStore;
  }

  record({ endpoint, outcome, elapsedMs }: SentRequest): void {
    this.#totals.add('wellsync_requests_total', { endpoint, outcome });
    this.#totals.observe('wellsync_request_seconds', { endpoint }, elapsedMs / 1000);
    this.#reporting ??= this.#keepReporting();
  }

  /** Reports what is left, where Redis answers soon. A process that is killed loses its last few seconds. */
  async close(): Promise<void> {
    this.#closing.abort();
    const last = this.#reporting?.then(async () => this.#report());
    await Promise.race([last, sleep(lastReportMs, { ref: false })]);
  }

  async #keepReporting(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await sleep(reportEveryMs, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.#report();
    }
  }

  /** Metrics never fail work: what cannot be reported goes with the next report. */
  async #report(): Promise<void> {
    const changed = this.#totals.takeChanged();
    try {
      await (await this.#openStore()).raise(this.#source, changed);
    } catch {
      this.#totals.giveBack(changed.keys());
    }
  }
}
