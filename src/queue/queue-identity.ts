/**
 * The identity of a queue in Redis (G11, docs/design.md section 5): a random id. An address cannot serve as one, since two
 * addresses may lead to one Redis, and one address to another Redis than yesterday.
 *
 *   PREFIX:queue-id:HASH         the id; never expires, lost with the data of Redis
 *   PREFIX:queue-warehouse:HASH  the warehouse of the living workers; expires by itself
 */
import type { QueueIdentity, QueueIdentityStore } from './port.ts';
import { serviceHash, type QueueAddress } from './queue-names.ts';
import { connectRedis, type RedisHandle } from './redis/connection.ts';
import { keyPrefix } from './redis/settings.ts';

/** KEYS: id, warehouse. ARGV: id, warehouse, ms. */
const keepScript = `
redis.call('SET', KEYS[1], ARGV[1], 'NX')
local bound = redis.call('GET', KEYS[2])
if not bound or bound == ARGV[2] then redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3]) end
return { redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]) }`;

/** KEYS: warehouse. ARGV: warehouse. */
const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

export function createQueueIdentity(redis: RedisHandle, address: QueueAddress): QueueIdentityStore {
  const [prefix, hash] = [keyPrefix(address), serviceHash(address.service)];
  const keys = [`${prefix}:queue-id:${hash}`, `${prefix}:queue-warehouse:${hash}`] as const;
  return {
    read: async () => identityOf(await redis.mget(...keys)),
    keep: async (queueId, warehouseId, keepMs) =>
      identityOf((await redis.eval(keepScript, 2, ...keys, queueId, warehouseId, keepMs)) as (string | null)[]),
    release: async (warehouseId) => void (await redis.eval(releaseScript, 1, keys[1], warehouseId)),
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
