/**
 * Keeps the limits towards the service across all workers together (G9): requests at one time as leases in Redis, requests
 * a second by a shared limiter, and the pause that a Retry-After demands of all.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { AbortedError } from '../core/errors.ts';
import { connectRedis } from './redis.ts';

/**
 * KEYS: hold, leases. ARGV: most leases, lease in ms, token. Returns 0 when let in, the milliseconds of a hold, or -1 when
 * full. Time is the server's, so hosts need not agree on it. A lease of a dead worker ends by itself.
 */
const enterScript = `
local holdMs = redis.call('PTTL', KEYS[1])
if holdMs > 0 then return holdMs end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[1]) then return -1 end
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 0`;

/** KEYS: leases. ARGV: lease in ms, tokens. Only a lease that still stands is made longer. */
const renewScript = `
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for place = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', ends, ARGV[place]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`;

/** KEYS: hold. ARGV: ms. A shorter hold never shortens a longer one. */
const holdScript = `
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
return 1`;

/** Short, so that a killed worker does not keep the others waiting (G7). */
const defaultLeaseMs = 10_000;

const lookAgainMs = { least: 5, span: 20 } as const;

export interface AdmissionSettings {
  readonly url: string;
  readonly prefix: string;
  readonly concurrency: number;
  readonly requestsPerSecond?: number;
  /** How long the place of a worker that died stays taken; a living one renews its leases. */
  readonly leaseMs?: number;
}

/** The shape is the service room's port `Admission`. */
export interface SharedAdmission {
  enter(signal: AbortSignal): Promise<() => void>;
  holdAll(delayMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Throws UnreachableError('redis') when Redis does not answer now; later outages are waited out. */
export async function createAdmission(settings: AdmissionSettings): Promise<SharedAdmission> {
  const redis = await connectRedis(settings.url, 'lasting');
  const rate =
    settings.requestsPerSecond === undefined
      ? undefined
      : rateLimiter(redis, settings.prefix, settings.requestsPerSecond);
  const { leaseMs = defaultLeaseMs } = settings;
  const door = createDoor(settings.concurrency);
  const held = new Set<string>();
  const keys = { hold: `${settings.prefix}:service:hold`, leases: `${settings.prefix}:service:leases` };

  async function enter(signal: AbortSignal): Promise<() => void> {
    const leaveDoor = await door.enter(signal);
    const token = randomUUID();
    const leave = (): void => {
      leaveDoor();
      release(token);
    };
    try {
      await waitForRate(signal);
      await waitForLease(token, signal);
      held.add(token);
      return leave;
    } catch (error) {
      // The lease may have been given while the caller went.
      leave();
      throw error;
    }
  }

  async function waitForLease(token: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const answer = Number(
        await orAbort(redis.eval(enterScript, 2, keys.hold, keys.leases, settings.concurrency, leaseMs, token), signal),
      );
      if (answer === 0) return;
      await pause(answer > 0 ? answer : lookAgainMs.least + Math.random() * lookAgainMs.span, signal);
    }
  }

  async function waitForRate(signal: AbortSignal): Promise<void> {
    if (rate === undefined) return;
    for (;;) {
      const taken = await orAbort(rate.consume('all').catch(refusalOf), signal);
      if (!(taken instanceof Refusal)) return;
      await pause(Math.max(1, taken.msBeforeNext), signal);
    }
  }

  function release(token: string): void {
    held.delete(token);
    // Should this not reach Redis, the lease ends by itself.
    redis.zrem(keys.leases, token).catch(() => undefined);
  }

  const renewal = setInterval(() => {
    if (held.size === 0) return;
    // Should this not reach Redis, the next one may; a lease that ran out meanwhile is lost to another request.
    redis.eval(renewScript, 1, keys.leases, leaseMs, ...held).catch(() => undefined);
  }, leaseMs / 3);
  renewal.unref();

  return {
    enter,
    async holdAll(delayMs) {
      if (delayMs >= 1) await redis.eval(holdScript, 1, keys.hold, Math.ceil(delayMs));
    },
    async close() {
      clearInterval(renewal);
      redis.disconnect();
    },
  };
}

/** The limiter tells a refusal by throwing a value that is no error. */
class Refusal {
  readonly msBeforeNext: number;

  constructor(msBeforeNext: number) {
    this.msBeforeNext = msBeforeNext;
  }
}

function refusalOf(reason: unknown): Refusal {
  if (reason instanceof RateLimiterRes) return new Refusal(reason.msBeforeNext);
  throw reason instanceof Error ? reason : new Error(String(reason));
}

/**
 * Lets so many of this process in at one time, first come first served: only workers of other processes need to be
 * looked for in Redis again and again.
 */
function createDoor(places: number): { enter(signal: AbortSignal): Promise<() => void> } {
  let free = places;
  const line: Array<() => void> = [];
  const leave = (): void => {
    const next = line.shift();
    if (next === undefined) free += 1;
    else next();
  };

  return {
    async enter(signal) {
      if (signal.aborted) throw new AbortedError();
      if (free > 0) {
        free -= 1;
        return leave;
      }
      let letIn = (): void => undefined;
      const turn = new Promise<void>((resolve) => {
        letIn = resolve;
      });
      line.push(letIn);
      try {
        await orAbort(turn, signal);
        return leave;
      } catch (error) {
        const place = line.indexOf(letIn);
        // Whose turn came in the very moment of going hands it on.
        if (place === -1) leave();
        else line.splice(place, 1);
        throw error;
      }
    },
  };
}

/** A rate under one a second becomes one in a longer time. */
function rateLimiter(redis: Redis, prefix: string, requestsPerSecond: number): RateLimiterRedis {
  const points = Math.max(1, Math.floor(requestsPerSecond));
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `${prefix}:service:rate`,
    points,
    duration: points / requestsPerSecond,
  });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    throw new AbortedError('given up while waiting for leave to send', { cause: error });
  });
}

/** Redis calls cannot be aborted: the caller goes, the answer is dropped. */
async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) reject(new AbortedError());
    const onAbort = (): void => reject(new AbortedError('given up while waiting for leave to send'));
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
