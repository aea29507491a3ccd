import { shownService } from '../../core/base/service-key.ts';
import { shownAddress } from '../../queue/redis/settings.ts';
import type { App } from '../app.ts';
import { serviceIdentityOf } from '../service-settings.ts';

/** The source of a worker's work, and the destination of the data. Addresses are without secrets (G10). */
export interface WorkerReport {
  readonly queues: readonly string[];
  readonly redis: string;
  readonly prefix: string;
  readonly service: string;
  readonly warehouse: string;
  /** Address of the health port; null without one. */
  readonly health: string | null;
}

/** Throws UsageError if no address of the service is configured. */
export function workerReport(
  { config, warehouse }: App,
  queues: readonly string[],
  health: string | undefined,
): WorkerReport {
  return {
    queues,
    redis: shownAddress(config.redis),
    prefix: config.queue.prefix,
    service: shownService(serviceIdentityOf(config)),
    warehouse: warehouse.location,
    health: health ?? null,
  };
}
