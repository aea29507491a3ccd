/** How a server stands to the workers of its warehouse (docs/design.md section 11). */
import type { Config } from '../../config/schema.ts';
import { openRawQueues, type RawQueues } from '../queue/redis/raw-queues.ts';
import { type App, type AppOptions, createApp } from './app.ts';
import { queueAddressOf } from './service/service-settings.ts';
import { directReader, type LedgerReader, RationedReader } from './warehouse/ledger-reader.ts';

export interface Serving {
  /** Whether the server works the queues itself. */
  readonly works: boolean;
  /** Whether a worker of another process has the file of the warehouse most of the time. */
  readonly isBesideWorker: boolean;
}

/**
 * A DuckDB file is one process's at a time, and so is an embedded queue: the server works the queues in its own process,
 * unless a worker does it already or `mayWork` is false. Other warehouses have their workers elsewhere. Throws UnreachableError('redis').
 */
export async function servingOf(app: App, { mayWork }: { readonly mayWork: boolean }): Promise<Serving> {
  const isOfOneProcess = app.queueWay.kind === 'embedded' || app.config.warehouse.url.startsWith('duckdb:');
  if (!isOfOneProcess) return { works: false, isBesideWorker: false };
  const listeners = mayWork ? await (await app.queue('prompt')).workers() : [];
  const works = mayWork && listeners.every(({ workers }) => workers === 0);
  return { works, isBesideWorker: !works && app.config.warehouse.url.startsWith('duckdb:') };
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

export function readerFor({ isBesideWorker }: Serving): LedgerReader {
  return isBesideWorker ? new RationedReader() : directReader();
}

// The queues of the configured service, as a view of their raw items takes them.

/** Throws UsageError without a service, and UnreachableError('redis'). */
export async function rawQueuesOf(config: Config): Promise<RawQueues> {
  return openRawQueues(queueAddressOf(config));
}
