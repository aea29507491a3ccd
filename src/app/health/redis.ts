import type { Config } from '../../../config/schema.ts';
import { bytesText } from '../../core/base/text.ts';
import { checkRedis, shownAddress } from '../../queue/redis.ts';
import { type Finding, ok, warning } from './finding.ts';

/** A run takes up to 64 MB of Redis (G8); above this share of maxmemory there may be no room for the next ones. */
const fullShare = 0.8;

export async function checkRedisPart({ redis }: Config): Promise<Finding> {
  const { version, evictionPolicy, usedMemoryBytes, maxMemoryBytes } = await checkRedis(redis.url);
  const limit = maxMemoryBytes === 0 ? 'no limit' : `a limit of ${bytesText(maxMemoryBytes)}`;
  const memory = `${bytesText(usedMemoryBytes)} used, ${limit}`;
  const message = `${shownAddress(redis.url)}, version ${version}, ${evictionPolicy}, ${memory}, written to`;
  if (evictionPolicy === 'unknown') {
    return warning('redis', message, {
      hint: 'Make sure that its maxmemory-policy is noeviction: it cannot be read here.',
    });
  }
  if (maxMemoryBytes > 0 && usedMemoryBytes > fullShare * maxMemoryBytes) {
    return warning('redis', message, {
      hint: 'It is nearly full, and refuses writes when it is: raise its maxmemory.',
    });
  }
  return ok('redis', message);
}
