/**
 * Rows that pushes rejected, by file, while they are an alert of it: each push keeps its own, and marks those of others that it
 * brought. A row without a key counts for what it is, and is brought by a correction alone, by number.
 */
import { lackingNotice, observeRejects, type PushedRows } from '../../../core/alerts/run-observations.ts';
import type { PipeKey } from '../../../core/pipes/pipe.ts';
import type { RejectsStep } from '../../port/pushes.ts';
import { countOf, jsonText, oneRow, type SqlSession } from '../session.ts';
import type { ObservedBy } from './export-observations.ts';
import { recordFound } from './alert-state.ts';

/** Keys of a push at most: what is beyond has none. */
const mostKeys = 10_000;
const mostLacking = 200_000;

const fields = { network: 'VARCHAR', source_id: 'VARCHAR', version: 'VARCHAR', rows: 'BIGINT' } as const;
const noKey = { network: '', source_id: '', version: '' };

/** In the transaction of a step of the push: a push that another worker took over writes none. */
export async function recordRejects(
  session: SqlSession,
  runId: string,
  { file, rejected, brought }: RejectsStep,
): Promise<void> {
  if (rejected.length > 0) await addRejected(session, runId, { file, rejected });
  if (brought.length === 0) return;
  await session.run(
    `UPDATE rejected_row AS r SET accepted_by = $2 FROM ${session.dialect.relation('$1', fields)} b
     WHERE r.network = b.network AND r.source_id = b.source_id AND r.version = b.version AND r.run_id <> $2`,
    [jsonText(brought.map((key) => ({ ...columnsOf(key), rows: 0 }))), runId],
  );
}

async function addRejected(
  session: SqlSession,
  runId: string,
  { file, rejected }: Omit<RejectsStep, 'brought'>,
): Promise<void> {
  const room = mostKeys - (await countOf(session, 'rejected_row WHERE run_id = $1', [runId]));
  const parts = rejected.map(({ key, rows }, index) => ({
    ...(key === undefined || index >= room ? noKey : columnsOf(key)),
    rows,
  }));
  await session.run(
    `INSERT INTO rejected_row (file, run_id, network, source_id, version, "rows")
     SELECT CAST($2 AS VARCHAR), CAST($3 AS VARCHAR), p.network, p.source_id, p.version, CAST(sum(p."rows") AS BIGINT)
     FROM ${session.dialect.relation('$1', fields)} p GROUP BY p.network, p.source_id, p.version
     ON CONFLICT (file, run_id, network, source_id, version) DO UPDATE SET "rows" = rejected_row."rows" + excluded."rows"`,
    [jsonText(parts), file, runId],
  );
}

function columnsOf({ network, sourceId, version }: PipeKey) {
  return { network, source_id: sourceId, version };
}

/** The keys of what other runs rejected, also of what was brought since: brought again, it is no other row. */
export function readLacking(session: SqlSession, runId: string): Promise<readonly PipeKey[]> {
  return session.rows<PipeKey>(
    `SELECT DISTINCT network, source_id AS "sourceId", version FROM rejected_row
     WHERE network <> '' AND run_id <> $1 LIMIT ${mostLacking}`,
    [runId],
  );
}

/** At the end of a push. Returns what its report is to say. */
export async function observePushed(
  session: SqlSession,
  pushed: PushedRows,
  by: ObservedBy,
): Promise<readonly string[]> {
  const { file, corrects, rejected, isToItsEnd } = pushed;
  const { runId, atMs } = by;
  await observeBrought(session, pushed, by);
  if (corrects === undefined) {
    // What a failed push rejected so far is as much as is known; one without a reject tells nothing of the rest.
    if (!isToItsEnd && rejected === 0) return [];
    await session.run('DELETE FROM rejected_row WHERE file = $1 AND run_id <> $2', [file, runId]);
    await recordFound(session, observeRejects(file, rejected, runId), { by: runId, atMs });
    return [];
  }
  const left = await leftOfCorrection(session, pushed, runId);
  // The rows that are left are those of the push that rejected them.
  const rejectedBy = left > 0 ? corrects.runId : runId;
  const observed = observeRejects(file, left + rejected, rejectedBy, await namesOfLeft(session, file));
  await recordFound(session, observed, { by: runId, atMs });
  if (left + rejected === 0) await session.run('DELETE FROM rejected_row WHERE file = $1', [file]);
  return left === 0 ? [] : [lackingNotice(left, corrects)];
}

/** Files of which nothing is left since this push. What a person resolved is forgotten, too. */
async function observeBrought(session: SqlSession, { file }: PushedRows, { runId, atMs }: ObservedBy): Promise<void> {
  const solved = await session.rows<{ file: string }>(
    `SELECT r.file FROM rejected_row r WHERE r.file <> $1 GROUP BY r.file
     HAVING count(*) FILTER (WHERE r.accepted_by IS NULL) = 0 AND count(*) FILTER (WHERE r.accepted_by = $2) > 0`,
    [file, runId],
  );
  for (const each of solved) await recordFound(session, observeRejects(each.file, 0, runId), { by: runId, atMs });
  await session.run(
    `DELETE FROM rejected_row WHERE file <> $1
       AND NOT EXISTS (SELECT 1 FROM run r WHERE r.run_id = rejected_row.run_id AND r.state IN ('queued', 'running'))
       AND NOT EXISTS (SELECT 1 FROM alert a WHERE a.kind = 'rows-rejected' AND a.target = rejected_row.file
         AND a.state <> 'resolved')`,
    [file],
  );
}

/**
 * Rows of earlier pushes of the file that this one neither brought nor rejected again. Those without a key are taken to be
 * among its other rows, as many as there are.
 */
async function leftOfCorrection(
  session: SqlSession,
  { file, accepted, rejected }: PushedRows,
  runId: string,
): Promise<number> {
  const known = await oneRow<{ brought: number; keyed: number; unkeyed: number; again: number; parts: number }>(
    session,
    `SELECT count(*) AS parts, CAST(coalesce(sum(r."rows") FILTER (WHERE r.accepted_by = $2), 0) AS BIGINT) AS brought,
       CAST(coalesce(sum(r."rows") FILTER (WHERE r.accepted_by IS NULL AND r.network <> ''), 0) AS BIGINT) AS keyed,
       CAST(coalesce(sum(r."rows") FILTER (WHERE r.accepted_by IS NULL AND r.network <> '' AND ${isAgain}), 0) AS BIGINT) AS again,
       CAST(coalesce(sum(r."rows") FILTER (WHERE r.network = ''), 0) AS BIGINT) AS unkeyed
     FROM rejected_row r WHERE r.file = $1 AND r.run_id <> $2`,
    [file, runId],
  );
  // Of a push of an earlier version the number alone is known.
  const size = known.parts > 0 ? 0 : await sizeOfAlert(session, file);
  const other = accepted - known.brought + rejected - known.again;
  const unkeyedLeft = Math.max(0, known.unkeyed + size - other);
  await session.run(
    `DELETE FROM rejected_row AS r WHERE r.file = $1 AND r.run_id <> $2 AND (r.network = '' OR ${isAgain})`,
    [file, runId],
  );
  if (unkeyedLeft > 0) {
    // Under a name that no run has: a correction of a correction finds them again.
    await session.run(
      `INSERT INTO rejected_row (file, run_id, network, source_id, version, "rows") VALUES ($1, $2, '', '', '', $3)`,
      [file, `before ${runId}`, unkeyedLeft],
    );
  }
  return known.keyed - known.again + unkeyedLeft;
}

/** Some of the pipes that are left, by name. */
async function namesOfLeft(session: SqlSession, file: string): Promise<readonly string[]> {
  const rows = await session.rows<{ name: string }>(
    `SELECT DISTINCT network || '/' || source_id AS name FROM rejected_row
     WHERE file = $1 AND accepted_by IS NULL AND network <> '' ORDER BY 1 LIMIT ${mostNamed}`,
    [file],
  );
  return rows.map(({ name }) => name);
}

const mostNamed = 5;

/** The run has rejected the same key again. */
const isAgain = `EXISTS (SELECT 1 FROM rejected_row n WHERE n.run_id = $2 AND n.network = r.network
  AND n.source_id = r.source_id AND n.version = r.version AND n.network <> '')`;

async function sizeOfAlert(session: SqlSession, file: string): Promise<number> {
  const [alert] = await session.rows<{ size: number }>(
    `SELECT size FROM alert WHERE kind = 'rows-rejected' AND target = $1 AND state <> 'resolved'`,
    [file],
  );
  return alert?.size ?? 0;
}
