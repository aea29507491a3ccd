/** A Redis of several processes: a primary with replicas and the sentinels that watch it, or a cluster. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort, redisProgram } from '../../scripts/setup/private-redis.mjs';
import { startLeashed } from '../../scripts/setup/leash.mjs';
import type { RedisNode } from '../../src/queue/redis/settings.ts';
import { type PrivateRedis, startPrivateRedis } from './redis.ts';
import { Started } from './started.ts';

const portOf = ({ url }: PrivateRedis): number => Number(new URL(url).port);

const nodeOf = (server: PrivateRedis): RedisNode => ({ host: '127.0.0.1', port: portOf(server) });

/** Asks until the answer is the one that is waited for. */
export async function until<T>(ask: () => Promise<T>, isIt: (answer: T) => boolean, limitMs = 300_000): Promise<T> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const answer = await ask().catch((error: unknown) => {
      if (performance.now() > endMs) throw error;
      return undefined;
    });
    if (answer !== undefined && isIt(answer)) return answer;
    if (performance.now() > endMs) throw new Error(`waited for something else than ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Runs `during` with a client of its own at one server. */
export async function atNode<T>(server: { readonly url: string }, during: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(server.url, { retryStrategy: () => 50, commandTimeout: 2_000 });
  redis.on('error', () => undefined);
  try {
    return await during(redis);
  } finally {
    redis.disconnect();
  }
}

/** Resolves when a replica has all that was written to its primary so far; writes `key`, of a slot of that primary. */
export async function replicated(primary: { readonly url: string }, key: string): Promise<void> {
  await until(
    // WAIT is about the writes of its own connection; what others wrote before is in the same stream.
    () => atNode(primary, async (redis) => [await redis.set(key, ''), await redis.wait(1, 1_000)]),
    ([, replicas]) => replicas === 1,
  );
}

interface Sentinel extends AsyncDisposable {
  readonly url: string;
  /** By which the others and clients know it. */
  readonly node: RedisNode;
}

/** Puts something before a sentinel that is to be at this address, and returns that by which it is then known. */
type StandsBefore = (sentinel: RedisNode) => Promise<RedisNode>;

async function startSentinel(primary: RedisNode, name: string, before: StandsBefore | undefined): Promise<Sentinel> {
  const program = redisProgram() ?? 'redis-server';
  const folder = await mkdtemp(path.join(tmpdir(), 'wellsync-sentinel-'));
  const port = await freePort();
  const node = (await before?.({ host: '127.0.0.1', port })) ?? { host: '127.0.0.1', port };
  const file = path.join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${name} ${primary.host} ${primary.port} 2`,
    `sentinel down-after-milliseconds ${name} 2000`,
    // A failover begins no earlier than twice this after the one before.
    `sentinel failover-timeout ${name} 2000`,
    `sentinel parallel-syncs ${name} 1`,
    `sentinel announce-ip ${node.host}`,
    `sentinel announce-port ${node.port}`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const running = startLeashed(program, [file, '--sentinel'], { stdout: 'pipe' });
  running.stdout?.resume();
  return {
    url: `redis://127.0.0.1:${port}`,
    node,
    async [Symbol.asyncDispose]() {
      await running.end();
      await rm(folder, { recursive: true });
    },
  };
}

export interface SentinelRedis extends AsyncDisposable {
  readonly name: string;
  readonly sentinels: readonly RedisNode[];
  readonly servers: readonly PrivateRedis[];
  /** The server that the sentinels name. */
  primary(): Promise<PrivateRedis>;
  /** Resolves with the primary when it is another one than `before`. */
  primaryAfter(before: PrivateRedis): Promise<PrivateRedis>;
  /** Has the sentinels make another server the primary, as before a maintenance. */
  failOver(): Promise<void>;
}

const replicationArguments = [
  '--min-replicas-max-lag',
  '3',
  '--repl-ping-replica-period',
  '1',
  '--repl-diskless-sync-delay',
  '0',
];

/** One primary, its replicas and three sentinels, which know each other when this resolves. */
export async function startSentinelRedis({
  replicas = 2,
  minReplicas = 1,
  before,
}: {
  readonly replicas?: number;
  readonly minReplicas?: number;
  readonly before?: StandsBefore;
} = {}): Promise<SentinelRedis> {
  const name = 'wells';
  await using started = new Started();
  const servers = await startReplicated(started, replicas, minReplicas);
  const sentinels: Sentinel[] = [];
  for (let count = 0; count < 3; count += 1) {
    sentinels.push(started.use(await startSentinel(nodeOf(servers[0]), name, before)));
  }
  for (const sentinel of sentinels) {
    await until(
      () => knownOf(sentinel, name),
      (known) => known === `2 ${replicas}`,
    );
  }
  const primary = async (): Promise<PrivateRedis> => {
    const port = await namedPort(sentinels, name);
    return servers.find((server) => portOf(server) === port) ?? servers[0];
  };
  const all = started.move();
  return {
    name,
    sentinels: sentinels.map(({ node }) => node),
    servers,
    primary,
    primaryAfter: (last) => until(primary, (now) => now !== last),
    failOver: async () => {
      // Refused until the sentinels have seen a replica that may be promoted.
      await until(
        () => atNode(sentinels[0] as Sentinel, (redis) => redis.call('SENTINEL', 'FAILOVER', name)),
        (answer) => answer === 'OK',
      );
    },
    [Symbol.asyncDispose]: () => all[Symbol.asyncDispose](),
  };
}

/** The first is the primary. */
async function startReplicated(
  started: Started,
  replicas: number,
  minReplicas: number,
): Promise<[PrivateRedis, ...PrivateRedis[]]> {
  const startServer = async (more: readonly string[]): Promise<PrivateRedis> => {
    const settings = [...replicationArguments, '--min-replicas-to-write', String(minReplicas), ...more];
    return started.use(await startPrivateRedis({ appendonly: true, more: () => settings }));
  };
  const first = await startServer([]);
  const servers: [PrivateRedis, ...PrivateRedis[]] = [first];
  for (let count = 0; count < replicas; count += 1) {
    servers.push(await startServer(['--replicaof', '127.0.0.1', String(portOf(first))]));
  }
  await until(
    () => atNode(first, (redis) => redis.info('replication')),
    (info) => [...info.matchAll(/state=online/g)].length === replicas,
  );
  return servers;
}

/** Other sentinels and replicas that a sentinel knows: `2 3`. */
async function knownOf(sentinel: Sentinel, name: string): Promise<string> {
  return atNode(sentinel, async (redis) => {
    const fields = (await redis.call('SENTINEL', 'MASTER', name)) as readonly string[];
    const field = (wanted: string): string | undefined => fields[fields.indexOf(wanted) + 1];
    return `${field('num-other-sentinels')} ${field('num-slaves')}`;
  });
}

/** By the first sentinel that answers. */
async function namedPort(sentinels: readonly Sentinel[], name: string): Promise<number> {
  const answers = sentinels.map((sentinel) =>
    atNode(sentinel, (redis) => redis.call('SENTINEL', 'get-master-addr-by-name', name) as Promise<readonly string[]>),
  );
  const [, port] = await Promise.any(answers);
  return Number(port);
}

export interface ClusterRedis extends AsyncDisposable {
  readonly nodes: readonly RedisNode[];
  readonly servers: readonly PrivateRedis[];
  /** The primary that owns the slot of a key. */
  ownerOf(key: string): Promise<PrivateRedis>;
  /** Resolves with the owner when it is another one than `before`. */
  ownerAfter(before: PrivateRedis, key: string): Promise<PrivateRedis>;
}

const slots = 16_384;

/** So many primaries, each with a replica where `hasReplicas`; all slots are served when this resolves. */
export async function startClusterRedis({ primaries = 3, hasReplicas = true } = {}): Promise<ClusterRedis> {
  await using started = new Started();
  const members: Member[] = [];
  for (let count = 0; count < primaries * (hasReplicas ? 2 : 1); count += 1) {
    const member = await startMember();
    started.use(member.server);
    members.push(member);
  }
  const servers = members.map(({ server }) => server);
  const owners = servers.slice(0, primaries);
  for (const [place, owner] of owners.entries()) await giveSlots(owner, place, primaries);
  await introduce(members);
  for (const [place, replica] of servers.slice(primaries).entries()) {
    await followedBy(owners[place] as PrivateRedis, replica);
  }
  for (const server of servers) {
    await until(
      () => clusterInfo(server),
      (info) => info.includes('cluster_state:ok'),
    );
  }
  const ownerOf = async (key: string): Promise<PrivateRedis> =>
    until(
      () => ownerBy(servers, key),
      (owner) => owner !== undefined,
    ) as Promise<PrivateRedis>;
  const all = started.move();
  return {
    nodes: servers.map(nodeOf),
    servers,
    ownerOf,
    ownerAfter: (before, key) =>
      until(
        () => ownerOf(key),
        (now) => now !== before,
      ),
    [Symbol.asyncDispose]: () => all[Symbol.asyncDispose](),
  };
}

interface Member {
  readonly server: PrivateRedis;
  /** The port by which the nodes speak to each other. */
  readonly bus: number;
}

async function startMember(): Promise<Member> {
  const bus = await freePort();
  const settings = ['--cluster-enabled', 'yes', '--cluster-port', String(bus), '--cluster-node-timeout', '3000'];
  const more = () => [...settings, '--repl-diskless-sync-delay', '0'];
  return { server: await startPrivateRedis({ appendonly: true, more }), bus };
}

async function giveSlots(owner: PrivateRedis, place: number, primaries: number): Promise<void> {
  const edge = (at: number): number => Math.floor((at * slots) / primaries);
  await atNode(owner, async (redis) => {
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', String(edge(place)), String(edge(place + 1) - 1));
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(place + 1));
  });
}

async function introduce(members: readonly Member[]): Promise<void> {
  const [first, ...others] = members as readonly [Member, ...Member[]];
  for (const { server, bus } of others) {
    const peer = ['127.0.0.1', String(portOf(server)), String(bus)];
    await atNode(first.server, (redis) => redis.call('CLUSTER', 'MEET', ...peer));
  }
  for (const { server } of members) {
    await until(
      () => clusterInfo(server),
      (info) => info.includes(`cluster_known_nodes:${members.length}`),
    );
  }
}

async function followedBy(owner: PrivateRedis, replica: PrivateRedis): Promise<void> {
  const id = await atNode(owner, (redis) => redis.call('CLUSTER', 'MYID'));
  await atNode(replica, (redis) => redis.call('CLUSTER', 'REPLICATE', String(id)));
  await until(
    () => atNode(replica, (redis) => redis.info('replication')),
    (info) => info.includes('master_link_status:up'),
  );
}

async function clusterInfo(server: PrivateRedis): Promise<string> {
  return atNode(server, async (redis) => String(await redis.call('CLUSTER', 'INFO')));
}

/** The server that says of itself that it is the primary with the slot of the key: one that is down says nothing. */
async function ownerBy(servers: readonly PrivateRedis[], key: string): Promise<PrivateRedis | undefined> {
  const views = await Promise.allSettled(servers.map((server) => ownsSlot(server, key)));
  return servers.find((_, place) => {
    const view = views[place];
    return view?.status === 'fulfilled' && view.value;
  });
}

async function ownsSlot(server: PrivateRedis, key: string): Promise<boolean> {
  return atNode(server, async (redis) => {
    const slot = Number(await redis.call('CLUSTER', 'KEYSLOT', key));
    const ranges = (await redis.call('CLUSTER', 'SLOTS')) as readonly SlotRange[];
    return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1] === portOf(server);
  });
}

/** As CLUSTER SLOTS gives it: the first slot, the last one, then the primary. */
type SlotRange = readonly [from: number, to: number, primary: readonly [host: string, port: number]];
