/**
 * Clients of Redis by what they are for: work that outlives an outage, or a command that says so at once. The figures
 * are those of docs/redis.md section 6.
 */
import {
  Cluster,
  type ClusterOptions,
  Redis,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';
import { UnreachableError } from '../../core/base/errors.ts';
import { after, sleep } from '../../timers/sleep.ts';
import { connectionFault, mayPassSoon } from './fault.ts';
import { type RedisSettings, type RedisTls, shownAddress } from './settings.ts';
import { createHash } from 'node:crypto';

export type RedisHandle = Redis | Cluster;

/**
 * `prompt`, for a command: an answer or an error within seconds, never a hang. `lasting`, for work: waits for Redis to
 * come back, and connects again at least every two seconds (docs/queue.md section 5).
 */
export type RedisKind = 'prompt' | 'lasting';

const connectTimeoutMs = 2_000;

/**
 * A connection that owes an answer for longer is cut and made again: a cut network and a server that hangs say nothing.
 * Above the longest wait of a worker for an item, ten seconds.
 */
const silenceMs = 15_000;

const answerWithinMs = 10_000;

/** Redirections of one call: more than a failover of a minute needs, since an item whose end is refused is worked again. */
const maxRedirections = { lasting: 1_000, prompt: 30 } as const;

/** How long the end of a connection waits for the server's: one that hangs sends none, and calls under way wait for it. */
const disconnectTimeoutMs = 500;

const common = {
  enableReadyCheck: true,
  connectTimeout: connectTimeoutMs,
  disconnectTimeout: disconnectTimeoutMs,
} satisfies RedisOptions;

const patience = {
  lasting: {
    maxRetriesPerRequest: null,
    socketTimeout: silenceMs,
    retryStrategy: (times: number) => Math.min(200 * times, 2_000),
  },
  prompt: {
    maxRetriesPerRequest: 0,
    commandTimeout: answerWithinMs,
    retryStrategy: () => null,
    lazyConnect: true,
  },
} satisfies Record<RedisKind, RedisOptions>;

/** For ioredis: connect again, and send the refused command again. */
const resend = 2;

/** A prompt client connects when it is told to, a lasting one at once. */
function createClient(settings: RedisSettings, kind: RedisKind): RedisHandle {
  if ('cluster' in settings) return new Cluster([...settings.cluster.nodes], clusterOptions(settings, kind));
  if ('sentinel' in settings) return new Redis(sentinelOptions(settings, kind));
  // A primary that became a replica has a successor, perhaps at the same address.
  const reconnectOnError = (error: Error): boolean => kind === 'lasting' && isOfReplica(error);
  return new Redis(settings.url, { ...common, ...patience[kind], ...tlsOption(settings.tls), reconnectOnError });
}

/** A client of one node of the same installation, for questions about that node alone. */
export function createNodeClient(
  settings: RedisSettings,
  node: { readonly host: string; readonly port: number },
): Redis {
  const { username, password } = userOf(settings);
  const tls = 'url' in settings && !/^rediss:/i.test(settings.url) ? undefined : settings.tls;
  return new Redis({ ...common, ...patience.prompt, ...node, ...named({ username, password }), ...tlsOption(tls) });
}

function userOf(settings: RedisSettings): {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
} {
  if (!('url' in settings)) return settings;
  const { username, password } = new URL(settings.url);
  return { username: decodeURIComponent(username) || undefined, password: decodeURIComponent(password) || undefined };
}

function sentinelOptions(settings: Extract<RedisSettings, { sentinel: unknown }>, kind: RedisKind) {
  const { sentinel, username, password, database, tls } = settings;
  const isLasting = kind === 'lasting';
  return {
    ...common,
    ...patience[kind],
    sentinels: [...sentinel.nodes],
    Connector: MendedSentinelConnector,
    name: sentinel.name,
    role: 'master' as const,
    sentinelCommandTimeout: 1_000,
    // Without it a client stays with a primary that hangs, or was cut off from its replicas.
    failoverDetector: isLasting,
    sentinelRetryStrategy: (times: number) => (isLasting ? Math.min(100 * times, 1_000) : null),
    sentinelReconnectStrategy: (times: number) => Math.min(500 * times, 5_000),
    reconnectOnError: (error: Error) => (isLasting && isOfReplica(error) ? resend : false),
    ...named({ username, password, db: database }),
    ...named({ sentinelUsername: sentinel.username, sentinelPassword: sentinel.password }),
    ...tlsOption(tls),
    ...(tls === undefined ? {} : { sentinelTLS: { ...tls }, enableTLSForSentinelMode: true }),
  } satisfies RedisOptions;
}

function clusterOptions(settings: Extract<RedisSettings, { cluster: unknown }>, kind: RedisKind) {
  const { username, password, tls } = settings;
  const { retryStrategy, ...ofNode } = { ...common, ...patience[kind] };
  return {
    lazyConnect: kind === 'prompt',
    // With it, a connection that is made while the cluster is down stays pending for ever.
    enableReadyCheck: false,
    scaleReads: 'master' as const,
    slotsRefreshTimeout: 2_000,
    slotsRefreshInterval: 5_000,
    clusterRetryStrategy: retryStrategy,
    retryDelayOnFailover: 300,
    retryDelayOnClusterDown: 300,
    maxRedirections: maxRedirections[kind],
    // The certificate of a node holds its name, not the address behind it.
    ...(tls === undefined ? {} : { dnsLookup: (host, callback) => callback(null, host) }),
    redisOptions: { ...ofNode, ...named({ username, password }), ...tlsOption(tls) },
  } satisfies ClusterOptions;
}

function isOfReplica({ message }: Error): boolean {
  return /\bREADONLY\b/.test(message);
}

function tlsOption(tls: RedisTls | undefined): { tls?: object } {
  return tls === undefined ? {} : { tls: { ...tls } };
}

function named<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof named<T>
  >;
}

/** Of ioredis, whose types keep them private. */
interface SentinelParts {
  /** Subscribed to the sentinels: ends the connection when they name another primary. */
  failoverDetector: { cleanup(): void } | null;
  connectToSentinel(...args: readonly unknown[]): Redis;
}

class MendedSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const parts = this as unknown as SentinelParts;
    const connect = parts.connectToSentinel.bind(this);
    // A sentinel that is down is asked again, and the others are asked meanwhile; without a listener ioredis prints each fault.
    parts.connectToSentinel = (...args) => connect(...args).on('error', () => undefined);
  }

  /**
   * Ends the detector of the connection before. It would end this one too, while the sentinels are being asked: ioredis takes
   * that for the end of the client, which then never connects again (G7). A switch between the answer of a sentinel and the next
   * subscription shows by the role of the server, or by its silence.
   */
  override connect(...args: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    const parts = this as unknown as SentinelParts;
    parts.failoverDetector?.cleanup();
    parts.failoverDetector = null;
    return super.connect(...args);
  }
}

// Connections to Redis, of one kind whatever the topology.

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

// Lua that runs in Redis. ioredis sends the text once on each connection, and the digest from then on: commands that are sent
// behind a script see what it did.
// And the clock of Redis, for scripts: times that hosts compare through Redis use it, so that their own clocks need not
// agree (docs/design.md section 5).

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
