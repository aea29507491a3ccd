/** The request to lift what holds back all requests to the service: a Retry-After, or that it was down. */
import type { App } from '../app.ts';
import { type HeldBack, readHeldBack } from '../held-back.ts';

/** Lets all workers send requests at once, unless `dryRun`. Returns what held them. Throws UnreachableError('redis'). */
export async function releaseService(app: App, { dryRun }: { readonly dryRun: boolean }): Promise<HeldBack> {
  const held = await readHeldBack(app);
  if (!dryRun) await (await app.queue('prompt')).serviceHold.lift();
  return held;
}
