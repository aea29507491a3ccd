/** Where Redis is, with the secrets and certificates that its settings name by files: read when wellsync starts. */
import { UsageError } from '../src/core/base/errors.ts';
import { readSmallFile } from './read-file.ts';
import { defaultRedisUrl, type RedisSchema } from './redis-schema.ts';

interface User {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

interface Node {
  readonly host: string;
  readonly port: number;
}

/** One way to a Redis. `tls`: content of the PEM files. */
export type RedisAccess = (
  | { readonly url: string }
  | (User & {
      readonly sentinel: User & { readonly nodes: readonly Node[]; readonly name: string };
      readonly database: number | undefined;
    })
  | (User & { readonly cluster: { readonly nodes: readonly Node[] } })
) & { readonly tls: Tls | undefined };

interface Tls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly passphrase: string | undefined;
}

/** Throws UsageError for a file that cannot be read or is empty. */
export function redisAccess({
  url = defaultRedisUrl,
  sentinel,
  cluster,
  database,
  ...settings
}: RedisSchema): RedisAccess {
  const tls = tlsOf(settings.tls);
  const { username } = settings;
  const password = passwordOf('redis.passwordFile', settings.passwordFile);
  if (cluster !== undefined) return { cluster, username, password, tls };
  if (sentinel === undefined) return { url: withUser(url, { username, password }), tls };
  const { passwordFile, ...named } = sentinel;
  const ofSentinels = { ...named, password: passwordOf('redis.sentinel.passwordFile', passwordFile) };
  return { sentinel: ofSentinels, username, password, database, tls };
}

function withUser(url: string, { username, password }: User): string {
  const address = new URL(url);
  if (username !== undefined) address.username = encodeURIComponent(username);
  if (password !== undefined) address.password = encodeURIComponent(password);
  return username === undefined && password === undefined ? url : address.href;
}

function tlsOf(tls: RedisSchema['tls']): Tls | undefined {
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
