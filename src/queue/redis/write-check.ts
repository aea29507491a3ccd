/** A write to Redis as the scripts of the queue write. */
import type { RedisHandle } from './options.ts';

/** KEYS: two of the installation. ARGV: ms. Two keys, so that a cluster refuses what it would refuse of the real scripts. */
const script = `
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return redis.call('EXISTS', KEYS[2])`;

const keptMs = 1_000;

/** `prefix`: what the keys of the installation begin with. Throws the fault of Redis. */
export async function tryWrite(redis: RedisHandle, prefix: string): Promise<void> {
  await redis.eval(script, 2, `${prefix}:write-check`, `${prefix}:write-check-2`, keptMs);
}
