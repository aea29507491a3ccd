import type { Logger } from 'pino';
import { withSteps } from '../../core/base/failpoint.ts';
import type { OutageRecord } from '../../core/base/outage.ts';
import { holdText } from '../../core/run/service-hold.ts';
import type { ProductionDataService } from '../../service/production-data-service.ts';
import type { SentRequest } from '../../service/request-layer.ts';
import type { Config } from '../../../config/schema.ts';
import type { QueueWay } from '../queue-way.ts';
import { knownSecrets, serviceUrlOf, tlsOf, tokenOf } from './service-settings.ts';

/** How long a command waits for the end of a hold or an outage before it says so and ends. */
const promptWaitMs = 5_000;

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
    readonly kind: 'prompt' | 'lasting';
    readonly log: Logger;
    readonly stopping: AbortSignal;
    readonly onSent: (sent: SentRequest) => void;
    readonly outages: OutageRecord | undefined;
  },
  closeLater: (close: () => Promise<void>) => void,
): Promise<ProductionDataService> {
  const { concurrency, requestsPerSecond, timeoutMs, maxBodyBytes } = config.service;
  const { attempts: maxAttempts, ...pace } = config.service.retry;
  const { createProductionDataService } = await import('../../service/create-service.ts');
  const limiter = await queueWay.limiter({
    concurrency,
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
    maxHoldMs: config.queue.maxHoldMs,
    stopping,
    ...(outages === undefined ? {} : { outages }),
    ...(kind === 'prompt' ? { maxWaitMs: promptWaitMs } : {}),
    onHold: (hold) => log.warn({ until: new Date(hold.untilMs).toISOString() }, holdText(hold)),
  });
  closeLater(() => limiter.close());
  const service = createProductionDataService(
    {
      baseUrl: serviceUrlOf(config),
      token: tokenOf(config),
      tls: tlsOf(config),
      timeoutMs,
      concurrency,
      maxBodyBytes,
      retry: { maxAttempts, ...pace },
    },
    {
      limiter,
      secrets: knownSecrets,
      onSent,
      onRetry: ({ error, about, ...fields }, own = log) =>
        own.debug({ ...about, ...fields, because: error.message }, 'a request is tried again'),
      onUndeclaredStatus: warnOnce(log),
    },
  );
  closeLater(() => service.close());
  return withSteps('service', service);
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
