/** A file in inbox/cleanup: a plan is made of it. Nothing is deleted: a person applies the plan (G6). */
import { Readable } from 'node:stream';
import { PermanentError } from '../../core/base/errors.ts';
import type { Claim } from '../../files/inbox/inbox-folder.ts';
import { askService } from '../ask-service.ts';
import { planTargets } from '../requests/cleanup-plan.ts';
import { ofFile } from '../requests/cleanup-targets.ts';
import { planDocument } from '../views/cleanup-plan.ts';
import type { ArrivalContext, ArrivalEnd } from './arrival-end.ts';

export async function planArrival(
  { file, shownName, sighting }: Claim,
  { app, actor, log, signal }: ArrivalContext,
): Promise<ArrivalEnd> {
  if (sighting === undefined) {
    throw new PermanentError(
      'inbox-file',
      `${shownName} is no regular file any more: it was replaced while it was taken`,
    );
  }
  const targets = await ofFile(file, Readable.from([]));
  const request = { targets, createdBy: actor, keep: true, includesProducing: false };
  const made = await askService(app, { log, signal }, (context, look) =>
    planTargets(request, app.config, context, look),
  );
  const { planId } = made.plan;
  const hint = `Nothing was deleted. Plan ${planId} waits for a person who has looked at it and applies it.`;
  return { state: 'done', report: { hint, plan: planDocument(made) }, line: { planId } };
}
