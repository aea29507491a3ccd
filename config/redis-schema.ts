/** The schema of the settings of Redis: one server, the primary that Sentinel names, or a cluster (docs/redis.md). */
import { z } from 'zod';
import { text, tlsFiles } from './parts.ts';

/** The ways to name a Redis. */
export const redisWays = ['url', 'sentinel', 'cluster'] as const;

export const defaultRedisUrl = 'redis://127.0.0.1:6379';

/** The database is a number; anything else in its place may be a user and password whose slashes are missing (G10). */
const urlPattern = /^rediss?:\/\/([^/?#]*@)?[^/?#@]+(\/\d*)?(\?[^#@]*)?$/i;

const redisUrl = z
  .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// address' })
  .refine((url) => urlPattern.test(url), {
    error:
      'must be redis:// or rediss://, a host, and at most the number of a database: redis://user:password@host:6379/0',
  })
  .refine(isPercentEncoded, 'has a % that encodes nothing: write % as %25, in a password too');

function isPercentEncoded(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

/** A name, an IPv4 address or an IPv6 address in brackets, with a port or without. A user has no place in it (G10). */
const nodePattern = /^(?:\[(?<ipv6>[0-9a-f:.]+)\]|(?<host>[\w.-]+))(?::(?<port>\d{1,5}))?$/i;

function nodes(defaultPort: number) {
  const node = text
    .regex(nodePattern, `must be a host with its port, such as 10.0.0.1:${defaultPort}`)
    .refine((given) => Number(portOf(given) ?? defaultPort) <= 65_535, 'has a port above 65535')
    .transform((given) => {
      const { ipv6, host = '' } = nodePattern.exec(given)?.groups ?? {};
      return { host: ipv6 ?? host, port: Number(portOf(given) ?? defaultPort) };
    });
  return z.array(node).min(1);
}

function portOf(given: string): string | undefined {
  return nodePattern.exec(given)?.groups?.['port'];
}

export const redisSchema = z
  .strictObject({
    url: redisUrl.optional(),
    sentinel: z
      .strictObject({
        nodes: nodes(26_379),
        name: text.regex(/^[\w.-]+$/, 'may hold letters, digits, ., - and _'),
        username: text.optional(),
        passwordFile: text.optional(),
      })
      .optional(),
    cluster: z.strictObject({ nodes: nodes(6_379) }).optional(),
    username: text.optional(),
    passwordFile: text.optional(),
    database: z.number().int().nonnegative().optional(),
    tls: tlsFiles.optional(),
  })
  .refine((redis) => redisWays.filter((way) => redis[way] !== undefined).length <= 1, {
    error: `${redisWays.join(', ')} exclude each other: one of them says where Redis is`,
  })
  .refine(({ url = '', passwordFile }) => passwordFile === undefined || !URL.parse(url)?.password, {
    error: 'redis.url holds a password already: name it by one of them',
    path: ['passwordFile'],
  })
  .refine(({ url = '', username }) => username === undefined || !URL.parse(url)?.username, {
    error: 'redis.url holds a user already: name it by one of them',
    path: ['username'],
  })
  .refine(({ sentinel, database }) => database === undefined || sentinel !== undefined, {
    error: 'is for redis.sentinel: an address names its database itself, and a cluster has only 0',
    path: ['database'],
  })
  .refine(({ tls, sentinel, cluster, url = '' }) => tls === undefined || sentinel || cluster || /^rediss:/i.test(url), {
    error: 'is for an address that begins with rediss://',
    path: ['tls'],
  })
  .transform((redis) =>
    redisWays.some((way) => redis[way] !== undefined) ? redis : { ...redis, url: defaultRedisUrl },
  );

export type RedisSchema = Readonly<z.output<typeof redisSchema>>;
