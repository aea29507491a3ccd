/** A 404 of a target of an export is its outcome, not a failure (docs/design.md sections 4.1 and 4.2). */
import { NotFoundError } from '../src/core/base/errors.ts';
import type { PlannedUnit } from '../src/core/run/run.ts';
import type { ChunkOfWork, JobContext, UnsettledUnit } from '../src/runs/job.ts';
import type { SettleUnknown } from '../src/warehouse/port/unknown-targets.ts';

/** Tells the progress that a unit is read whose target is unknown: it is settled with the end of its chunk. */
export function noteUnknown(error: unknown, { unit }: PlannedUnit, { read }: Pick<ChunkOfWork<never>, 'read'>): void {
  if (error instanceof NotFoundError) read({ unit, rows: 0, isRead: true });
}

/** Settles the units that a 404 left, with the requests that each took. Returns the other ones. */
export async function settleUnknown(
  left: readonly UnsettledUnit[],
  settle: SettleUnknown,
  { runId, settled }: Pick<ChunkOfWork<never>, 'runId' | 'settled'>,
  { now }: Pick<JobContext, 'now'>,
  requests: ReadonlyMap<number, number> = new Map(),
): Promise<readonly UnsettledUnit[]> {
  const unknown = left.filter(({ error }) => error instanceof NotFoundError);
  if (unknown.length === 0) return left;
  const units = unknown.map(({ unit: { unit, target } }) => ({ unit, target, requests: requests.get(unit) }));
  await settled(await settle({ runId, units, atMs: now() }));
  return left.filter((entry) => !unknown.includes(entry));
}
