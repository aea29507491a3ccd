/** The checks before any work: Redis is reachable, recent enough, takes writes, never evicts, and its clock is ours. */
import { UnreachableError } from '../../core/base/errors.ts';
import { connectRedis, type RedisHandle, unreachable } from './connection.ts';
import { clockFaultMs, clockRemarkMs, clockWords, measureClock } from './host-clock.ts';
import { type NodeState, readNodeStates } from './node-state.ts';
import { keyPrefix, type RedisPlace, type RedisSettings, shownAddress, shownNode } from './settings.ts';
import { tryWrite } from './write-check.ts';

/** Required by BullMQ 6. */
const oldestVersion = [6, 2, 0] as const;

/** Of something that works, and may not do so later. */
export interface RedisRemark {
  readonly kind: 'clock' | 'policy' | 'replicas';
  readonly message: string;
  readonly hint: string;
}

export interface RedisInfo {
  /** `Redis 7.0.15`, `Valkey 9.1.2`. */
  readonly product: string;
  /** `noeviction`, or `unknown` where it cannot be read: a managed Redis. */
  readonly evictionPolicy: string;
  /** Nodes that were asked, with replicas. */
  readonly nodes: number;
  /** Of the fullest primary. */
  readonly usedMemoryBytes: number;
  /** 0: no limit, or one that cannot be read. */
  readonly maxMemoryBytes: number;
  readonly remarks: readonly RedisRemark[];
}

/**
 * Checks all of it. `now`: milliseconds since 1970 by the clock of this host. Returns the properties of Redis, or throws
 * UnreachableError('redis') with the remedy.
 */
export async function checkRedis(place: RedisPlace, now: () => number = Date.now): Promise<RedisInfo> {
  const { redis: settings } = place;
  const redis = await connectRedis(settings, 'prompt');
  try {
    const { states, silent } = await readNodeStates(settings, redis).catch((error: unknown) => {
      throw unreachable(settings, error);
    });
    for (const state of states) refuseUnfit(settings, state);
    await refuseUnwritable(place, redis);
    const clockAheadMs = await measureClock(redis, now).catch((error: unknown) => {
      throw unreachable(settings, error);
    });
    refuseClock(settings, clockAheadMs);
    return { ...summaryOf(settings, states), remarks: remarksOf(settings, { states, silent, clockAheadMs }) };
  } finally {
    redis.disconnect();
  }
}

function summaryOf(settings: RedisSettings, states: readonly NodeState[]): Omit<RedisInfo, 'remarks'> {
  const fullness = (state: NodeState): number =>
    state.maxMemoryBytes === 0 ? 0 : state.usedMemoryBytes / state.maxMemoryBytes;
  const [fullest] = states
    .filter(({ isPrimary }) => isPrimary)
    .toSorted((left, right) => fullness(right) - fullness(left) || right.usedMemoryBytes - left.usedMemoryBytes);
  if (fullest === undefined) throw unreachable(settings, new Error('CLUSTERDOWN no primary answers'));
  const { product, version, usedMemoryBytes, maxMemoryBytes } = fullest;
  const policies = states.map(({ evictionPolicy }) => evictionPolicy);
  return {
    product: `${product} ${version}`,
    evictionPolicy: policies.includes('unknown') ? 'unknown' : 'noeviction',
    nodes: states.length,
    usedMemoryBytes,
    maxMemoryBytes,
  };
}

/** Refuses a Redis that would silently lose queue items (docs/design.md section 5), or that is spoken to in a wrong way. */
function refuseUnfit(settings: RedisSettings, state: NodeState): void {
  const at = state.node === undefined ? shownAddress(settings) : shownNode(state.node);
  const refuse = (words: string, hint: string): never => {
    throw new UnreachableError('redis', `Redis at ${at} ${words}`, { hint });
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

/** Refuses a Redis that answers, but takes no writes: a replica, or one without memory. */
async function refuseUnwritable(place: RedisPlace, redis: RedisHandle): Promise<void> {
  try {
    await tryWrite(redis, keyPrefix(place));
  } catch (error) {
    throw unreachable(place.redis, error);
  }
}

/** Delays of the queue are due by the clocks of the workers' hosts. */
function refuseClock(settings: RedisSettings, aheadMs: number): void {
  if (Math.abs(aheadMs) <= clockFaultMs) return;
  throw new UnreachableError(
    'redis',
    `the clock of this host is ${clockWords(aheadMs)} that of Redis at ${shownAddress(settings)}: delays would end at wrong times`,
    { hint: 'Set both by NTP (timedatectl shows whether a host does), then try again.' },
  );
}

function remarksOf(
  settings: RedisSettings,
  found: {
    readonly states: readonly NodeState[];
    readonly silent: readonly { readonly host: string; readonly port: number }[];
    readonly clockAheadMs: number;
  },
): readonly RedisRemark[] {
  const { states, silent, clockAheadMs } = found;
  const remarks: RedisRemark[] = [];
  if (Math.abs(clockAheadMs) > clockRemarkMs) {
    remarks.push({
      kind: 'clock',
      message: `the clock of this host is ${clockWords(clockAheadMs)} that of Redis`,
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
