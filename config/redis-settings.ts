/** The schema of the settings of Redis: one server, the primary that Sentinel names, or a cluster (docs/redis.md). */
import { z } from 'zod';
import { UsageError } from '../src/core/base/errors.ts';
import { readSmallFile } from './config-file.ts';

/** Schemas that settings of several parts share. */
export const text = z.string().trim().min(1);

/** PEM files. */
export const tlsFiles = z
  .strictObject({
    caFile: text.optional(),
    certFile: text.optional(),
    keyFile: text.optional(),
    passphrase: text.optional(),
    passphraseFile: text.optional(),
  })
  .refine(({ certFile, keyFile }) => keyFile === undefined || certFile !== undefined, {
    error: 'is the key of a certificate: name that by certFile',
    path: ['keyFile'],
  })
  .refine(({ passphrase, passphraseFile }) => passphrase === undefined || passphraseFile === undefined, {
    error: 'passphrase and passphraseFile exclude each other',
    path: ['passphraseFile'],
  });

export const redisWays = ['url', 'sentinel', 'cluster'] as const;

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
  .refine((redis) => isNamed(redis) || Object.values(redis).every((value) => value === undefined), {
    error: `says how to reach Redis, and not where: set one of ${redisWays.join(', ')} (WELLSYNC_REDIS_URL), or leave it out`,
  });

/** Whether the settings say where Redis is. Without, the queue is embedded in the working process. */
export function isNamed(redis: Readonly<Partial<Record<(typeof redisWays)[number], unknown>>>): boolean {
  return redisWays.some((way) => redis[way] !== undefined);
}

type RedisSchema = Readonly<z.output<typeof redisSchema>>;

/** Where Redis is, with the content of the files that its settings name. */
export type RedisAccess = NonNullable<ReturnType<typeof redisAccess>>;

/** Undefined where no Redis is named. Throws UsageError for a file that cannot be read or is empty. */
export function redisAccess(redis: RedisSchema) {
  const { url, sentinel, cluster, database, ...settings } = redis;
  if (!isNamed(redis)) return undefined;
  const tls = tlsOf(settings.tls);
  const { username } = settings;
  const password = passwordOf('redis.passwordFile', settings.passwordFile);
  if (cluster !== undefined) return { cluster, username, password, tls };
  if (url !== undefined) return { url: withUser(url, { username, password }), tls };
  if (sentinel === undefined) return undefined;
  const { passwordFile, ...named } = sentinel;
  const ofSentinels = { ...named, password: passwordOf('redis.sentinel.passwordFile', passwordFile) };
  return { sentinel: ofSentinels, username, password, database, tls };
}

function withUser(
  url: string,
  { username, password }: Readonly<Partial<Record<'username' | 'password', string | undefined>>>,
): string {
  const address = new URL(url);
  if (username !== undefined) address.username = encodeURIComponent(username);
  if (password !== undefined) address.password = encodeURIComponent(password);
  return username === undefined && password === undefined ? url : address.href;
}

function tlsOf(tls: RedisSchema['tls']) {
  if (tls === undefined) return undefined;
  const cert = pemOf('redis.tls.certFile', tls.certFile);
  return {
    ca: pemOf('redis.tls.caFile', tls.caFile),
    cert,
    key: tls.keyFile === undefined ? cert : pemOf('redis.tls.keyFile', tls.keyFile),
    passphrase: tls.passphrase ?? passwordOf('redis.tls.passphraseFile', tls.passphraseFile),
  };
}

/** Blanks at the end of the file are not part of it. */
function passwordOf(setting: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const hint = hintOf(setting);
  const secret = readSmallFile(file, 'the password file of Redis', hint).trimEnd();
  if (secret === '') throw new UsageError(`the password file of Redis ${file} is empty`, { hint });
  return secret;
}

function pemOf(setting: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const content = readSmallFile(file, `the file of ${setting}`, hintOf(setting));
  if (content.includes('-----BEGIN ')) return content;
  throw new UsageError(`the file of ${setting} ${file} holds no certificate and no key`, {
    hint: 'It is text that begins with -----BEGIN (PEM).',
  });
}

function hintOf(setting: string): string {
  const variable = setting === 'redis.passwordFile' ? 'WELLSYNC_REDIS_PASSWORD_FILE or ' : '';
  return `Check the path in ${variable}${setting}, and who may read the file.`;
}
