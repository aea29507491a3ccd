/** Pushes: claim, checkpoint with its fence, chunks, the body size that a service accepts, and rejected rows as an alert. */
import { AbortedError } from '../../../core/base/errors.ts';
import { countsOfCheckpoint, decodeCheckpoint, encodeCheckpoint, startOfPush } from '../../../core/pipes/checkpoint.ts';
import { type Counts, isFinished, type RunState } from '../../../core/run/run.ts';
import type { DroppedDates, KnownPush, PushedChunk, PushStart, PushStore, RejectsStep } from '../../port/pushes.ts';
import { namesOfService } from './service-claim.ts';
import { keepCounts, recordCounts, settleOpen } from './run-units.ts';
import {
  columnsOf,
  countOf,
  epochMs,
  type InSession,
  JsonText,
  jsonText,
  oneRow,
  recordOf,
  type RowOf,
  type SqlColumns,
  type SqlDatabase,
  type SqlSession,
  takeTurn,
  transacted,
} from '../session.ts';
import { lackingNotice, observeRejects, type PushedRows } from '../../../core/alerts/run-observations.ts';
import type { PipeKey } from '../../../core/pipes/pipe.ts';
import type { ObservedBy } from '../alerts/export-observations.ts';
import { recordFound } from '../alerts/alert-state.ts';

type Begin = Parameters<PushStore['begin']>[0];
type Step = Parameters<PushStore['save']>[0];

export function createPushStore(database: SqlDatabase): PushStore {
  return transacted<PushStore>(database, {
    begin,
    save,
    lacking: readLacking,
    find: findPush,
    droppedDates: readDroppedDates,
    bodyLimit: readBodyLimit,
    recordBodyLimit: async (session, { serviceUrl, maxBytes, foundAtMs }) => {
      await session.run(
        `INSERT INTO push_body_limit (service_url, max_bytes, found_at) VALUES ($1, $2, $3)
         ON CONFLICT (service_url) DO UPDATE SET max_bytes = excluded.max_bytes, found_at = excluded.found_at`,
        [serviceUrl, maxBytes, new Date(foundAtMs)],
      );
    },
  });
}

const begin: InSession<PushStore['begin']> = async (session, push) => {
  const { runId, unit, fileSha256, serviceUrl, form, begunAtMs } = push;
  const [run] = await session.rows<{ service: string | null }>('SELECT service FROM run WHERE run_id = $1', [runId]);
  // Key of the service that the run was requested for (G11); the address if the run has none.
  const service = run?.service ?? serviceUrl;
  const other = await claimContent(session, { ...push, service });
  if (other?.kind === 'pushed') {
    const counts = (await countsOfPush(session, other.runId, unit)) ?? {};
    const sent = await countsOfPush(session, runId, unit);
    return { ...other, counts, ...(sent && { sent }) };
  }
  if (other !== undefined) return other;
  const row = await oneRow<{ fence: number; checkpoint: string | null }>(
    session,
    `INSERT INTO push (run_id, unit, file_sha256, fence, begun_at, service_url, form, service)
     VALUES ($1, $2, $3, 1, $4, $5, $6, $7)
     ON CONFLICT (run_id, unit) DO UPDATE SET fence = push.fence + 1 RETURNING fence, checkpoint`,
    [runId, unit, fileSha256, new Date(begunAtMs), serviceUrl, form, service],
  );
  await keepCounts(session, runId, unit);
  const checkpoint = row.checkpoint === null ? startOfPush : decodeCheckpoint(row.checkpoint);
  return { kind: 'begun', fence: row.fence, checkpoint };
};

/** Counts of the last checkpoint of a push: empty before the first one, undefined if it never began. */
async function countsOfPush(session: SqlSession, runId: string, unit: number): Promise<Counts | undefined> {
  const [row] = await session.rows<{ checkpoint: string | null }>(
    'SELECT checkpoint FROM push WHERE run_id = $1 AND unit = $2',
    [runId, unit],
  );
  if (row === undefined) return undefined;
  return row.checkpoint === null ? {} : countsOfCheckpoint(row.checkpoint);
}

const save: InSession<PushStore['save']> = async (session, step) => {
  const { runId, unit, checkpoint, chunks, rejects, settled, savedAtMs } = step;
  const fileSha256 = await moveCheckpoint(session, step);
  if (chunks.length > 0) await session.append('push_ledger', chunkColumns(step, fileSha256), chunks);
  if (rejects !== undefined) await recordRejects(session, runId, rejects);
  await recordCounts(session, runId, unit, checkpoint.counts);
  if (settled === undefined) return;
  await settleOpen(session, runId, [settled]);
  const completed = 'UPDATE push SET completed_at = $3 WHERE run_id = $1 AND unit = $2';
  await session.run(completed, [runId, unit, new Date(savedAtMs)]);
};

/** Returns the hash of the content. The fence keeps a suspended worker from moving the checkpoint back. */
async function moveCheckpoint(session: SqlSession, step: Step): Promise<string> {
  const { runId, unit, fence, checkpoint, savedAtMs } = step;
  const [row] = await session.rows<{ sha: string }>(
    `UPDATE push SET checkpoint = $4, saved_at = $5
     WHERE run_id = $1 AND unit = $2 AND fence = $3 RETURNING file_sha256 AS sha`,
    [runId, unit, fence, new JsonText(encodeCheckpoint(checkpoint)), new Date(savedAtMs)],
  );
  if (row === undefined) throw new AbortedError('another worker has taken the push over');
  return row.sha;
}

function chunkColumns({ runId, savedAtMs }: Step, fileSha256: string): SqlColumns<PushedChunk> {
  return {
    run_id: () => runId,
    ...columnsOf('chunk'),
    file_sha256: () => fileSha256,
    ...columnsOf('firstLine', 'lastLine', 'items', 'status', 'attempts'),
    settled_at: () => new Date(savedAtMs),
  };
}

const readBodyLimit: InSession<PushStore['bodyLimit']> = async (session, serviceUrl, sinceMs) => {
  const [row] = await session.rows<{ bytes: number }>(
    `SELECT max_bytes AS bytes FROM push_body_limit WHERE service_url IN ${namesOfService('$1')} AND found_at >= $2
     ORDER BY found_at DESC LIMIT 1`,
    [serviceUrl, new Date(sinceMs)],
  );
  return row?.bytes;
};

/** Claims on pushed contents, including pushes of versions that made no claims (docs/design.md section 4.3). */
type Claim = Begin & {
  readonly service: string;
};
type Obstacle =
  | Extract<PushStart, { readonly kind: 'waits' }>
  | Pick<Extract<PushStart, { readonly kind: 'pushed' }>, 'kind' | 'runId'>;
type Wanted = Parameters<PushStore['find']>[0];

/**
 * Claims a content for a run, in the transaction that begins its push. Returns the obstacle; undefined if the content
 * belongs to the run now. With `isAgain` nothing is an obstacle, and a claim in force stays with its holder.
 */
async function claimContent(session: SqlSession, claim: Claim): Promise<Obstacle | undefined> {
  await takeTurn(session, 'push');
  const holder = await readHolder(session, claim);
  const isTaken = holder !== undefined && holder.runId !== claim.runId && isUnderWay(holder.state);
  if (!claim.isAgain) {
    if (isTaken) return { kind: 'waits', runId: holder.runId, claimedAtMs: holder.claimedAtMs };
    const other = await findOther(session, claim);
    if (other !== undefined) return other;
  }
  if (!isTaken && holder?.runId !== claim.runId) await writeClaim(session, claim);
  return undefined;
}

interface Holder {
  readonly runId: string;
  /** Null if the run is gone. */
  readonly state: RunState | null;
  readonly claimedAtMs: number;
}

/** One holder for each name that the service has had; the one in force first. */
async function readHolder(session: SqlSession, { fileSha256, service, form }: Claim): Promise<Holder | undefined> {
  const [row] = await session.rows<Holder>(
    `SELECT push_claim.run_id AS "runId", run.state, ${epochMs('claimed_at')} AS "claimedAtMs"
     FROM push_claim LEFT JOIN run ON run.run_id = push_claim.run_id
     WHERE file_sha256 = $1 AND push_claim.service IN ${namesOfService('$2')} AND form = $3
     ORDER BY run.state IN ('queued', 'running') DESC NULLS LAST, claimed_at DESC LIMIT 1`,
    [fileSha256, service, form],
  );
  return row;
}

function isUnderWay(state: RunState | null): boolean {
  return state !== null && !isFinished(state);
}

async function writeClaim(session: SqlSession, { fileSha256, service, form, runId, begunAtMs }: Claim): Promise<void> {
  await session.run(
    `INSERT INTO push_claim (file_sha256, service, form, run_id, claimed_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (file_sha256, service, form) DO UPDATE SET run_id = excluded.run_id, claimed_at = excluded.claimed_at`,
    [fileSha256, service, form, runId, new Date(begunAtMs)],
  );
}

/** A push without a claim in force: done, or begun by a version that made no claims. */
async function findOther(session: SqlSession, claim: Claim): Promise<Obstacle | undefined> {
  const { runId, unit } = claim;
  const found = await findPush(session, claim, runId);
  if (found === undefined) return undefined;
  if (found.state === 'done') return { kind: 'pushed', runId: found.runId };
  // Two pushes begun by an older version must not wait for each other.
  const begun = await session.rows('SELECT 1 FROM push WHERE run_id = $1 AND unit = $2', [runId, unit]);
  return begun.length > 0 ? undefined : { kind: 'waits', runId: found.runId, claimedAtMs: found.atMs };
}

/**
 * The newest done or running push of a content, by another run than `exceptRunId`, which may no longer be kept. A failed or cancelled push makes
 * none needless: its own run is retried, or a new one sends everything.
 */
async function findPush(
  session: SqlSession,
  { fileSha256, service, serviceUrl, form }: Wanted,
  exceptRunId = '',
): Promise<KnownPush | undefined> {
  const [found] = await session.rows<KnownPush>(
    `SELECT run_id AS "runId", CASE WHEN completed_at IS NULL THEN 'under-way' ELSE 'done' END AS state,
       ${epochMs('coalesce(completed_at, begun_at)')} AS "atMs"
     FROM push LEFT JOIN run USING (run_id)
     WHERE file_sha256 = $1 AND form = $3 AND run_id <> $4
       AND ($2::VARCHAR IS NULL OR service_url IN ${namesOfService('$2::VARCHAR')} OR push.service IN ${namesOfService('$5::VARCHAR')})
       AND (completed_at IS NOT NULL AND coalesce(run.state, 'done') = 'done' OR run.state IN ('queued', 'running'))
     ORDER BY begun_at DESC, completed_at DESC NULLS FIRST, run_id DESC LIMIT 1`,
    [fileSha256, serviceUrl ?? null, form, exceptRunId, service ?? serviceUrl ?? null],
  );
  return found;
}

/** Checkpoints of version 1 are of that rule (core/pipes/checkpoint.ts). A later push of the content has sent them. */
const readDroppedDates: InSession<PushStore['droppedDates']> = async (session) => {
  const { dialect } = session;
  const superseded = `CAST(${dialect.textAt('push.checkpoint', ['counts', 'superseded'])} AS INTEGER)`;
  const rows = await session.rows<RowOf<DroppedDates>>(
    `SELECT push.run_id AS "runId", ${dialect.textAt('run.params', ['name'])} AS name, ${dialect.textAt('run.params', ['file'])} AS file,
       push.file_sha256 AS "fileSha256", push.form AS form, ${superseded} AS rows,
       ${epochMs('push.completed_at')} AS "completedAtMs"
     FROM push LEFT JOIN run ON run.run_id = push.run_id
     WHERE push.completed_at IS NOT NULL AND ${dialect.textAt('push.checkpoint', ['version'])} = '1' AND ${superseded} > 0
       AND NOT EXISTS (SELECT 1 FROM push later WHERE later.file_sha256 = push.file_sha256
         AND later.completed_at > push.completed_at)
     ORDER BY push.completed_at, push.run_id`,
  );
  return rows.map((row) => recordOf<DroppedDates>(row));
};

// Rows that pushes rejected, by file, while they are an alert of it: each push keeps its own, and marks those of others that it
// brought. A row without a key counts for what it is, and is brought by a correction alone, by number.

/** Keys of a push at most: what is beyond has none. */
const mostKeys = 10_000;
const mostLacking = 200_000;

const fields = { network: 'VARCHAR', source_id: 'VARCHAR', version: 'VARCHAR', rows: 'BIGINT' } as const;
const noKey = { network: '', source_id: '', version: '' };

/** In the transaction of a step of the push: a push that another worker took over writes none. */
async function recordRejects(
  session: SqlSession,
  runId: string,
  { file, rejected, brought }: RejectsStep,
): Promise<void> {
  if (rejected.length > 0) await addRejected(session, runId, { file, rejected });
  if (brought.length === 0) return;
  await session.run(
    `UPDATE rejected_row AS r SET accepted_by = $2 FROM ${session.dialect.relation('$1', fields)} b
     WHERE r.network = b.network AND r.source_id = b.source_id AND r.version = b.version AND r.run_id <> $2`,
    [jsonText(brought.map((key) => ({ ...columnsOfKey(key), rows: 0 }))), runId],
  );
}

async function addRejected(
  session: SqlSession,
  runId: string,
  { file, rejected }: Omit<RejectsStep, 'brought'>,
): Promise<void> {
  const room = mostKeys - (await countOf(session, 'rejected_row WHERE run_id = $1', [runId]));
  const parts = rejected.map(({ key, rows }, index) => ({
    ...(key === undefined || index >= room ? noKey : columnsOfKey(key)),
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

function columnsOfKey({ network, sourceId, version }: PipeKey) {
  return { network, source_id: sourceId, version };
}

/** The keys of what other runs rejected, also of what was brought since: brought again, it is no other row. */
function readLacking(session: SqlSession, runId: string): Promise<readonly PipeKey[]> {
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
