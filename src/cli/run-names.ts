/** Decides which run an operator means by a whole id or a unique beginning of one. */
import { UsageError } from '../core/errors.ts';
import type { RunRecord } from '../core/run.ts';
import type { RunLedger } from '../warehouse/warehouse.ts';

/** How far back a shortened id is looked for. */
const newestRuns = 1_000;
const mostCandidatesShown = 5;
const hint = 'wellsync runs list shows the runs that there are.';

/** Throws UsageError where no run begins so, or more than one does. */
export async function findRun(runs: RunLedger, given: string): Promise<RunRecord> {
  const exact = await runs.read(given);
  if (exact !== undefined) return exact;
  const candidates = (await runs.list({ limit: newestRuns })).filter(
    (run) => given !== '' && run.runId.startsWith(given),
  );
  const [only, ...others] = candidates;
  if (only === undefined) throw new UsageError(`there is no run ${given}`, { hint });
  if (others.length === 0) return only;
  throw new UsageError(`${candidates.length} runs begin with ${given}: give more of the id`, {
    issues: candidates.slice(0, mostCandidatesShown).map((run) => `${run.runId}, ${run.state}`),
    hint,
  });
}
