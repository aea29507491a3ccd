/** The release of rows that a run holds: what it would let go, and the run that does it. */
import { UsageError } from '../../core/base/errors.ts';
import { type ReadKind, isFinished, type RunSummary } from '../../core/run/run.ts';
import type { HeldRows } from '../../core/run/held-rows.ts';
import type { App } from '../app.ts';
import { checkBeforeRun } from '../preflight.ts';
import type { Asker, RunName } from '../start-run.ts';
import type { IdempotencyKey } from '../../core/run/idempotency-key.ts';

/** Holds that an answer names one by one. */
const namedHolds = 100;

/** What the job of a run holds; undefined for a job that removes no rows. */
function heldKindOf(job: string, { jobs }: App): ReadKind | undefined {
  return jobs.find(({ name }) => name === job)?.release?.kind;
}

/** The holds of a run that stand; undefined for a run that has not ended, or of a job that holds nothing. */
export async function standingHolds(
  app: App,
  { runId, job, state }: Pick<RunSummary, 'runId' | 'job' | 'state'>,
): Promise<HeldRows | undefined> {
  const kind = heldKindOf(job, app);
  if (kind === undefined || !isFinished(state)) return undefined;
  return app.ledger.holds.ofRun(runId, kind, namedHolds);
}

/** As {@link standingHolds}, to be released. Throws UsageError if there is nothing to release. */
export async function holdsToRelease(app: App, run: Pick<RunSummary, 'runId' | 'job' | 'state'>): Promise<HeldRows> {
  const { runId, job, state } = run;
  if (!isFinished(state))
    throw new UsageError(`run ${runId} is ${state}: what it holds can be released when it has ended`);
  const held = await standingHolds(app, run);
  if (held === undefined) throw new UsageError(`run ${runId} holds no rows: ${job} removes none`);
  if (held.rows === 0) {
    throw new UsageError(`run ${runId} holds no rows`, {
      action: { kind: 'list-held' },
    });
  }
  return held;
}

/** Every hold that stands, by the job that releases it; a job of which nothing is held is absent. */
export async function allHolds({
  ledger,
  jobs,
}: App): Promise<ReadonlyArray<{ readonly job: string; readonly held: HeldRows }>> {
  const all: Array<{ readonly job: string; readonly held: HeldRows }> = [];
  const kinds = new Set<ReadKind>();
  for (const { name: job, release } of jobs) {
    if (release === undefined || kinds.has(release.kind)) continue;
    kinds.add(release.kind);
    const held = await ledger.holds.standing(release.kind, namedHolds);
    if (held.rows > 0) all.push({ job, held });
  }
  return all;
}

/**
 * Starts the run that releases what the run `of` holds, after the same checks as for a new run. `rows`: the held rows that
 * the person was shown. Throws as RunService.release does.
 */
export async function releaseRows(
  app: App,
  { of, rows }: { readonly of: string; readonly rows: number },
  { actor, connection, key }: Asker & { readonly key?: IdempotencyKey | undefined },
): Promise<RunName & { readonly isRepeat: boolean }> {
  await checkBeforeRun(app);
  await app.queue(connection);
  return (await app.runService()).release(of, rows, { actor, key });
}
