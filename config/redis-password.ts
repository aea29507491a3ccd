/** The password of Redis from a file, such as a mounted secret, put into the address that every connection takes. */
import { UsageError } from '../src/core/base/errors.ts';
import { readSmallFile } from './read-file.ts';

interface WithRedis {
  readonly redis: { readonly url: string; readonly passwordFile?: string | undefined };
}

/** Blanks at the end of the file are not part of it. Throws UsageError for a file that cannot be read or is empty. */
export function withRedisPassword<Settings extends WithRedis>(settings: Settings): Settings {
  const { url, passwordFile } = settings.redis;
  if (passwordFile === undefined) return settings;
  const hint = 'Check the path in WELLSYNC_REDIS_PASSWORD_FILE or redis.passwordFile, and who may read the file.';
  const password = readSmallFile(passwordFile, 'the password file of Redis', hint).trimEnd();
  if (password === '') throw new UsageError(`the password file of Redis ${passwordFile} is empty`, { hint });
  const address = new URL(url);
  address.password = encodeURIComponent(password);
  return { ...settings, redis: { ...settings.redis, url: address.href } };
}
