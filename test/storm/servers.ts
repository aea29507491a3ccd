/** The servers of a storm, each behind a byte proxy: the service, Redis or Sentinel, PostgreSQL, a store of files. */
import { Client } from 'pg';
import { postgresFolder, type PostgresRelease } from '../support/postgres/postgres-program.ts';
import { type PostgresServer, startPostgres } from '../support/postgres/postgres-server.ts';
import { privateRedisLack, type PrivateRedis, startPrivateRedis } from '../support/redis.ts';
import { type SentinelRedis, startSentinelRedis } from '../support/redis-topologies.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { Started } from '../support/started.ts';
import type { Plan } from './plan.ts';
import { type StormService, startStormService } from './service/service.ts';
import { type ByteProxy, startByteProxy } from './world/proxy.ts';

/** What the installation speaks to. */
export interface Servers extends AsyncDisposable {
  readonly service: StormService;
  /** Address of the service, by way of its proxy. */
  readonly serviceUrl: string;
  /** Null with an embedded queue. */
  readonly redis: StormRedis | null;
  /** Null with a DuckDB file. */
  readonly postgres: StormPostgres | null;
  readonly store: S3Server;
  /** Address of the store, by way of its proxy. */
  readonly storeUrl: string;
  /** By the name of what is behind: `service`, `redis`, `postgres`, `store`. With Sentinel, Redis has none; with a file, the store. */
  readonly proxies: Readonly<Record<string, ByteProxy>>;
}

export interface StormRedis {
  /** The lines of the configuration that name it. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly single?: PrivateRedis;
  readonly sentinel?: SentinelRedis;
  /** Address of the server that has the queue now. */
  url(): Promise<string>;
}

export interface StormPostgres {
  readonly server: PostgresServer;
  /** By way of the proxy, for the installation. */
  readonly url: string;
  /** Past the proxy, for who judges. */
  readonly directUrl: string;
  /** How often another queue took the warehouse; undefined while the server is away. */
  epoch(): Promise<number | undefined>;
  /** Creates another, empty database, and returns its address past the proxy. */
  another(name: string): Promise<string>;
}

const postgresRelease: PostgresRelease = 'newest';

/** What this machine lacks for a storm; undefined where it lacks nothing. */
export function stormLack({ warehouse, queue }: Pick<Plan, 'warehouse' | 'queue'>): string | undefined {
  const redisLack = queue === 'redis' ? privateRedisLack() : undefined;
  if (redisLack !== undefined) return redisLack;
  if (warehouse === 'duckdb') return undefined;
  try {
    postgresFolder(postgresRelease);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Starts them all; they end with it. */
export async function startServers(plan: Plan): Promise<Servers> {
  await using started = new Started();
  const { seed, latencyMs } = plan;
  const service = started.use(await startStormService({ seed, latencyMs }));
  const store = started.use(await startS3Server('storm'));
  const behind = async (name: string, url: string): Promise<ByteProxy> => {
    const { hostname, port } = new URL(url);
    return started.use(await startByteProxy({ name, target: { host: hostname, port: Number(port) } }));
  };
  const proxies: Record<string, ByteProxy> = {
    service: await behind('service', service.url),
  };
  const storeProxy = await behind('store', store.endpoint);
  // With a file as the warehouse nobody speaks to the store.
  if (plan.warehouse === 'postgres') proxies['store'] = storeProxy;
  const redis = await startRedis(plan, proxies, started, behind);
  const postgres = plan.warehouse === 'duckdb' ? null : await startDatabase(proxies, started, behind);
  const all = started.move();
  return {
    service,
    store,
    redis,
    postgres,
    proxies,
    serviceUrl: addressOf(proxies['service'] as ByteProxy, 'http'),
    storeUrl: addressOf(storeProxy, 'http'),
    [Symbol.asyncDispose]: () => all[Symbol.asyncDispose](),
  };
}

type Behind = (name: string, url: string) => Promise<ByteProxy>;

function addressOf({ port }: ByteProxy, scheme: string): string {
  return `${scheme}://127.0.0.1:${port}`;
}

async function startRedis(
  { topology }: Plan,
  proxies: Record<string, ByteProxy>,
  started: Started,
  behind: Behind,
): Promise<StormRedis | null> {
  if (topology === null) return null;
  if (topology === 'sentinel') {
    const sentinel = started.use(await startSentinelRedis());
    const nodes = sentinel.sentinels.map(({ host, port }) => `${host}:${port}`);
    const url = async (): Promise<string> => (await sentinel.primary()).url;
    return { sentinel, url, settings: { sentinel: { nodes, name: sentinel.name } } };
  }
  const single = started.use(await startPrivateRedis({ appendonly: true }));
  const proxy = await behind('redis', single.url);
  proxies['redis'] = proxy;
  return { single, url: async () => single.url, settings: { url: addressOf(proxy, 'redis') } };
}

async function startDatabase(
  proxies: Record<string, ByteProxy>,
  started: Started,
  behind: Behind,
): Promise<StormPostgres> {
  const server = await startPostgres(postgresRelease);
  started.use({ [Symbol.asyncDispose]: () => server.dispose() });
  const another = async (name: string): Promise<string> => {
    const admin = new Client({ connectionString: `${server.adminUrl}/postgres` });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    await admin.end();
    return `${server.adminUrl}/${name}`;
  };
  const directUrl = await another('storm');
  const proxy = await behind('postgres', server.adminUrl);
  proxies['postgres'] = proxy;
  return {
    server,
    url: `postgres://postgres@127.0.0.1:${proxy.port}/storm`,
    directUrl,
    epoch: () => epochOf(directUrl).catch(() => undefined),
    another,
  };
}

async function epochOf(connectionString: string): Promise<number> {
  const client = new Client({ connectionString });
  // A server that ends says so to a client that waits for nothing, too.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ epoch: string }>('SELECT epoch FROM warehouse');
    return Number(rows[0]?.epoch);
  } finally {
    await client.end().catch(() => undefined);
  }
}
