import type { Config } from '../../../config/schema.ts';
import { bytesText } from '../../core/base/text.ts';
import { checkRedis } from '../../queue/redis/check.ts';
import { shownAddress } from '../../queue/redis/settings.ts';
import { redisPlaceOf } from '../service-settings.ts';
import { failedFinding, type Finding, ok, warning } from './finding.ts';

/** A run takes up to 64 MB of Redis (G8); above this share of maxmemory there may be no room for the next ones. */
const fullShare = 0.8;

const otherwise = {
  hint: 'See whether Redis is up, and WELLSYNC_REDIS_URL and WELLSYNC_QUEUE_PREFIX are those of the workers.',
};

/** The finding of Redis itself, then one for each remark on it. */
export async function redisFindings(config: Config): Promise<readonly [Finding, ...Finding[]]> {
  try {
    const info = await checkRedis(redisPlaceOf(config));
    const { product, evictionPolicy, nodes, usedMemoryBytes, maxMemoryBytes } = info;
    const limit = maxMemoryBytes === 0 ? 'no limit' : `a limit of ${bytesText(maxMemoryBytes)}`;
    const memory = `${bytesText(usedMemoryBytes)} used, ${limit}`;
    const all = nodes === 1 ? '' : `, ${nodes} nodes`;
    const message = `${shownAddress(config.redis)}${all}, ${product}, ${evictionPolicy}, ${memory}, written to`;
    const remarks = info.remarks.map(({ message: remark, hint }) => warning('redis', remark, { hint }));
    const isFull = maxMemoryBytes > 0 && usedMemoryBytes > fullShare * maxMemoryBytes;
    const full = { hint: 'It is nearly full, and refuses writes when it is: raise its maxmemory.' };
    return [isFull ? warning('redis', message, full) : ok('redis', message), ...remarks];
  } catch (error) {
    return [failedFinding('redis', error, otherwise)];
  }
}
