/**
 * Lua that runs in Redis. ioredis sends the text once on each connection, and the digest from then on: commands that are sent
 * behind a script see what it did.
 * And the clock of Redis, for scripts: times that hosts compare through Redis use it, so that their own clocks need not
 * agree (docs/design.md section 5).
 */
import { createHash } from 'node:crypto';
import type { RedisHandle } from './clients.ts';

export interface RedisScript {
  readonly text: string;
  /** Of the command that ioredis makes of it. */
  readonly name: string;
}

/** Lua: `now`, milliseconds since 1970. */
export const redisNow = `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)`;

export function redisScript(text: string): RedisScript {
  return { text, name: `script-${createHash('sha1').update(text).digest('hex')}` };
}

type Values = ReadonlyArray<string | number>;
type Commands = Readonly<Record<string, (...values: Values) => Promise<unknown>>>;

export async function runScript(
  redis: RedisHandle,
  { text, name }: RedisScript,
  keys: readonly string[],
  values: Values = [],
): Promise<unknown> {
  if (!(name in redis)) redis.defineCommand(name, { lua: text });
  const command = (redis as unknown as Commands)[name];
  if (command === undefined) throw new Error(`ioredis made no command of the script ${name}`);
  return command.call(redis, keys.length, ...keys, ...values);
}

/** KEYS: key. ARGV: value. Deletes a key that has the value. */
export const deleteIfEqual = redisScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`);
