import { UsageError } from '../../core/base/errors.ts';
import type { RunRecord } from '../../core/run/run.ts';
import type { RunLedger } from '../../warehouse/port/runs.ts';

const mostCandidatesShown = 5;
const action = { kind: 'list-runs' } as const;

/** The run with this id, or with an id that begins with it. Throws UsageError if no run matches, or several do. */
export async function findRun(runs: RunLedger, given: string): Promise<RunRecord> {
  const exact = await runs.read(given);
  if (exact !== undefined) return exact;
  const { count, newest } = given === '' ? { count: 0, newest: [] } : await runs.find(given, mostCandidatesShown);
  if (count > 1) {
    const issues = newest.map(({ runId, state }) => `${runId}, ${state}`);
    throw new UsageError(`${count} runs begin with ${given}: give more of the id`, { issues, action });
  }
  const only = newest[0] && (await runs.read(newest[0].runId));
  if (only === undefined) throw new UsageError(`there is no run ${given}`, { action });
  return only;
}
