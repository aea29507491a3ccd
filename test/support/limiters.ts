/** Limiters towards one service, each as in a process of its own, in Redis and in the memory of one process. */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Redis } from 'ioredis';
import { ServiceLimits } from '../../src/queue/embedded/fair-shares.ts';
import { type LimiterSettings, SharedLimiter } from '../../src/queue/limiter.ts';
import type { ServiceHoldStore } from '../../src/queue/port.ts';
import { createRedisLimiter } from '../../src/queue/redis/limiter/redis-admission.ts';
import { createServiceHoldStore } from '../../src/queue/redis/limiter/hold-and-circuit.ts';
import type { QueueAddress } from '../../src/queue/redis/queue-names.ts';
import { sharedRedisUrl } from './redis.ts';

export const never = new AbortController().signal;
setMaxListeners(0, never);

export type TestLimits = Partial<LimiterSettings> & { readonly concurrency: number; readonly service?: string };

/** What both forms of the limiter have. */
export interface LimiterScene extends AsyncDisposable {
  /** The clock of the limits: two reads around a wait are never closer together than the wait. */
  nowMs(): Promise<number>;
  /** So many limiters of one service. */
  limiters(count: number, limits: TestLimits): Promise<readonly SharedLimiter[]>;
  readonly holds: ServiceHoldStore;
  /** As after a restart of Redis: no script is known. */
  loseScripts(): Promise<void>;
}

export interface RedisScene extends LimiterScene {
  readonly address: QueueAddress;
  readonly prefix: string;
  readonly redis: Redis;
}

const ofTests = { leaseMs: 5_000, maxHoldMs: 60_000 };

/** In a queue prefix of its own. */
export async function limiterScene(url = sharedRedisUrl()): Promise<RedisScene> {
  const prefix = `test-${randomUUID()}`;
  const redis = new Redis(url);
  const address = { redis: { url }, prefix, service: 'http://pds' };
  const open: SharedLimiter[] = [];
  return {
    address,
    prefix,
    redis,
    holds: createServiceHoldStore(redis, address),
    loseScripts: async () => void (await redis.script('FLUSH')),
    nowMs: async () => {
      const [seconds, microseconds] = await redis.time();
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    },
    limiters: async (count, limits) => {
      const settings = { ...address, ...ofTests, ...limits };
      const made = await Promise.all(Array.from({ length: count }, () => createRedisLimiter(settings)));
      open.push(...made);
      return made;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(open.map((each) => each.close()));
      redis.disconnect();
    },
  };
}

async function embeddedScene(): Promise<LimiterScene> {
  const services = new Map<string, ServiceLimits>();
  const of = (service = 'http://pds'): ServiceLimits => {
    const found = services.get(service) ?? new ServiceLimits(Date.now, () => undefined);
    services.set(service, found);
    return found;
  };
  const open: SharedLimiter[] = [];
  return {
    holds: of(),
    loseScripts: async () => undefined,
    nowMs: async () => Date.now(),
    limiters: async (count, { service, ...limits }) => {
      const make = (): SharedLimiter =>
        new SharedLimiter((asked) => of(service).admission(asked), { ...ofTests, ...limits });
      const made = Array.from({ length: count }, make);
      open.push(...made);
      return made;
    },
    [Symbol.asyncDispose]: async () => void (await Promise.all(open.map((each) => each.close()))),
  };
}

export const limiterForms = [
  { form: 'Redis', openScene: (): Promise<LimiterScene> => limiterScene() },
  { form: 'memory', openScene: embeddedScene },
] as const;
