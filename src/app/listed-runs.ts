import type { RunSummary } from '../core/run/run.ts';
import type { RunFilter, RunLedger } from '../warehouse/port/runs.ts';

const runsAtOnce = 500;

/** All runs that a filter admits, the newest first, by pages. */
export async function* listedRuns(runs: RunLedger, filter: Omit<RunFilter, 'limit'>): AsyncGenerator<RunSummary> {
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = await runs.list({ ...filter, limit: runsAtOnce, ...(cursor !== undefined && { cursor }) });
    yield* page.runs;
    cursor = page.cursor;
  }
}
