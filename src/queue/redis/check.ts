/**
 * The checks before any work: Redis is reachable, recent enough, takes writes, never evicts, and its clock is ours. And the watch
 * over a Redis that a worker can no longer use.
 */
import { Cluster, type Redis } from 'ioredis';
import { type OutageError, type OutageRecord, UnreachableError } from '../../core/base/errors.ts';
import {
  connectRedis,
  createNodeClient,
  impatientCopy,
  type RedisHandle,
  redisScript,
  runScript,
  unreachable,
} from './clients.ts';
import {
  keyPrefix,
  type RedisLocation,
  type RedisNode,
  type RedisSettings,
  shownAddress,
  shownNode,
} from './settings.ts';
import { sleep } from '../../timers/sleep.ts';
import { redisOutage, refusalByRedis } from './fault.ts';

/** Required by BullMQ 6. */
const oldestVersion = [6, 2, 0] as const;

interface RedisRemark {
  readonly kind: 'clock' | 'policy' | 'replicas';
  readonly message: string;
  readonly hint: string;
}

/**
 * Checks all of it. `now`: milliseconds since 1970 by the clock of this host. Returns the properties of Redis, or throws
 * UnreachableError('redis') with the remedy.
 */
export async function checkRedis(address: RedisLocation, now: () => number = Date.now) {
  const { redis: settings } = address;
  const refuse = (error: unknown): never => {
    throw unreachable(settings, error);
  };
  const redis = await connectRedis(settings, 'prompt');
  try {
    const { states, silent } = await readNodeStates(settings, redis).catch(refuse);
    for (const state of states) refuseUnfit(settings, state);
    // A replica, or one without memory, answers and takes no writes.
    await tryWrite(redis, keyPrefix(address)).catch(refuse);
    const clockAheadMs = await measureClock(redis, now).catch(refuse);
    refuseClock(settings, clockAheadMs);
    return { ...summaryOf(settings, states), remarks: remarksOf(settings, { states, silent, clockAheadMs }) };
  } finally {
    redis.disconnect();
  }
}

function summaryOf(settings: RedisSettings, states: readonly NodeState[]) {
  const fullness = (state: NodeState): number =>
    state.maxMemoryBytes === 0 ? 0 : state.usedMemoryBytes / state.maxMemoryBytes;
  const [fullest] = states
    .filter(({ isPrimary }) => isPrimary)
    .toSorted((left, right) => fullness(right) - fullness(left) || right.usedMemoryBytes - left.usedMemoryBytes);
  if (fullest === undefined) throw unreachable(settings, new Error('CLUSTERDOWN no primary answers'));
  const { product, version, usedMemoryBytes, maxMemoryBytes } = fullest;
  const policies = states.map(({ evictionPolicy }) => evictionPolicy);
  return {
    /** `Redis 7.0.15`, `Valkey 9.1.2`. */
    product: `${product} ${version}`,
    /** `unknown` where it cannot be read: a managed Redis. */
    evictionPolicy: policies.includes('unknown') ? 'unknown' : 'noeviction',
    /** That were asked, with replicas. */
    nodes: states.length,
    /** Of the fullest primary; no limit, or one that cannot be read, is 0. */
    usedMemoryBytes,
    maxMemoryBytes,
  };
}

/** Refuses a Redis that would silently lose queue items (docs/design.md section 5), or that is spoken to in a wrong way. */
function refuseUnfit(settings: RedisSettings, state: NodeState): void {
  const at = state.node === undefined ? shownAddress(settings) : shownNode(state.node);
  const refuse = (why: string, hint: string): never => {
    throw new UnreachableError('redis', `Redis at ${at} ${why}`, { hint });
  };
  if (state.mode === 'sentinel') {
    refuse('is a Sentinel: it holds no queues', 'Name the sentinels by redis.sentinel (docs/redis.md).');
  }
  if (state.mode === 'cluster' && !('cluster' in settings)) {
    refuse(
      'is a node of a cluster',
      'Name some of its nodes by redis.cluster.nodes in place of redis.url (docs/redis.md).',
    );
  }
  if (state.product === 'Redis' && isOlder(state.version)) {
    refuse(`is version ${state.version}: too old`, `Install Redis ${oldestVersion.join('.')} or later (or Valkey).`);
  }
  if (state.evictionPolicy !== 'noeviction' && state.evictionPolicy !== 'unknown') {
    refuse(
      `has the eviction policy ${state.evictionPolicy}: it may throw queue items away`,
      'Run: redis-cli CONFIG SET maxmemory-policy noeviction (and write it into redis.conf).',
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

/** Delays of the queue are due by the clocks of the workers' hosts. */
function refuseClock(settings: RedisSettings, aheadMs: number): void {
  if (Math.abs(aheadMs) <= clockFaultMs) return;
  throw new UnreachableError(
    'redis',
    `the clock of this host is ${clockText(aheadMs)} that of Redis at ${shownAddress(settings)}: delays would end at wrong times`,
    { hint: 'Set both by NTP (timedatectl shows whether a host does), then try again.' },
  );
}

function remarksOf(
  settings: RedisSettings,
  { states, silent, clockAheadMs }: Nodes & { readonly clockAheadMs: number },
): readonly RedisRemark[] {
  const remarks: RedisRemark[] = [];
  if (Math.abs(clockAheadMs) > clockRemarkMs) {
    remarks.push({
      kind: 'clock',
      message: `the clock of this host is ${clockText(clockAheadMs)} that of Redis`,
      hint: 'Set both by NTP: past 5 s wellsync refuses to start.',
    });
  }
  if (states.some(({ evictionPolicy }) => evictionPolicy === 'unknown')) {
    remarks.push({
      kind: 'policy',
      message: 'the eviction policy of Redis cannot be read',
      hint: 'Make sure that its maxmemory-policy is noeviction.',
    });
  }
  if (silent.length > 0) {
    remarks.push({
      kind: 'replicas',
      message: `no answer from ${silent.map(shownNode).join(', ')}, which Redis names as its own`,
      hint: 'See whether it is up. After a failover it may be the primary: it has to be reachable from here, with maxmemory-policy noeviction.',
    });
  }
  if ('sentinel' in settings && states[0]?.wantsReplicas === false) {
    remarks.push({
      kind: 'replicas',
      message: 'the primary takes writes without a replica that follows: what it takes while it is cut off is lost',
      hint: 'Set min-replicas-to-write 1 and min-replicas-max-lag 3 on every node (docs/redis.md).',
    });
  }
  return remarks;
}

// The clock of this host against that of Redis: queue delays are due by the clock of a host (docs/redis.md section 7).

/** A start is refused past the first, and a remark made past the second. */
const clockFaultMs = 5_000;
const clockRemarkMs = 1_000;

const samples = 3;

/**
 * Milliseconds that this host is ahead of Redis; negative: behind. Of a few questions the one with the fastest answer
 * counts, and its error is at most half of the time that the answer took. `now`: milliseconds since 1970.
 */
async function measureClock(redis: RedisHandle, now: () => number): Promise<number> {
  let best = { tookMs: Infinity, aheadMs: 0 };
  for (let sample = 0; sample < samples; sample += 1) {
    const askedAtMs = now();
    const [seconds, micros] = await redis.time();
    const tookMs = now() - askedAtMs;
    const redisMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
    if (tookMs < best.tookMs) best = { tookMs, aheadMs: Math.round(askedAtMs + tookMs / 2 - redisMs) };
  }
  return best.aheadMs;
}

/** `7 s ahead of`, `1.4 s behind`. */
function clockText(aheadMs: number): string {
  const seconds = Math.abs(aheadMs) / 1_000;
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
}

// A write to Redis as the scripts of the queue write.

/** KEYS: two of the installation. ARGV: ms. Two keys, so that a cluster refuses what it would refuse of the real scripts. */
const script = redisScript(`
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return redis.call('EXISTS', KEYS[2])`);

const keptMs = 1_000;

/** `prefix`: what the keys of the installation begin with. Throws the fault of Redis. */
async function tryWrite(redis: RedisHandle, prefix: string): Promise<void> {
  await runScript(redis, script, [`${prefix}:write-check`, `${prefix}:write-check-2`], [keptMs]);
}

/** What the nodes of a Redis say of themselves. */
interface NodeState {
  /** Undefined for the one server that the settings name. */
  readonly node: RedisNode | undefined;
  readonly product: 'Redis' | 'Valkey';
  readonly version: string;
  readonly mode: 'standalone' | 'sentinel' | 'cluster';
  readonly isPrimary: boolean;
  readonly evictionPolicy: string;
  readonly usedMemoryBytes: number;
  /** 0: no limit, or one that cannot be read. */
  readonly maxMemoryBytes: number;
  /** Of a primary. */
  readonly replicas: readonly RedisNode[];
  /** Whether it refuses writes without a replica that follows closely: min-replicas-to-write. */
  readonly wantsReplicas: boolean;
}

interface Nodes {
  readonly states: readonly NodeState[];
  readonly silent: readonly RedisNode[];
}

/** Throws the fault of the primary. */
async function readNodeStates(settings: RedisSettings, handle: RedisHandle): Promise<Nodes> {
  if (handle instanceof Cluster) return gathered(handle.nodes('all').map((each) => [nodeOf(each), each]));
  const primary = await readState(handle, undefined);
  const clients = primary.replicas.map((node) => [node, createNodeClient(settings, node)] as const);
  const { states, silent } = await gathered(clients);
  for (const [, client] of clients) client.disconnect();
  return { states: [primary, ...states], silent };
}

async function gathered(clients: ReadonlyArray<readonly [RedisNode, Redis]>): Promise<Nodes> {
  const answers = await Promise.allSettled(clients.map(([node, client]) => readState(client, node)));
  return {
    states: answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : [])),
    silent: clients.flatMap(([node], index) => (answers[index]?.status === 'rejected' ? [node] : [])),
  };
}

function nodeOf({ options: { host = '', port = 0 } }: Redis): RedisNode {
  return { host, port };
}

async function readState(redis: Redis, node: RedisNode | undefined): Promise<NodeState> {
  // Without a listener ioredis prints the fault, which the call throws too.
  if (node !== undefined) redis.on('error', () => undefined);
  return stateOf(await redis.info(), node);
}

function stateOf(info: string, node: RedisNode | undefined): NodeState {
  const value = (name: string): string | undefined => new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim();
  const valkeyVersion = value('valkey_version');
  const isCluster = value('cluster_enabled') === '1';
  return {
    node,
    product: valkeyVersion === undefined ? 'Redis' : 'Valkey',
    // The version of Redis that Valkey names is the one that it is compatible with.
    version: valkeyVersion ?? value('redis_version') ?? 'unknown',
    mode: value('redis_mode') === 'sentinel' ? 'sentinel' : isCluster ? 'cluster' : 'standalone',
    isPrimary: value('role') !== 'slave',
    evictionPolicy: value('maxmemory_policy') ?? 'unknown',
    usedMemoryBytes: Number(value('used_memory') ?? 0),
    maxMemoryBytes: Number(value('maxmemory') ?? 0),
    replicas: [...info.matchAll(/^slave\d+:ip=([^,]+),port=(\d+)/gm)].map(([, host = '', port]) => ({
      host,
      port: Number(port),
    })),
    wantsReplicas: value('min_slaves_good_slaves') !== undefined,
  };
}

// Watches a Redis that a worker cannot use: from the first fault on it tries a write, about once a second, until one
// succeeds. Meanwhile the workers pause: BullMQ asks a Redis that answers with errors again and again without a pause
// (docs/redis.md section 6).

const tryEveryMs = 1_000;

/** A Redis that takes our write and refuses what the workers ask is asked by them less and less often. */
const sameTroubleMs = 10_000;
const longestPauseMs = 30_000;

interface RedisWatchContext {
  /** Copied: its own calls may wait for ever. */
  readonly redis: RedisHandle;
  readonly prefix: string;
  readonly outages: OutageRecord;
  readonly onDown: () => void;
  readonly onUp: () => void;
}

export class RedisWatch {
  readonly #context: RedisWatchContext;
  readonly #closed = new AbortController();
  #over: Promise<void> | undefined;
  #upAtMs = -Infinity;
  #pauseMs = tryEveryMs;

  constructor(context: RedisWatchContext) {
    this.#context = context;
  }

  get isDown(): boolean {
    return this.#over !== undefined;
  }

  /** Takes note of an error of a call; returns whether it is of a state of Redis that passes. */
  record(error: unknown): boolean {
    return this.#record(redisOutage(error));
  }

  /** Takes note of an error of a worker's own call, to which every refusal by Redis is a reason to pause. */
  recordOfWorker(error: Error): boolean {
    return this.#record(refusalByRedis(error));
  }

  /** Resolves when Redis takes writes again, or the signal aborts; at once where no trouble is known. */
  async over(signal: AbortSignal): Promise<void> {
    if (this.#over === undefined || signal.aborted) return;
    const waiting = new AbortController();
    const aborted = sleep(Infinity, { signal: AbortSignal.any([signal, waiting.signal]) });
    await Promise.race([this.#over, aborted.catch(() => undefined)]);
    waiting.abort();
  }

  close(): void {
    this.#closed.abort();
  }

  #record(outage: OutageError | undefined): boolean {
    if (outage === undefined) return false;
    if (this.#closed.signal.aborted) return true;
    this.#context.outages.down('redis', outage.message);
    if (this.#over === undefined) this.#begin();
    return true;
  }

  #begin(): void {
    const isSameTrouble = performance.now() - this.#upAtMs < sameTroubleMs;
    this.#pauseMs = isSameTrouble ? Math.min(2 * this.#pauseMs, longestPauseMs) : tryEveryMs;
    this.#context.onDown();
    this.#over = this.#tryUntilUp().then(() => {
      this.#over = undefined;
      this.#upAtMs = performance.now();
      if (this.#closed.signal.aborted) return;
      this.#context.outages.up('redis');
      this.#context.onUp();
    });
  }

  async #tryUntilUp(): Promise<void> {
    const { signal } = this.#closed;
    const { redis: handle, prefix, outages } = this.#context;
    const redis = impatientCopy(handle, tryEveryMs);
    let reason: string | undefined;
    redis.on('error', (error: Error) => (reason = redisOutage(error)?.message));
    try {
      for (let pauseMs = this.#pauseMs; ; pauseMs = tryEveryMs) {
        await sleep(pauseMs, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        try {
          await tryWrite(redis, prefix);
          return;
        } catch (error) {
          outages.down('redis', reason ?? redisOutage(error)?.message ?? 'Redis does not answer');
        }
      }
    } finally {
      redis.disconnect();
    }
  }
}

/**
 * Log lines of a trouble that comes again and again: one for each kind every ten seconds, with the number left out.
 */
const sameKindMs = 10_000;
/** Kinds that are remembered: errors have words of others in them. */
const mostKinds = 100;

interface Kind {
  readonly loggedAtMs: number;
  leftOut: number;
}

export class RepeatedLines {
  readonly #now: () => number;
  readonly #kinds = new Map<string, Kind>();

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Calls `tell` where the kind of the message was not told lately, with the number of those of its kind left out since. */
  log(message: string, log: (leftOut: number) => void): void {
    const kind = kindOf(message);
    const known = this.#kinds.get(kind);
    const now = this.#now();
    if (known !== undefined && now - known.loggedAtMs < sameKindMs) {
      known.leftOut += 1;
      return;
    }
    if (this.#kinds.size >= mostKinds) this.#kinds.clear();
    this.#kinds.set(kind, { loggedAtMs: now, leftOut: 0 });
    log(known?.leftOut ?? 0);
  }
}

/** A message without its ids, numbers and addresses. */
function kindOf(message: string): string {
  return message.replaceAll(/\S*\d\S*/g, '#').slice(0, 200);
}
