/** Connections to Redis, and the checks before any work: Redis is reachable, recent enough, and never evicts. */
import { Redis } from 'ioredis';
import { UnreachableError } from '../core/base/errors.ts';
import { redisOutage } from './redis-fault.ts';

/** Required by BullMQ 6. */
const oldestVersion = [6, 2, 0] as const;

export interface RedisInfo {
  readonly version: string;
  readonly evictionPolicy: string;
  readonly usedMemoryBytes: number;
  /** 0: no limit, or one that cannot be read. */
  readonly maxMemoryBytes: number;
}

/** Scheme, host and number of the database, for display: no user, no password, no other path (G10). */
export function shownAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${/^\/\d+$/.test(pathname) ? pathname : ''}`;
}

/**
 * For work that must outlive an outage: waits for Redis to come back, and reconnects at least every two seconds
 * (docs/queue.md section 5).
 */
export const lastingOptions = {
  maxRetriesPerRequest: null,
  enableReadyCheck: true,
  retryStrategy: (times: number) => Math.min(200 * times, 2_000),
};

/** For a command: an answer or an error within seconds, never a hang (docs/queue.md section 5). */
const promptOptions = {
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  connectTimeout: 2_000,
  commandTimeout: 10_000,
  lazyConnect: true,
};

/**
 * Connects, or throws with the reason in one sentence. The connection of a command ends with its first fault; that of a
 * worker reconnects once it has been established. Throws UnreachableError('redis').
 */
export async function connectRedis(url: string, kind: 'prompt' | 'lasting'): Promise<Redis> {
  const prompt = new Redis(url, promptOptions);
  // Without a listener ioredis prints the fault, which connect() also throws.
  let fault: Error | undefined;
  prompt.on('error', (error: Error) => (fault = error));
  try {
    await prompt.connect();
  } catch (error) {
    prompt.disconnect();
    throw unreachable(url, fault ?? error);
  }
  if (kind === 'prompt') return prompt;
  prompt.disconnect();
  const lasting = new Redis(url, lastingOptions);
  // The calls themselves wait out an outage; without a listener ioredis prints each failed attempt.
  lasting.on('error', () => undefined);
  return lasting;
}

function unreachable(url: string, cause: unknown): UnreachableError {
  const outage = redisOutage(cause);
  const message = cause instanceof Error ? cause.message : String(cause);
  const hint =
    outage?.hint ?? 'Start Redis there (redis-server, or docker compose up redis), or set WELLSYNC_REDIS_URL.';
  const reason = connectionReason(message) ?? outageReason(outage) ?? shownMessage(message);
  return new UnreachableError('redis', `Redis at ${shownAddress(url)} cannot be used: ${reason}`, { hint, cause });
}

function connectionReason(message: string): string | undefined {
  if (/ECONNREFUSED/.test(message)) return 'nothing answers there';
  return /ENOTFOUND|EAI_AGAIN/.test(message) ? 'its host name is not known' : undefined;
}

function outageReason(outage: Error | undefined): string | undefined {
  return outage?.message.replace('Redis cannot be used: ', '');
}

/** A message may repeat the address: nothing before an @ is shown (G10). */
function shownMessage(message: string): string {
  return message.replaceAll(/\S*@/g, '').replaceAll(/\s+/g, ' ').slice(0, 200);
}

/** Version, memory and policy of the server; a policy that cannot be read (a managed Redis) is `unknown`. */
async function readRedisInfo(redis: Redis): Promise<RedisInfo> {
  const info = await redis.info();
  const value = (name: string): string | undefined => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim();
  return {
    version: value('redis_version') ?? 'unknown',
    evictionPolicy: value('maxmemory_policy') ?? 'unknown',
    usedMemoryBytes: Number(value('used_memory') ?? 0),
    maxMemoryBytes: Number(value('maxmemory') ?? 0),
  };
}

/**
 * Refuses a Redis that would silently lose queue items (docs/design.md section 5). Throws UnreachableError('redis')
 * with the remedy.
 */
function refuseUnfitRedis(url: string, info: RedisInfo): void {
  const address = shownAddress(url);
  if (isOlder(info.version)) {
    throw new UnreachableError('redis', `Redis at ${address} is version ${info.version}: too old`, {
      hint: `Install Redis ${oldestVersion.join('.')} or later (or Valkey).`,
    });
  }
  if (info.evictionPolicy !== 'noeviction' && info.evictionPolicy !== 'unknown') {
    throw new UnreachableError(
      'redis',
      `Redis at ${address} has the eviction policy ${info.evictionPolicy}: it may throw queue items away`,
      { hint: 'Run: redis-cli CONFIG SET maxmemory-policy noeviction (and write it into redis.conf).' },
    );
  }
}

function isOlder(version: string): boolean {
  const parts = version.split('.').map(Number);
  for (const [position, least] of oldestVersion.entries()) {
    const part = parts[position] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

/** Refuses a Redis that answers, but takes no writes: a replica, or one without memory. Throws UnreachableError('redis'). */
async function refuseUnwritable(url: string, redis: Redis): Promise<void> {
  try {
    await redis.set('wellsync:write-check', '1', 'PX', 1_000);
  } catch (error) {
    throw unreachable(url, error);
  }
}

/**
 * Checks that Redis is reachable, recent enough, takes writes and never evicts. Returns its properties, or throws
 * UnreachableError('redis').
 */
export async function checkRedis(url: string): Promise<RedisInfo> {
  const redis = await connectRedis(url, 'prompt');
  try {
    const info = await readRedisInfo(redis).catch((error: unknown) => {
      throw unreachable(url, error);
    });
    refuseUnfitRedis(url, info);
    await refuseUnwritable(url, redis);
    return info;
  } finally {
    redis.disconnect();
  }
}
