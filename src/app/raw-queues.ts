/** The queues of the configured service, as a view of their raw items takes them. */
import type { Config } from '../../config/schema.ts';
import { openRawQueues, type RawQueues } from '../queue/raw-queues.ts';
import { queueAddressOf } from './service-settings.ts';

/** Throws UsageError without a service, and UnreachableError('redis'). */
export async function rawQueuesOf(config: Config): Promise<RawQueues> {
  return openRawQueues(queueAddressOf(config));
}
