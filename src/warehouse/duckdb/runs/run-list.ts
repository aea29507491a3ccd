/** Queries over many runs. They read no parameters or reports of runs that they do not return. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { UsageError } from '../../../core/base/errors.ts';
import type { RunSummary } from '../../../core/run/run.ts';
import type { RunFilter, RunMatches, RunPage } from '../../port/runs.ts';
import { instant, jsonText, readRows } from '../file/sql.ts';
import { summaryColumns, summaryOf } from './run-record.ts';

/** Selects the page by its narrow columns first, then its summaries. */
const pageQuery = `
  SELECT ${summaryColumns} FROM run WHERE rowid IN (
    SELECT rowid FROM run
    WHERE ($2 IS NULL OR state IN (SELECT unnest(from_json($2::JSON, '["VARCHAR"]'))))
      AND ($3::VARCHAR IS NULL OR job = $3)
      AND ($4::BIGINT IS NULL OR requested_at >= ${instant('$4')})
      AND ($5::BIGINT IS NULL OR requested_at < ${instant('$5')})
      AND ($6::BIGINT IS NULL OR (requested_at, run_id) < (${instant('$6')}, $7))
    ORDER BY requested_at DESC, run_id DESC LIMIT $1)
  ORDER BY requested_at DESC, run_id DESC`;

export async function listRuns(connection: DuckDBConnection, filter: RunFilter): Promise<RunPage> {
  const { limit, states, job = null, sinceMs, untilMs, cursor } = filter;
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  const rows = await readRows<Parameters<typeof summaryOf>[0]>(connection, pageQuery, [
    limit + 1,
    states === undefined ? null : jsonText(states),
    job,
    sinceMs === undefined ? null : BigInt(sinceMs),
    untilMs === undefined ? null : BigInt(untilMs),
    after === undefined ? null : BigInt(after.requestedAtMs),
    after?.runId ?? null,
  ]);
  const runs = rows.slice(0, limit).map(summaryOf);
  const last = runs.at(-1);
  return { runs, cursor: rows.length > limit && last !== undefined ? encodeCursor(last) : undefined };
}

type Place = Pick<RunSummary, 'requestedAtMs' | 'runId'>;

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
    hint: 'Take the cursor that the list before gave, whole.',
  });
}

/** The newest run with this job and request key that has not ended. */
export async function findUnfinished(
  connection: DuckDBConnection,
  { job, requestKey }: { readonly job: string; readonly requestKey: string },
): Promise<RunSummary | undefined> {
  const [row] = await readRows<Parameters<typeof summaryOf>[0]>(
    connection,
    `SELECT ${summaryColumns} FROM run WHERE state IN ('queued', 'running') AND job = $1 AND request_key = $2
     ORDER BY requested_at DESC, run_id DESC LIMIT 1`,
    [job, requestKey],
  );
  return row && summaryOf(row);
}

/** No LIKE: the input may contain its wildcards. */
export async function findRuns(connection: DuckDBConnection, prefix: string, limit: number): Promise<RunMatches> {
  const rows = await readRows<{ runId: string; state: RunSummary['state']; matches: number }>(
    connection,
    `SELECT run_id AS "runId", state, count(*) OVER () AS matches FROM run WHERE starts_with(run_id, $1)
     ORDER BY requested_at DESC, run_id DESC LIMIT $2`,
    [prefix, limit],
  );
  return { count: rows[0]?.matches ?? 0, newest: rows.map(({ runId, state }) => ({ runId, state })) };
}

export function readUnfinished(
  connection: DuckDBConnection,
): Promise<readonly Pick<RunSummary, 'runId' | 'generation'>[]> {
  return readRows(
    connection,
    `SELECT run_id AS "runId", round AS generation FROM run WHERE state IN ('queued', 'running') ORDER BY requested_at, run_id`,
  );
}
