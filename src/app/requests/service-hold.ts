/** The request to lift what holds back all requests to the service: a Retry-After, or that it was down. */
import type { ServiceHold } from '../../core/run/service-hold.ts';
import type { ServiceOutage } from '../../core/run/service-outage.ts';
import type { App } from '../app.ts';

/** What held requests back; undefined for what did not. */
interface HeldBack {
  readonly hold: ServiceHold | undefined;
  readonly outage: ServiceOutage | undefined;
}

/** Lets all workers send requests at once, unless `dryRun`. Throws UnreachableError('redis'). */
export async function releaseService(app: App, { dryRun }: { readonly dryRun: boolean }): Promise<HeldBack> {
  const { serviceHold } = await app.queue('prompt');
  const outage = await serviceHold.readOutage();
  return { hold: dryRun ? await serviceHold.read() : await serviceHold.lift(), outage };
}
