/** Connections to Redis, of one kind whatever the topology. */
import { UnreachableError } from '../../core/base/errors.ts';
import { after, sleep } from '../../timers/sleep.ts';
import { connectionFault, mayPassSoon } from './fault.ts';
import { createClient, type RedisHandle, type RedisKind } from './options.ts';
import { type RedisSettings, shownAddress } from './settings.ts';

/** How long a command waits for a failover to end: about five seconds, and up to 20 for two in a row (docs/redis.md). */
const failoverMs = 20_000;
const tryEveryMs = 250;

/** A primary that hangs takes connections and says nothing: after this, whoever is the primary then is asked. */
const greetingMs = 3_000;

/**
 * Connects, or throws with the reason in one sentence. The connection of a command ends with its first fault; that of a
 * worker reconnects once it has been established. Throws UnreachableError('redis').
 */
export async function connectRedis(settings: RedisSettings, kind: RedisKind): Promise<RedisHandle> {
  const prompt = await connectPrompt(settings);
  if (kind === 'prompt') return prompt;
  prompt.disconnect();
  const lasting = createClient(settings, 'lasting');
  // The calls themselves wait out an outage; without a listener ioredis prints each failed attempt.
  lasting.on('error', () => undefined);
  return lasting;
}

async function connectPrompt(settings: RedisSettings): Promise<RedisHandle> {
  const mayFailOver = !('url' in settings);
  const untilMs = performance.now() + (mayFailOver ? failoverMs : 0);
  for (;;) {
    const client = createClient(settings, 'prompt');
    const limit = mayFailOver ? after(greetingMs, () => client.disconnect()) : undefined;
    // Without a listener ioredis prints the fault, which connect() also throws.
    let fault: unknown;
    const keepFault = (error: unknown): unknown => (fault = error);
    client.on('error', keepFault);
    client.on('node error', keepFault);
    try {
      await client.connect();
      return client;
    } catch (error) {
      client.disconnect();
      const cause = fault ?? error;
      if (performance.now() >= untilMs || !mayPassSoon(cause)) throw unreachable(settings, cause);
      await sleep(tryEveryMs);
    } finally {
      limit?.cancel();
    }
  }
}

/** `Redis at ADDRESS cannot be used: REASON`, with what to do. */
export function unreachable(settings: RedisSettings, cause: unknown): UnreachableError {
  const { state, hint } = connectionFault(cause);
  return new UnreachableError('redis', `Redis at ${shownAddress(settings)} cannot be used: ${state}`, { hint, cause });
}

/**
 * A client of the same Redis, for work that must not wait: a call fails at once while there is no connection, and after
 * `commandTimeoutMs`.
 */
export function impatientCopy(handle: RedisHandle, commandTimeoutMs: number): RedisHandle {
  const enableOfflineQueue = false;
  const redisOptions = { commandTimeout: commandTimeoutMs };
  return 'nodes' in handle
    ? handle.duplicate([], { enableOfflineQueue, maxRedirections: 1, redisOptions })
    : handle.duplicate({ enableOfflineQueue, ...redisOptions });
}

/** A lasting client of the same Redis, for a command that blocks: it keeps all others of its connection waiting. */
export function blockingCopy(handle: RedisHandle): RedisHandle {
  const copy = 'nodes' in handle ? handle.duplicate() : handle.duplicate();
  // Its calls wait out an outage; without a listener ioredis prints each failed attempt.
  copy.on('error', () => undefined);
  return copy;
}

/** Of ioredis, whose types keep it private. */
type Private = { flushQueue(error: Error): void };

/**
 * Ends a client whose Redis may be away: what waits for an answer or for a connection fails now, and so does what is asked
 * later. ioredis alone keeps calls for ever that it was told to end between two attempts to connect.
 */
export function endAtOnce(handle: RedisHandle): void {
  const clients: readonly RedisHandle[] = 'nodes' in handle ? [handle, ...handle.nodes()] : [handle];
  for (const client of clients) client.options.enableOfflineQueue = false;
  handle.disconnect();
  for (const client of clients) (client as unknown as Private).flushQueue(new Error('Connection is closed.'));
}
