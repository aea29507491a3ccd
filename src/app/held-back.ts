/** What holds back the requests of all workers to the service: a wait that it requested, and that it was down (G9). */
import type { ServiceHold } from '../core/run/service-hold.ts';
import type { ServiceOutage } from '../core/run/service-outage.ts';
import type { App } from './app.ts';

/** Undefined for what does not. */
export interface HeldBack {
  readonly hold: ServiceHold | undefined;
  readonly outage: ServiceOutage | undefined;
}

export const notHeldBack: HeldBack = { hold: undefined, outage: undefined };

/** Throws UnreachableError('redis'). */
export async function readHeldBack(app: App): Promise<HeldBack> {
  const { serviceHold } = await app.queue('prompt');
  return { hold: await serviceHold.read(), outage: await serviceHold.readOutage() };
}
