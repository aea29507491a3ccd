/** Starts a run unless the same one is unfinished: what keeps two crons from doing the same work twice. */
import { WellsyncError } from '../core/base/errors.ts';
import { roughDurationText } from '../core/base/text.ts';
import type { IdempotencyKey } from '../core/run/idempotency-key.ts';
import { decideOverlap, type UnfinishedRun } from '../core/run/overlap.ts';
import { isFinished, type RunSummary } from '../core/run/run.ts';
import type { App } from './app.ts';
import { isUnattended } from './follow-run.ts';
import type { Asker, JobRequest, RunName } from './start-run.ts';

/**
 * `started`: a new run. `going-on`: an unfinished one that nobody works. `going-on-first`: one of an earlier night, so
 * that the request is to be made again once it has ended. `under-way`: nothing is to be done.
 */
export type StartedOnce = RunName & { readonly kind: 'started' | 'going-on' | 'going-on-first' | 'under-way' };

/** The same run has not ended, and has not moved for so long that its end is not to be expected. */
class StuckRunError extends WellsyncError {
  override readonly name = 'StuckRunError';
}

/**
 * As queueRun, unless a run of the same job, service, parameters and targets has not ended, or a request with the key has
 * made one: then it is `under-way`, even if it has ended. `canWork`: the caller works runs itself. Throws StuckRunError if that run has not moved for `run.stuckAfterMs`.
 */
export async function queueRunOnce(
  app: App,
  { job, params, targets }: JobRequest,
  { actor, connection, key }: Asker & { readonly key?: IdempotencyKey | undefined },
  { canWork }: { readonly canWork: boolean },
): Promise<StartedOnce> {
  await app.queue(connection);
  const runService = await app.runService();
  const { runId, unfinished } = await runService.startOnce(job, params, {
    actor,
    key,
    ...(targets === undefined ? {} : { targets }),
  });
  if (unfinished === undefined) return { kind: 'started', runId, job };
  if (isFinished(unfinished.state)) return { kind: 'under-way', runId, job };
  const seen = await look(app, unfinished);
  const decision = decideOverlap(seen, { stuckAfterMs: app.config.run.stuckAfterMs, canWork });
  if (decision === 'stuck') throw stuckError(unfinished, seen);
  if (decision === 'skip') return { kind: 'under-way', runId, job };
  return { kind: canWork && unfinished.isOutdated ? 'going-on-first' : 'going-on', runId, job };
}

async function look(
  app: App,
  { runId, job, requestedAtMs, reopenedAtMs = requestedAtMs }: RunSummary,
): Promise<UnfinishedRun> {
  const progress = await (await app.queue('prompt')).progress.read(runId);
  const isAttended = !(await isUnattended(app, job));
  if (progress !== undefined && progress.units > 0) return { isAttended, unmovedMs: progress.unmovedMs };
  // A retried run was requested long ago, and was queued again only when it was reopened.
  return { isAttended, unmovedMs: Math.max(0, Date.now() - reopenedAtMs) };
}

function stuckError({ runId, requestedAtMs }: RunSummary, { isAttended, unmovedMs }: UnfinishedRun): StuckRunError {
  const age = roughDurationText(Math.max(0, Date.now() - requestedAtMs));
  const still = roughDurationText(unmovedMs);
  const worker = isAttended ? 'a worker is running' : 'no worker is running';
  return new StuckRunError(
    'run-stuck',
    `run ${runId} of the same job was requested ${age} ago and has not moved for ${still}, and ${worker}: nothing was started`,
    {
      hint: 'A longer wait may be right for a service that is down: run.stuckAfterMs.',
      action: { kind: 'look-at-run', runId },
    },
  );
}
