/** How a server stands to the workers of its warehouse (docs/design.md section 11). */
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import { AbortedError, outagePartOf, TakenOverError, WarehouseGoneError } from '../core/base/errors.ts';
import { chunkQueues } from '../core/run/job-description.ts';
import { openRawQueues, type RawQueues } from '../queue/redis/queue-names.ts';
import { WorkedElsewhereError } from '../runs/queue-claim.ts';
import { abortOf } from '../timers/sleep.ts';
import { type App, type AppOptions, createApp } from './app.ts';
import { workHere } from './runs/worker-host.ts';
import { queueAddressOf } from './service/service-settings.ts';
import { directReader, type LedgerReader, RationedReader } from './warehouse/last-known.ts';

export interface Serving {
  /** Whether the server works the queues itself. */
  readonly works: boolean;
  /** Whether a worker of another process has the file of the warehouse most of the time. */
  readonly isBesideWorker: boolean;
  /** Whether the server works whenever no other process does: the queue is embedded in one. */
  readonly standsBy: boolean;
}

/**
 * A DuckDB file is one process's at a time, and so is an embedded queue: the server works the queues in its own process,
 * unless a worker does it already or `mayWork` is false. Other warehouses have their workers elsewhere. Throws UnreachableError('redis').
 */
export async function servingOf(app: App, { mayWork }: { readonly mayWork: boolean }): Promise<Serving> {
  const isFile = app.config.warehouse.url.startsWith('duckdb:');
  // Whether it works is decided by its claim, whenever nobody else works.
  if (app.queueWay.kind === 'embedded') return { works: false, isBesideWorker: isFile, standsBy: mayWork };
  if (!isFile) return { works: false, isBesideWorker: false, standsBy: false };
  const listeners = mayWork ? await (await app.queue('prompt')).workers() : [];
  const works = mayWork && listeners.every(({ workers }) => workers === 0);
  return { works, isBesideWorker: !works, standsBy: false };
}

/** How soon a process that cannot be reached is looked for again. */
const retryClaimMs = 10_000;

/**
 * Works the queues whenever no other process does, until the signal aborts. `onWorking` is called with whether this one does, at
 * once and when it changes. A warehouse that is away is waited for. Throws other faults of {@link workHere}.
 */
export async function standBy(
  { app, log }: { readonly app: App; readonly log: Logger },
  signal: AbortSignal,
  onWorking: (works: boolean) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      // One that has lost the warehouse works no more.
      await using own = app.another();
      const work = { app: own, queues: chunkQueues, log, isStanding: true, keepsFeed: true, stop: signal };
      await workHere(work, async (lost) => {
        log.info('this server works the queues: nobody else does');
        onWorking(true);
        await abortOf(AbortSignal.any([signal, lost]));
      });
    } catch (error) {
      onWorking(false);
      if (signal.aborted && error instanceof AbortedError) return;
      await untilFree(app, signal, error);
    }
  }
}

/** Waits until it may be worth to try again. Rethrows a fault that stays. */
async function untilFree(app: App, signal: AbortSignal, error: unknown): Promise<void> {
  const isOther = error instanceof WorkedElsewhereError || error instanceof TakenOverError;
  const mayPass = outagePartOf(error) !== undefined && !(error instanceof WarehouseGoneError);
  if (!isOther && !mayPass) throw error;
  const other = isOther ? await app.queueWay.otherWorker().catch(() => undefined) : undefined;
  const late = AbortSignal.timeout(retryClaimMs);
  await abortOf(AbortSignal.any([signal, other?.closed ?? late]));
}

/** A client waits no longer than this for a warehouse that another process holds, or that is down. */
const mostWaitMs = 5_000;

/** For the requests of a server: they fail soon where a part is away, and say which. */
export function createServingApp(config: Config, options: Omit<AppOptions, 'lockWaitMs'> = {}): App {
  return createApp(config, {
    ...options,
    lockWaitMs: Math.min(config.warehouse.lockWaitMs, mostWaitMs),
  });
}

/** `works`: whether the server works the queues itself at this moment. */
export function readerFor({ isBesideWorker }: Serving, works: () => boolean): LedgerReader {
  const [direct, rationed] = [directReader(), new RationedReader()];
  return { read: (key, read) => (isBesideWorker && !works() ? rationed : direct).read(key, read) };
}

// The queues of the configured service, as a view of their raw items takes them.

/** Throws UsageError without a service, and UnreachableError('redis'). */
export async function rawQueuesOf(config: Config): Promise<RawQueues> {
  return openRawQueues(queueAddressOf(config));
}
