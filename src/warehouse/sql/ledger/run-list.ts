/** Queries over many runs. They read no parameters or reports of runs that they do not return. */
import { z } from 'zod';
import { cursorOf, readCursor } from '../../../core/base/cursor.ts';
import type { RunSummary } from '../../../core/run/run.ts';
import type { RunLedger } from '../../port/runs.ts';
import { epochMs, type InSession, jsonText, type SqlSession } from '../session.ts';
import { readSummaries } from './run-record.ts';

const newestFirst = 'ORDER BY requested_at DESC, run_id DESC';

/** Selects the page by its narrow columns first, then its summaries. */
const pageOf = ({ dialect }: SqlSession): string => `WHERE ${dialect.rowId} IN (
    SELECT ${dialect.rowId} FROM run
    WHERE ($2::JSON IS NULL OR state IN (SELECT ${dialect.each('$2', 'VARCHAR')}))
      AND ($3::VARCHAR IS NULL OR job = $3)
      AND ($4::TIMESTAMPTZ IS NULL OR requested_at >= $4::TIMESTAMPTZ)
      AND ($5::TIMESTAMPTZ IS NULL OR requested_at < $5::TIMESTAMPTZ)
      AND ($6::TIMESTAMPTZ IS NULL OR (requested_at, run_id) < ($6::TIMESTAMPTZ, $7::VARCHAR))
    ${newestFirst} LIMIT $1)
  ${newestFirst}`;

export const listRuns: InSession<RunLedger['list']> = async (session, filter) => {
  const { limit, states, job = null, sinceMs, untilMs, cursor } = filter;
  const after = cursor === undefined ? undefined : ((await positionOfRun(session, cursor)) ?? positionOf(cursor));
  const found = await readSummaries(session, pageOf(session), [
    limit + 1,
    states === undefined ? null : jsonText(states),
    job,
    instantOrNull(sinceMs),
    instantOrNull(untilMs),
    instantOrNull(after?.requestedAtMs),
    after?.runId ?? null,
  ]);
  const runs = found.slice(0, limit);
  const last = runs.at(-1);
  return {
    runs,
    cursor: found.length > limit && last !== undefined ? cursorOf(last.requestedAtMs, last.runId) : undefined,
  };
};

function instantOrNull(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}

type RunPosition = Pick<RunSummary, 'requestedAtMs' | 'runId'>;

/** Undefined for what is no id of a run. */
async function positionOfRun(session: SqlSession, runId: string): Promise<RunPosition | undefined> {
  const [run] = await session.rows<RunPosition>(
    `SELECT ${epochMs('requested_at')} AS "requestedAtMs", run_id AS "runId" FROM run WHERE run_id = $1`,
    [runId],
  );
  return run;
}

const runPosition = z.tuple([z.int(), z.string()]);

function positionOf(cursor: string): RunPosition {
  const [requestedAtMs, runId] = readCursor(cursor, runPosition, {
    list: 'a list of runs',
    hint: 'Take the cursor that the list before gave, whole, or the id of its last run.',
  });
  return { requestedAtMs, runId };
}

/** The newest run with this job and request key that has not ended. */
export async function findUnfinished(
  session: SqlSession,
  { job, requestKey }: { readonly job: string; readonly requestKey: string },
): Promise<RunSummary | undefined> {
  const which = `WHERE state IN ('queued', 'running') AND job = $1 AND request_key = $2 ${newestFirst} LIMIT 1`;
  return (await readSummaries(session, which, [job, requestKey]))[0];
}

/** No LIKE: the input may contain its wildcards. */
export const findRuns: InSession<RunLedger['find']> = async (session, prefix, limit) => {
  const rows = await session.rows<{ runId: string; state: RunSummary['state']; matches: number }>(
    `SELECT run_id AS "runId", state, count(*) OVER () AS matches FROM run WHERE starts_with(run_id, $1)
     ${newestFirst} LIMIT $2`,
    [prefix, limit],
  );
  return { count: rows[0]?.matches ?? 0, newest: rows.map(({ runId, state }) => ({ runId, state })) };
};

export const readNames: InSession<RunLedger['names']> = (session, limit) =>
  session.rows(
    `SELECT run_id AS "runId", job, CASE WHEN job LIKE 'push %' THEN ${session.dialect.textAt('params', ['name'])} END AS file
     FROM run ${newestFirst} LIMIT $1`,
    [limit],
  );

export const readUnfinished: InSession<RunLedger['unfinished']> = (session) =>
  session.rows(
    `SELECT run_id AS "runId", round AS generation FROM run WHERE state IN ('queued', 'running') ORDER BY requested_at, run_id`,
  );
