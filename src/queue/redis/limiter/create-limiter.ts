/** The limiter towards a service whose limits are in Redis (G9). */
import { SharedLimiter, type LimiterSettings } from '../../limiter/limiter.ts';
import { connectRedis } from '../connection.ts';
import { withOutages } from '../fault.ts';
import { limitsKey, type QueueAddress } from '../queue-names.ts';
import { limiterKeys } from './limiter-keys.ts';
import { RedisAdmission } from './redis-admission.ts';

/**
 * Throws UnreachableError('redis') if Redis does not answer now; waits out later outages. Calls throw
 * OutageError('redis') while Redis answers with errors.
 */
export async function createRedisLimiter(settings: LimiterSettings & QueueAddress): Promise<SharedLimiter> {
  const redis = await connectRedis(settings.redis, 'lasting');
  const keys = limiterKeys(limitsKey(settings));
  return withOutages(new SharedLimiter((limits) => new RedisAdmission(redis, keys, limits), settings));
}
