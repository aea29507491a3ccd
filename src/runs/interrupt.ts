/** Ends the unfinished runs of a copied warehouse: in the original they go on. */
import type { RunRecord } from '../core/run/run.ts';
import type { AnyJob, JobContext } from './job.ts';
import { jobOf } from './finish-run.ts';
import { buildReport } from './report.ts';

/**
 * Settles their open units as cancelled, so that a retry opens them, and sends nothing. The audit of deletions stays as
 * it was copied. Returns their ids.
 */
export async function interruptRuns(context: {
  readonly ledger: JobContext['ledger'];
  readonly jobs: readonly AnyJob[];
  /** Address of the copy, for the reports. */
  readonly location: string;
  /** Of this program, for the reports. */
  readonly version: string;
  readonly now: () => number;
}): Promise<readonly string[]> {
  const { runs } = context.ledger;
  const unfinished = (await runs.unfinished()).map(({ runId }) => runId);
  for (const runId of unfinished) {
    const run = await runs.read(runId);
    if (run !== undefined) await interrupt(run, context);
  }
  return unfinished;
}

async function interrupt(
  run: RunRecord,
  { ledger, jobs, location, version, now }: Parameters<typeof interruptRuns>[0],
) {
  const { runId } = run;
  await ledger.runs.settleRest(runId, { state: 'cancelled' });
  const totals = await ledger.runs.totals(runId);
  const stop = { kind: 'cancel', requestedBy: 'the copying of the warehouse' } as const;
  const report = buildReport({ run, job: jobOf(run, jobs), totals, location, version }, stop, now());
  const stopped = { code: 'interrupted', message: 'this is a copy of the warehouse: the run goes on in the original' };
  await ledger.runs.finish({ ...report, state: 'interrupted', stopped });
}
