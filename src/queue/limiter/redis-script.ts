/** A Lua script, sent to Redis by its digest: the text travels only to a Redis that does not know it yet. */
import { createHash } from 'node:crypto';
import type { RedisHandle } from '../redis/options.ts';

export interface RedisScript {
  readonly text: string;
  readonly digest: string;
}

export function redisScript(text: string): RedisScript {
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}

/**
 * Sends the text at once: commands that are sent behind it on the connection see what it did, also where Redis does not know
 * it yet. For what is rare.
 */
export async function evalScript(
  redis: RedisHandle,
  { text }: RedisScript,
  keys: readonly string[],
  values: ReadonlyArray<string | number>,
): Promise<unknown> {
  return redis.eval(text, keys.length, ...keys, ...values);
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
