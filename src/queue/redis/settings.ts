/** Where Redis is, and how it lets wellsync in: one server, the primary that Sentinel names, or a cluster (docs/redis.md). */

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

export interface RedisTls {
  /** Authorities that are trusted; by default the well-known ones. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly passphrase?: string | undefined;
}

interface RedisUser {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

interface SingleRedis {
  /** redis:// or, for TLS, rediss://, with user, password and number of the database. */
  readonly url: string;
}

interface SentinelRedis extends RedisUser {
  readonly sentinel: RedisUser & {
    readonly nodes: readonly RedisNode[];
    /** The name of the primary in the configuration of the sentinels. */
    readonly name: string;
  };
  readonly database?: number | undefined;
}

interface ClusterRedis extends RedisUser {
  /** Some of its nodes: they name the others. */
  readonly cluster: { readonly nodes: readonly RedisNode[] };
}

/** `tls`: every node is spoken to by TLS; for one server its address decides. */
export type RedisSettings = (SingleRedis | SentinelRedis | ClusterRedis) & { readonly tls?: RedisTls | undefined };

export interface RedisLocation {
  readonly redis: RedisSettings;
  /** Distinguishes installations on one Redis. */
  readonly prefix: string;
}

/**
 * What the keys of an installation begin with. On a cluster the braces of a hash tag keep them on one primary: scripts and
 * transactions reach only one.
 */
export function keyPrefix({ redis, prefix }: RedisLocation): string {
  return 'cluster' in redis ? `{${prefix}}` : prefix;
}

/** Hosts, ports and number of the database, for display: no user, no password, no other path (G10). */
export function shownAddress(redis: RedisSettings): string {
  if ('cluster' in redis) return `the cluster of ${shownNodes(redis.cluster.nodes)}`;
  if ('sentinel' in redis) return `${redis.sentinel.name} of the sentinels ${shownNodes(redis.sentinel.nodes)}`;
  const { protocol, host, pathname } = new URL(redis.url);
  return `${protocol}//${host}${/^\/\d+$/.test(pathname) ? pathname : ''}`;
}

function shownNodes(nodes: readonly RedisNode[]): string {
  return nodes.map(shownNode).join(', ');
}

/** `HOST:PORT`. */
export function shownNode({ host, port }: RedisNode): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
