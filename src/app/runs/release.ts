/** The release of rows that a run holds: what it would let go, and the run that does it (G4). */
import { type IdempotencyKey, isFinished, type ReadKind, type RunSummary } from '../../core/run/run.ts';
import { otherRowsHeld, releasingJobOf } from '../../runs/run-service.ts';
import type { App } from '../app.ts';
import { checkBeforeRun } from '../preflight.ts';
import { type HeldDocument, heldDocument } from './run-document.ts';
import type { Requester, RunName } from './start-run.ts';

/** Holds that an answer names one by one. */
const namedHolds = 100;

/** The holds of a run that stand; undefined for a run that has not ended, or of a job that holds nothing. */
export async function standingHolds(
  { jobs, ledger }: App,
  { runId, job, state }: Pick<RunSummary, 'runId' | 'job' | 'state'>,
): Promise<HeldDocument | undefined> {
  const release = jobs.find(({ name }) => name === job)?.release;
  if (release === undefined || !isFinished(state)) return undefined;
  return heldDocument(await ledger.holds.ofRun(runId, release.kind, namedHolds));
}

/**
 * As {@link standingHolds}, to be released. `shown`: the held rows that a person was shown before, if any. Throws UsageError
 * where the job holds nothing, and ReleaseConflictError where the run has not ended, or does not hold what was shown.
 */
export async function holdsToRelease(
  { jobs, ledger }: App,
  run: Pick<RunSummary, 'runId' | 'job' | 'state'>,
  shown?: number,
): Promise<HeldDocument> {
  const { release } = releasingJobOf(run, jobs);
  const held = await ledger.holds.ofRun(run.runId, release.kind, namedHolds);
  const { rows } = held;
  if (rows === 0 || rows !== (shown ?? rows)) throw otherRowsHeld(run.runId, rows, shown ?? rows);
  return heldDocument(held);
}

/** Every hold that stands, by the job that releases it; a job of which nothing is held is absent. */
export async function allHolds({
  ledger,
  jobs,
}: App): Promise<ReadonlyArray<{ readonly job: string; readonly held: HeldDocument }>> {
  const all: Array<{ readonly job: string; readonly held: HeldDocument }> = [];
  const kinds = new Set<ReadKind>();
  for (const { name: job, release } of jobs) {
    if (release === undefined || kinds.has(release.kind)) continue;
    kinds.add(release.kind);
    const held = await ledger.holds.standing(release.kind, namedHolds);
    if (held.rows > 0) all.push({ job, held: heldDocument(held) });
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
  { actor, connection, key }: Requester & { readonly key?: IdempotencyKey | undefined },
): Promise<RunName & { readonly isRepeat: boolean }> {
  await checkBeforeRun(app);
  await app.queue(connection);
  return (await app.runService()).release(of, rows, { actor, key });
}
