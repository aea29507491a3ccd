/** How a server stands to the workers of its warehouse (docs/design.md section 11). */
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import { TakenOverError } from '../core/base/errors.ts';
import { chunkQueues } from '../core/run/job-description.ts';
import { openRawQueues, type RawQueues } from '../queue/redis/raw-queues.ts';
import { WorkedElsewhereError } from '../runs/queue-claim.ts';
import { abortOf, sleep } from '../timers/sleep.ts';
import { type App, type AppOptions, createApp } from './app.ts';
import { workHere } from './runs/worker-host.ts';
import { queueAddressOf } from './service/service-settings.ts';
import { directReader, type LedgerReader, RationedReader } from './warehouse/ledger-reader.ts';

export interface Serving {
  /** Whether the server works the queues itself. */
  readonly works: boolean;
  /** Whether a worker of another process has the file of the warehouse most of the time. */
  readonly isBesideWorker: boolean;
  /** Whether the server takes the work over once no other process works: the queue is embedded in one. */
  readonly standsBy: boolean;
}

/**
 * A DuckDB file is one process's at a time, and so is an embedded queue: the server works the queues in its own process,
 * unless a worker does it already or `mayWork` is false. Other warehouses have their workers elsewhere. Throws UnreachableError('redis').
 */
export async function servingOf(app: App, { mayWork }: { readonly mayWork: boolean }): Promise<Serving> {
  const isOfOneProcess = app.queueWay.kind === 'embedded' || app.config.warehouse.url.startsWith('duckdb:');
  if (!isOfOneProcess) return { works: false, isBesideWorker: false, standsBy: false };
  const listeners = mayWork ? await (await app.queue('prompt')).workers() : [];
  const works = mayWork && listeners.every(({ workers }) => workers === 0);
  const isBesideWorker = !works && app.config.warehouse.url.startsWith('duckdb:');
  return { works, isBesideWorker, standsBy: mayWork && app.queueWay.kind === 'embedded' };
}

/** How soon a process that cannot be reached is looked for again. */
const retryClaimMs = 10_000;

/**
 * Works the queues whenever no other process does, until the signal aborts. `onWorking` is called with whether this one does.
 * Throws what {@link workHere} throws, but for work that another process has.
 */
export async function standBy(
  work: { readonly app: App; readonly log: Logger },
  signal: AbortSignal,
  onWorking: (works: boolean) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await workHere({ ...work, queues: chunkQueues, isStanding: true, keepsFeed: true }, async (lost) => {
        work.log.info('nobody else works the warehouse any more: this server works its queues');
        onWorking(true);
        await abortOf(AbortSignal.any([signal, lost]));
      });
    } catch (error) {
      if (!(error instanceof WorkedElsewhereError || error instanceof TakenOverError)) throw error;
      const other = await work.app.queueWay.otherWorker();
      const late = sleep(retryClaimMs, { signal, ref: false }).catch(() => undefined);
      await (other === undefined ? late : abortOf(AbortSignal.any([signal, other.closed])));
    } finally {
      onWorking(false);
    }
  }
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
