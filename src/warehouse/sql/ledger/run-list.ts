/** Queries over many runs. They read no parameters or reports of runs that they do not return. */
import { UsageError } from '../../../core/base/errors.ts';
import type { RunSummary } from '../../../core/run/run.ts';
import type { RunFilter, RunMatches, RunPage } from '../../port/runs.ts';
import { epochMs, jsonText, type SqlSession } from '../session.ts';
import { summaryColumns, summaryOf } from './run-record.ts';

/** Selects the page by its narrow columns first, then its summaries. */
const pageOf = ({ dialect }: SqlSession): string => `
  SELECT ${summaryColumns} FROM run WHERE ${dialect.rowId} IN (
    SELECT ${dialect.rowId} FROM run
    WHERE ($2::JSON IS NULL OR state IN (SELECT ${dialect.each('$2', 'VARCHAR')}))
      AND ($3::VARCHAR IS NULL OR job = $3)
      AND ($4::TIMESTAMPTZ IS NULL OR requested_at >= $4::TIMESTAMPTZ)
      AND ($5::TIMESTAMPTZ IS NULL OR requested_at < $5::TIMESTAMPTZ)
      AND ($6::TIMESTAMPTZ IS NULL OR (requested_at, run_id) < ($6::TIMESTAMPTZ, $7::VARCHAR))
    ORDER BY requested_at DESC, run_id DESC LIMIT $1)
  ORDER BY requested_at DESC, run_id DESC`;

export async function listRuns(session: SqlSession, filter: RunFilter): Promise<RunPage> {
  const { limit, states, job = null, sinceMs, untilMs, cursor } = filter;
  const after = cursor === undefined ? undefined : ((await placeOfRun(session, cursor)) ?? decodeCursor(cursor));
  const rows = await session.rows<Parameters<typeof summaryOf>[0]>(pageOf(session), [
    limit + 1,
    states === undefined ? null : jsonText(states),
    job,
    sinceMs === undefined ? null : new Date(sinceMs),
    untilMs === undefined ? null : new Date(untilMs),
    after === undefined ? null : new Date(after.requestedAtMs),
    after?.runId ?? null,
  ]);
  const runs = rows.slice(0, limit).map(summaryOf);
  const last = runs.at(-1);
  return { runs, cursor: rows.length > limit && last !== undefined ? encodeCursor(last) : undefined };
}

type Place = Pick<RunSummary, 'requestedAtMs' | 'runId'>;

/** Undefined for what is no id of a run. */
async function placeOfRun(session: SqlSession, runId: string): Promise<Place | undefined> {
  const [run] = await session.rows<{ ms: number }>(
    `SELECT ${epochMs('requested_at')} AS ms FROM run WHERE run_id = $1`,
    [runId],
  );
  return run && { requestedAtMs: run.ms, runId };
}

function encodeCursor({ requestedAtMs, runId }: Place): string {
  return Buffer.from(JSON.stringify([requestedAtMs, runId])).toString('base64url');
}

function decodeCursor(cursor: string): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(place) && Number.isSafeInteger(place[0]) && typeof place[1] === 'string') {
      return { requestedAtMs: Number(place[0]), runId: place[1] };
    }
  } catch {
    // Not JSON: reported below.
  }
  throw new UsageError(`${JSON.stringify(cursor)} is not a cursor of a list of runs`, {
    hint: 'Take the cursor that the list before gave, whole, or the id of its last run.',
  });
}

/** The newest run with this job and request key that has not ended. */
export async function findUnfinished(
  session: SqlSession,
  { job, requestKey }: { readonly job: string; readonly requestKey: string },
): Promise<RunSummary | undefined> {
  const [row] = await session.rows<Parameters<typeof summaryOf>[0]>(
    `SELECT ${summaryColumns} FROM run WHERE state IN ('queued', 'running') AND job = $1 AND request_key = $2
     ORDER BY requested_at DESC, run_id DESC LIMIT 1`,
    [job, requestKey],
  );
  return row && summaryOf(row);
}

export async function readSummary(session: SqlSession, runId: string): Promise<RunSummary | undefined> {
  const [row] = await session.rows<Parameters<typeof summaryOf>[0]>(
    `SELECT ${summaryColumns} FROM run WHERE run_id = $1`,
    [runId],
  );
  return row && summaryOf(row);
}

/** No LIKE: the input may contain its wildcards. */
export async function findRuns(session: SqlSession, prefix: string, limit: number): Promise<RunMatches> {
  const rows = await session.rows<{ runId: string; state: RunSummary['state']; matches: number }>(
    `SELECT run_id AS "runId", state, count(*) OVER () AS matches FROM run WHERE starts_with(run_id, $1)
     ORDER BY requested_at DESC, run_id DESC LIMIT $2`,
    [prefix, limit],
  );
  return { count: rows[0]?.matches ?? 0, newest: rows.map(({ runId, state }) => ({ runId, state })) };
}

export function readUnfinished(session: SqlSession): Promise<readonly Pick<RunSummary, 'runId' | 'generation'>[]> {
  return session.rows(
    `SELECT run_id AS "runId", round AS generation FROM run WHERE state IN ('queued', 'running') ORDER BY requested_at, run_id`,
  );
}
