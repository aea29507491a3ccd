/** What the nodes of a Redis say of themselves. */
import { Cluster, type Redis } from 'ioredis';
import { createNodeClient, type RedisHandle } from './options.ts';
import type { RedisNode, RedisSettings } from './settings.ts';

export interface NodeState {
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

/** The states of the nodes that answer; `silent`: those that do not. Throws the fault of the primary. */
export async function readNodeStates(
  settings: RedisSettings,
  handle: RedisHandle,
): Promise<{ readonly states: readonly NodeState[]; readonly silent: readonly RedisNode[] }> {
  if (handle instanceof Cluster) return gathered(handle.nodes('all').map((each) => [nodeOf(each), each]));
  const primary = await readState(handle, undefined);
  const clients = primary.replicas.map((node) => [node, createNodeClient(settings, node)] as const);
  const { states, silent } = await gathered(clients);
  for (const [, client] of clients) client.disconnect();
  return { states: [primary, ...states], silent };
}

async function gathered(clients: ReadonlyArray<readonly [RedisNode, Redis]>) {
  const answers = await Promise.allSettled(clients.map(([node, client]) => readState(client, node)));
  return {
    states: answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : [])),
    silent: clients.flatMap(([node], place) => (answers[place]?.status === 'rejected' ? [node] : [])),
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
