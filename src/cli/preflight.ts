/** Decides whether work may start: every part that it needs is set, reachable and fit, before anything is written. */
import { checkRedis } from '../queue/redis.ts';
import { checkServiceReach } from '../service/reach.ts';
import { serviceUrlOf, tlsOf, type Installation } from './installation.ts';
import { checkSecretFiles } from './secret-files.ts';

/** Throws UsageError or UnreachableError for the first part that is not as it must be; nothing was started then. */
export async function checkBeforeWork({ config, warehouse }: Installation): Promise<void> {
  const url = serviceUrlOf(config);
  await checkSecretFiles(config);
  await checkServiceReach(url, tlsOf(config));
  await checkRedis(config.redis.url);
  await warehouse.check();
}
