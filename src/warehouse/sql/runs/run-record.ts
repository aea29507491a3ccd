/** Rows of the table `run` as records. */
import { UsageError } from '../../../core/base/errors.ts';
import type { RunHead, RunRecord, RunReport, RunState, RunSummary } from '../../../core/run/run.ts';
import { epochMs, type SqlSession } from '../session.ts';

interface HeadRow {
  readonly run_id: string;
  readonly job: string;
  readonly params: string;
  readonly state: RunState;
  /** The generation, {@link RunHead.generation}. */
  readonly round: number;
  readonly unit_count: number | null;
}

interface SummaryRow extends Omit<HeadRow, 'params'> {
  readonly service: string | null;
  readonly actor: string | null;
  readonly requested_ms: number;
  readonly reopened_ms: number | null;
  readonly reopened_by: string | null;
  readonly started_ms: number | null;
  readonly finished_ms: number | null;
  readonly target_count: number | null;
  readonly settled: string | null;
}

type RecordRow = SummaryRow & HeadRow & { readonly report: string | null };

const headColumns = 'run_id, job, state, round, unit_count';

/** Without the report: `settled` is the part that a list shows. */
export const summaryColumns = `${headColumns}, service, actor, ${epochMs('requested_at')} AS requested_ms,
  ${epochMs('reopened_at')} AS reopened_ms, reopened_by,
  ${epochMs('started_at')} AS started_ms, ${epochMs('finished_at')} AS finished_ms, target_count, settled`;

export async function readHead(session: SqlSession, runId: string): Promise<RunHead | undefined> {
  const [row] = await session.rows<HeadRow>(`SELECT ${headColumns}, params FROM run WHERE run_id = $1`, [runId]);
  return row && headOf(row);
}

/** Throws UsageError if the run does not exist. */
export async function knownHead(session: SqlSession, runId: string): Promise<RunHead> {
  const run = await readHead(session, runId);
  if (run === undefined) throw new UsageError(`there is no run ${runId}`);
  return run;
}

export async function readRun(session: SqlSession, runId: string): Promise<RunRecord | undefined> {
  const [row] = await session.rows<RecordRow>(`SELECT ${summaryColumns}, params, report FROM run WHERE run_id = $1`, [
    runId,
  ]);
  if (row === undefined) return undefined;
  const report = row.report === null ? undefined : (JSON.parse(row.report) as RunReport);
  return { ...summaryOf(row), ...headOf(row), report };
}

function headOf(row: HeadRow): RunHead {
  return {
    runId: row.run_id,
    job: row.job,
    params: JSON.parse(row.params) as unknown,
    state: row.state,
    generation: row.round,
    unitCount: row.unit_count ?? undefined,
  };
}

export function summaryOf(row: SummaryRow): RunSummary {
  return {
    runId: row.run_id,
    job: row.job,
    state: row.state,
    generation: row.round,
    service: row.service ?? undefined,
    actor: row.actor ?? undefined,
    requestedAtMs: row.requested_ms,
    reopenedAtMs: row.reopened_ms ?? undefined,
    reopenedBy: row.reopened_by ?? undefined,
    startedAtMs: row.started_ms ?? undefined,
    finishedAtMs: row.finished_ms ?? undefined,
    targetCount: row.target_count ?? undefined,
    unitCount: row.unit_count ?? undefined,
    settled: row.settled === null ? undefined : (JSON.parse(row.settled) as RunSummary['settled']),
  };
}
