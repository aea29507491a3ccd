/** Limiters towards one service, each as in a process of its own, and the Redis that they share. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Redis } from 'ioredis';
import { createLimiter, type LimiterSettings, type SharedLimiter } from '../../src/queue/redis/limiter/limiter.ts';
import type { QueueAddress } from '../../src/queue/redis/queue-names.ts';
import { sharedRedisUrl } from './redis.ts';

export const never = new AbortController().signal;
setMaxListeners(0, never);

export type TestLimits = Partial<LimiterSettings> & { readonly concurrency: number };

export interface LimiterScene extends AsyncDisposable {
  readonly address: QueueAddress;
  readonly prefix: string;
  readonly redis: Redis;
  /** The clock of the limits: two reads around a wait are never closer together than the wait. */
  nowMs(): Promise<number>;
  /** So many limiters of one service. */
  limiters(count: number, limits: TestLimits): Promise<readonly SharedLimiter[]>;
}

/** In a queue prefix of its own. */
export async function limiterScene(url = sharedRedisUrl()): Promise<LimiterScene> {
  const prefix = `test-${randomUUID()}`;
  const redis = new Redis(url);
  const address = { redis: { url }, prefix, service: 'http://pds' };
  const open: SharedLimiter[] = [];
  return {
    address,
    prefix,
    redis,
    nowMs: async () => {
      const [seconds, microseconds] = await redis.time();
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    },
    limiters: async (count, limits) => {
      const settings = { ...address, leaseMs: 5_000, maxHoldMs: 60_000, ...limits };
      const made = await Promise.all(Array.from({ length: count }, () => createLimiter(settings)));
      open.push(...made);
      return made;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((each) => each.close()));
      redis.disconnect();
    },
  };
}
