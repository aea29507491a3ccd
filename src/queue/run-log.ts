/**
 * The last lines of the log about each run, from whatever process wrote them, for displays (docs/design.md section 11).
 * They may be lost: the log of each process is the whole one.
 *
 *   PREFIX:run:ID:log   list of JSON lines, the latest last
 */
import type { RunLogStore } from './port.ts';
import type { RedisHandle } from './redis/options.ts';

const mostLines = 200;
const keepSeconds = 7 * 24 * 3_600;

export function createRunLogStore(redis: RedisHandle, prefix: string): RunLogStore {
  const keyOf = (runId: string): string => `${prefix}:run:${runId}:log`;
  return {
    async append(runId, lines) {
      if (lines.length === 0) return;
      const key = keyOf(runId);
      await redis.rpush(key, ...lines);
      await redis.ltrim(key, -mostLines, -1);
      await redis.expire(key, keepSeconds);
    },
    read: (runId) => redis.lrange(keyOf(runId), 0, -1),
  };
}
