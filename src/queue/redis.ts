/** Owns the connections to Redis and the checks before any work: reachable, recent enough, and set never to evict. */
import { Redis } from 'ioredis';
import { UnreachableError } from '../core/errors.ts';

/** BullMQ 6 asks for it. */
const oldestVersion = [6, 2, 0] as const;

export interface RedisFacts {
  readonly version: string;
  readonly evictionPolicy: string;
  readonly usedMemoryBytes: number;
}

/** An address without user and password, as it may be shown (G10). */
export function shownAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}

/** For work that must outlive an outage: waits for Redis to come back, looking every two seconds at the most (QUEUE.md). */
export const lastingOptions = {
  maxRetriesPerRequest: null,
  enableReadyCheck: true,
  retryStrategy: (times: number) => Math.min(200 * times, 2_000),
};

/** For a command: an answer within seconds or an error, never a hang (QUEUE.md). */
const promptOptions = {
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  connectTimeout: 2_000,
  commandTimeout: 10_000,
  lazyConnect: true,
};

/**
 * Connects, or says in one sentence why not. The connection of a command ends with its first fault; that of a worker
 * heals itself once it has been there. Throws UnreachableError('redis').
 */
export async function connectRedis(url: string, kind: 'prompt' | 'lasting'): Promise<Redis> {
  const prompt = new Redis(url, promptOptions);
  // Without a listener ioredis prints; the fault itself comes out of connect().
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
  // An outage is waited out by the calls themselves; without a listener ioredis prints each failed look.
  lasting.on('error', () => undefined);
  return lasting;
}

function unreachable(url: string, cause: unknown): UnreachableError {
  const words = cause instanceof Error ? cause.message : String(cause);
  const isRefused = /NOAUTH|WRONGPASS|invalid password/i.test(words);
  const hint = isRefused
    ? 'Check user and password in WELLSYNC_REDIS_URL.'
    : 'Start Redis there (redis-server, or docker compose up redis), or set WELLSYNC_REDIS_URL.';
  return new UnreachableError('redis', `Redis at ${shownAddress(url)} cannot be used: ${plain(words)}`, {
    hint,
    cause,
  });
}

function plain(words: string): string {
  if (/ECONNREFUSED/.test(words)) return 'nothing listens there';
  if (/ENOTFOUND|EAI_AGAIN/.test(words)) return 'its host name is not known';
  if (/ETIMEDOUT|timed out/i.test(words)) return 'it does not answer';
  if (/NOAUTH|WRONGPASS|invalid password/i.test(words)) return 'it does not let us in';
  return words.replaceAll(/\s+/g, ' ').slice(0, 200);
}

/** What the server says of itself; a policy that cannot be read (a managed Redis) is `unknown`. */
async function readRedisFacts(redis: Redis): Promise<RedisFacts> {
  const info = await redis.info();
  const value = (name: string): string | undefined => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim();
  return {
    version: value('redis_version') ?? 'unknown',
    evictionPolicy: value('maxmemory_policy') ?? 'unknown',
    usedMemoryBytes: Number(value('used_memory') ?? 0),
  };
}

/**
 * Refuses a Redis that would lose queue items silently (DESIGN.md section 5). Throws UnreachableError('redis') with the
 * command that mends it.
 */
function refuseUnfitRedis(url: string, facts: RedisFacts): void {
  const address = shownAddress(url);
  if (isOlder(facts.version)) {
    throw new UnreachableError('redis', `Redis at ${address} is version ${facts.version}: too old`, {
      hint: `Install Redis ${oldestVersion.join('.')} or later (or Valkey).`,
    });
  }
  if (facts.evictionPolicy !== 'noeviction' && facts.evictionPolicy !== 'unknown') {
    throw new UnreachableError(
      'redis',
      `Redis at ${address} has the eviction policy ${facts.evictionPolicy}: it may throw queue items away`,
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

/** Reachable, recent enough, never evicting: the facts, or an UnreachableError('redis'). */
export async function checkRedis(url: string): Promise<RedisFacts> {
  const redis = await connectRedis(url, 'prompt');
  try {
    const facts = await readRedisFacts(redis);
    refuseUnfitRedis(url, facts);
    return facts;
  } finally {
    redis.disconnect();
  }
}
