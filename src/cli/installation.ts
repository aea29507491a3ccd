/**
 * Composes the parts of wellsync from the configuration: warehouse, queue, jobs, desk and workers. Parts are opened when
 * they are first needed, and let go together. The service and its token are only there where work is done (G10).
 */
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import type { CleanupSettings } from '../../jobs/cleanup.ts';
import type { DailyProductionSettings } from '../../jobs/daily-production.ts';
import type { DefinitionSettings } from '../../jobs/definitions.ts';
import { createJobs } from '../../jobs/registry.ts';
import { UsageError } from '../core/errors.ts';
import { instantOfDay } from '../core/production-day.ts';
import { pipeFiles } from '../pipes/pipe-files.ts';
import { createAdmission } from '../queue/admission.ts';
import type { ChunkQueueName, RunningWorkers, RunQueue } from '../queue/port.ts';
import { createRunQueue } from '../queue/run-queue.ts';
import { startWorkers } from '../queue/workers.ts';
import { createChunkWorker } from '../runs/chunk-worker.ts';
import { createConductor } from '../runs/conductor.ts';
import type { AnyJob } from '../runs/job.ts';
import { createRunDesk, type RunDesk } from '../runs/run-desk.ts';
import { createProductionDataService } from '../service/create-service.ts';
import type { ProductionDataService } from '../service/production-data-service.ts';
import type { SecretSettings, TlsSettings, TokenSettings } from '../service/settings.ts';
import { createWarehouse } from '../warehouse/create-warehouse.ts';
import type { WellFields } from '../warehouse/definitions.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { resolveSelection } from './cleanup-selections.ts';
import type { Output } from './output.ts';

const now = Date.now;

export interface Installation extends AsyncDisposable {
  readonly config: Config;
  readonly jobs: readonly AnyJob[];
  readonly warehouse: Warehouse;
  /** The same queue at every call; the first one decides its kind. Throws UnreachableError('redis'). */
  queue(kind: 'prompt' | 'lasting'): Promise<RunQueue>;
  desk(): Promise<RunDesk>;
  /** The same client at every call, with its share of the limits that hold across all workers (G9). */
  service(log: Logger): Promise<ProductionDataService>;
  /** Works these queues in this process until stopped. The installation does not stop them by itself. */
  startWorkers(queues: readonly ChunkQueueName[], log: Logger): Promise<RunningWorkers>;
}

export interface InstallationOptions {
  readonly lockWaitMs?: number;
  readonly log?: Logger;
  /** Told when another program keeps the warehouse for long. */
  readonly onWait?: (words: string) => void;
}

/** For a command that only asks the warehouse. Throws UnreachableError where there is none, and makes none. */
export function openInstallation(config: Config, output: Output): Installation {
  const installation = installationFor(config, output);
  installation.warehouse.requireStored();
  return installation;
}

/** For a command, which says what it waits for. */
export function installationFor(config: Config, output: Output): Installation {
  return createInstallation(config, { onWait: (words) => output.say(words) });
}

export function createInstallation(config: Config, options: InstallationOptions = {}): Installation {
  const jobs = createJobs(
    {
      dailyProduction: dailyProductionSettings(config),
      definitions: definitionSettings(config),
      networkPipes: networkPipesSettings(config),
      cleanup: cleanupSettings(config),
    },
    pipeFiles,
  );
  const closers: (() => Promise<void>)[] = [];
  const warehouse = openWarehouse();
  let openedQueue: Promise<RunQueue> | undefined;
  let openedService: Promise<ProductionDataService> | undefined;

  function openWarehouse(): Warehouse {
    const { url, ...settings } = config.warehouse;
    const opened = createWarehouse(url, { ...settings, ...options, now });
    closers.push(() => opened.close());
    return opened;
  }

  async function openQueue(kind: 'prompt' | 'lasting'): Promise<RunQueue> {
    const opened = await createRunQueue({ url: config.redis.url, prefix: config.queue.prefix, kind });
    closers.push(() => opened.close());
    return opened;
  }

  const queue: Installation['queue'] = (kind) => (openedQueue ??= openQueue(kind));

  const service: Installation['service'] = (log) =>
    (openedService ??= openService(config, log, (close) => closers.push(close)));

  return {
    config,
    jobs,
    warehouse,
    queue,
    service,
    desk: async () => createRunDesk({ warehouse, queue: await queue('prompt'), jobs, now }),
    startWorkers: async (queues, log) => {
      const parts = {
        service: await service(log),
        warehouse,
        queue: await queue('lasting'),
        jobs,
        now,
        log,
      };
      const { attempts: maxAttempts, baseDelayMs, maxDelayMs, maxHoldMs } = config.queue;
      const retry = { maxAttempts, baseDelayMs, maxDelayMs, maxHoldMs };
      return startWorkers({
        url: config.redis.url,
        prefix: config.queue.prefix,
        settings: { queues, ...config.worker, retry },
        handlers: {
          conduct: createConductor(parts),
          work: createChunkWorker({ ...parts, retry, random: Math.random }),
        },
        log,
      });
    },
    async [Symbol.asyncDispose]() {
      // A part that cannot be closed is gone already, and must neither hide an earlier error nor keep others open.
      for (const close of closers.toReversed()) await Promise.allSettled([close()]);
    },
  };
}

/** The client with its share of the limits that hold across all workers (G9). */
async function openService(
  config: Config,
  log: Logger,
  closeLater: (close: () => Promise<void>) => void,
): Promise<ProductionDataService> {
  const { concurrency, requestsPerSecond, timeoutMs, maxBodyBytes } = config.service;
  const { attempts: maxAttempts, ...pace } = config.service.retry;
  const admission = await createAdmission({
    url: config.redis.url,
    prefix: config.queue.prefix,
    concurrency,
    ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
  });
  closeLater(() => admission.close());
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
      admission,
      onRetry: ({ error, ...facts }) => log.debug({ ...facts, because: error.message }, 'a request is tried again'),
      onUndeclaredStatus: (request, status) => log.warn({ request, status }, 'an undeclared status was taken'),
    },
  );
  closeLater(() => service.close());
  return service;
}

function tokenOf({ service: { token, tokenFile, oauth } }: Config): TokenSettings {
  if (oauth === undefined) return secretOf(token, tokenFile) ?? { kind: 'none' };
  // The schema wants one of the two.
  const { clientSecret, clientSecretFile = '', ...credentials } = oauth;
  return { kind: 'client-credentials', ...credentials, clientSecret: secretOf(clientSecret, clientSecretFile) };
}

/** How connections to the service are made safe, where the configuration says. */
export function tlsOf({ service: { tls } }: Config): TlsSettings | undefined {
  if (tls === undefined) return undefined;
  const { passphrase, passphraseFile, ...files } = tls;
  return { ...files, passphrase: secretOf(passphrase, passphraseFile) };
}

/** The schema lets no more than one of them be set. */
function secretOf(value: string | undefined, path: string): SecretSettings;
function secretOf(value: string | undefined, path: string | undefined): SecretSettings | undefined;
function secretOf(value: string | undefined, path: string | undefined): SecretSettings | undefined {
  if (value !== undefined) return { kind: 'value', value };
  return path === undefined ? undefined : { kind: 'file', path };
}

/** Throws UsageError where no address is set. */
export function serviceUrlOf(config: Config): string {
  if (config.service.url !== undefined) return config.service.url;
  throw new UsageError('the address of the service is not set', {
    hint:
      'Set WELLSYNC_SERVICE_URL, --service-url or service.url in the configuration. ' +
      'To try without one: wellsync testing-server',
  });
}

function definitionSettings(config: Config): DefinitionSettings {
  const { chunkWells: chunkTargets } = config.export;
  return { shrink: shrinkOf(config), chunkTargets, concurrency: config.service.concurrency };
}

function shrinkOf({ export: { shrink } }: Config) {
  return { maxShare: shrink.maxSharePercent / 100, maxRows: shrink.maxRows };
}

/** Without a field for the zone, no well has one. */
function wellFieldsOf({ wells: { timeZoneField, uwiField } }: Config): WellFields | undefined {
  return timeZoneField === undefined ? undefined : { timeZone: timeZoneField, uwi: uwiField };
}

export function dailyProductionSettings(config: Config): DailyProductionSettings {
  const { lookback, chunkWells, chunkRows, batchRows, rowsInMemory } = config.export;
  return {
    timeZone: config.timeZone,
    historyFromMs: historyFromMs(config),
    lookback,
    shrink: shrinkOf(config),
    wellFields: wellFieldsOf(config),
    chunkWells,
    chunkRows,
    batchRows,
    rowsInMemory,
    pageLimit: config.service.pageLimit,
    pageLimitGranted: config.service.pageLimitGranted,
    wellConcurrency: config.service.concurrency,
  };
}

function networkPipesSettings({ push: { chunkBytes, concurrency, checkpointMs } }: Config) {
  return { chunkBytes, concurrency, checkpointEveryMs: checkpointMs };
}

function cleanupSettings(config: Config): CleanupSettings {
  const { planMaxAgeHours, chunkTargets } = config.cleanup;
  return {
    planMaxAgeMs: planMaxAgeHours * 3_600_000,
    chunkTargets,
    concurrency: config.service.concurrency,
    resolveSelection: (name, warehouse) => resolveSelection(name, config, warehouse),
  };
}

/** The schema has checked the day already. */
export function historyFromMs(config: Config): number {
  return instantOfDay(config.export.historyFrom, config.timeZone) ?? 0;
}
