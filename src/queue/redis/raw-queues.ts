/** The queues themselves, for a view of their raw items. */
import { Queue } from 'bullmq';
import { chunkQueues } from '../../core/run/job-description.ts';
import { runsQueueName } from '../port.ts';
import { connectRedis, impatientCopy } from './clients.ts';
import { type QueueAddress, queueName } from './queue-names.ts';
import { keyPrefix } from './settings.ts';

/** A view that waits for Redis says so within this time. */
const commandTimeoutMs = 5_000;

export interface RawQueues {
  readonly queues: readonly Queue[];
  close(): Promise<void>;
}

/** Reconnects by itself; a call fails while there is no connection. Throws UnreachableError('redis'). */
export async function openRawQueues(address: QueueAddress): Promise<RawQueues> {
  const first = await connectRedis(address.redis, 'lasting');
  const connection = impatientCopy(first, commandTimeoutMs);
  first.disconnect();
  connection.on('error', () => undefined);
  const queues = ([runsQueueName, ...chunkQueues] as const).map((name) => {
    const queue = new Queue(queueName(name, address.service), { connection, prefix: keyPrefix(address) });
    // A fault of the connection reaches the caller through its failed call.
    queue.on('error', () => undefined);
    return queue;
  });
  return {
    queues,
    async close() {
      await Promise.all(queues.map((queue) => queue.close().catch(() => undefined)));
      connection.disconnect();
    },
  };
}
