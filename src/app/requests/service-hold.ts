/** The request to lift the hold that a Retry-After of the service put on all workers. */
import type { ServiceHold } from '../../core/run/service-hold.ts';
import type { App } from '../app.ts';

/**
 * Lets all workers send requests at once, unless `dryRun`. Returns the hold; undefined if there was none. Throws
 * UnreachableError('redis').
 */
export async function releaseService(
  app: App,
  { dryRun }: { readonly dryRun: boolean },
): Promise<ServiceHold | undefined> {
  const { serviceHold } = await app.queue('prompt');
  return dryRun ? serviceHold.read() : serviceHold.lift();
}
