/**
 * Names of the queues and of the other keys of one service, and the identity of its queue. Each contains a hash of the service
 * key, so that no worker takes an item of another service (G11, docs/design.md section 5).
 */
import { createHash } from 'node:crypto';
import { type ChunkQueueName, chunkQueues } from '../../core/run/job-description.ts';
import { type Lane, type QueueIdentity, type QueueIdentityStore, runsQueueName, type ticksQueueName } from '../port.ts';
import { connectRedis, deleteIfEqual, impatientCopy, type RedisHandle, redisScript, runScript } from './clients.ts';
import { keyPrefix, type RedisLocation } from './settings.ts';
import { Queue } from 'bullmq';

/** Address of the queues of a service. */
export interface QueueAddress extends RedisLocation {
  /** Key of the service (src/core/base/service-key.ts). */
  readonly service: string;
}

/** 8 hexadecimal digits: Redis keys never contain an address or an id. */
function serviceHash(service: string): string {
  return createHash('sha256').update(service).digest('hex').slice(0, 8);
}

/** Beginning of the keys that hold the limits towards a service, for all workers together (G9). */
export function limitsKey(address: QueueAddress): string {
  return `${keyPrefix(address)}:service:${serviceHash(address.service)}`;
}

/** `export-3f9a1c27`, and `export-small-3f9a1c27`. */
export function laneName(queue: ChunkQueueName, lane: Lane, service: string): string {
  return lane === 'large' ? queueName(queue, service) : `${queue}-${lane}-${serviceHash(service)}`;
}

/** `export-3f9a1c27`. */
export function queueName(
  queue: ChunkQueueName | typeof runsQueueName | typeof ticksQueueName,
  service: string,
): string {
  return `${queue}-${serviceHash(service)}`;
}

// The identity of a queue in Redis (G11, docs/design.md section 5): a random id. An address cannot serve as one, since two
// addresses may lead to one Redis, and one address to another Redis than yesterday.
//
//   PREFIX:queue-id:HASH         the id; never expires, lost with the data of Redis
//   PREFIX:queue-warehouse:HASH  the warehouse of the living workers; expires by itself

/** KEYS: id, warehouse. ARGV: id, warehouse, ms. */
const keepScript = redisScript(`
redis.call('SET', KEYS[1], ARGV[1], 'NX')
local bound = redis.call('GET', KEYS[2])
if not bound or bound == ARGV[2] then redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) end
return { redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]) }`);

export function createQueueIdentity(redis: RedisHandle, address: QueueAddress): QueueIdentityStore {
  const [prefix, hash] = [keyPrefix(address), serviceHash(address.service)];
  const keys = [`${prefix}:queue-id:${hash}`, `${prefix}:queue-warehouse:${hash}`] as const;
  return {
    read: async () => identityOf(await redis.mget(...keys)),
    keep: async (queueId, warehouseId, keepMs) =>
      identityOf((await runScript(redis, keepScript, keys, [queueId, warehouseId, keepMs])) as (string | null)[]),
    release: async (warehouseId) => void (await runScript(redis, deleteIfEqual, [keys[1]], [warehouseId])),
  };
}

/** Reads the identity over a connection of its own. Throws UnreachableError('redis'). */
export async function readQueueIdentity(address: QueueAddress): Promise<QueueIdentity> {
  const redis = await connectRedis(address.redis, 'prompt');
  try {
    return await createQueueIdentity(redis, address).read();
  } finally {
    redis.disconnect();
  }
}

function identityOf([queueId, warehouseId]: readonly (string | null | undefined)[]): QueueIdentity {
  return { queueId: queueId ?? undefined, warehouseId: warehouseId ?? undefined };
}

// The queues themselves, for a view of their raw items.

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
