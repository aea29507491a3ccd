/** A Lua script, sent to Redis by its digest: the text travels only to a Redis that does not know it yet. */
import { createHash } from 'node:crypto';
import type { RedisHandle } from '../redis/connection.ts';

export interface RedisScript {
  readonly text: string;
  readonly digest: string;
}

export function redisScript(text: string): RedisScript {
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}

export async function runScript(
  redis: RedisHandle,
  script: RedisScript,
  keys: readonly string[],
  values: ReadonlyArray<string | number>,
): Promise<unknown> {
  try {
    return await redis.evalsha(script.digest, keys.length, ...keys, ...values);
  } catch (error) {
    const isUnknown = error instanceof Error && error.message.startsWith('NOSCRIPT');
    if (!isUnknown) throw error;
    return redis.eval(script.text, keys.length, ...keys, ...values);
  }
}
