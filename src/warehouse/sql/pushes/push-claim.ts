/** Claims on pushed contents, including pushes of versions that made no claims (docs/design.md section 4.3). */
import { isFinished, type RunState } from '../../../core/run/run.ts';
import type { KnownPush, PushStart, PushStore } from '../../port/pushes.ts';
import { epochMs, type SqlSession } from '../session.ts';
import { takeTurn } from '../writer-turn.ts';
import { namesOfService } from '../ownership/service-names.ts';

type Claim = Parameters<PushStore['begin']>[0] & {
  /** Key of the service. */
  readonly service: string;
};
type Wanted = Parameters<PushStore['find']>[0];

/**
 * Claims a content for a run, in the transaction that begins its push. Returns the obstacle; undefined if the content
 * belongs to the run now. With `isAgain` nothing is an obstacle, and a claim in force stays with its holder.
 */
export async function claimContent(
  session: SqlSession,
  claim: Claim,
): Promise<Exclude<PushStart, { readonly kind: 'begun' }> | undefined> {
  await takeTurn(session, 'push');
  const holder = await readHolder(session, claim);
  const isHeld = holder !== undefined && holder.runId !== claim.runId && isUnderWay(holder.state);
  if (!claim.isAgain) {
    if (isHeld) return { kind: 'waits', runId: holder.runId, claimedAtMs: holder.claimedAtMs };
    const other = await findOther(session, claim);
    if (other !== undefined) return other;
  }
  if (!isHeld && holder?.runId !== claim.runId) await writeClaim(session, claim);
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
async function findOther(
  session: SqlSession,
  { fileSha256, service, serviceUrl, form, runId, unit }: Claim,
): Promise<Exclude<PushStart, { readonly kind: 'begun' }> | undefined> {
  const found = await findPush(session, { fileSha256, service, serviceUrl, form }, runId);
  if (found === undefined) return undefined;
  if (found.state === 'done') return { kind: 'pushed', runId: found.runId };
  // Two pushes begun by an older version must not wait for each other.
  if (await hasBegun(session, runId, unit)) return undefined;
  return { kind: 'waits', runId: found.runId, claimedAtMs: found.atMs };
}

async function hasBegun(session: SqlSession, runId: string, unit: number): Promise<boolean> {
  const rows = await session.rows('SELECT 1 FROM push WHERE run_id = $1 AND unit = $2', [runId, unit]);
  return rows.length > 0;
}

/**
 * The newest done or running push of a content, by another run than `exceptRunId`, which may no longer be kept. A failed or cancelled push makes
 * none needless: its own run is retried, or a new one sends everything.
 */
export async function findPush(
  session: SqlSession,
  { fileSha256, service, serviceUrl, form }: Wanted,
  exceptRunId = '',
): Promise<KnownPush | undefined> {
  const [row] = await session.rows<{ run_id: string; completed_ms: number | null; begun_ms: number }>(
    `SELECT run_id, ${epochMs('completed_at')} AS completed_ms, ${epochMs('begun_at')} AS begun_ms
     FROM push LEFT JOIN run USING (run_id)
     WHERE file_sha256 = $1 AND form = $3 AND run_id <> $4
       AND ($2::VARCHAR IS NULL OR service_url IN ${namesOfService('$2::VARCHAR')} OR push.service IN ${namesOfService('$5::VARCHAR')})
       AND (completed_at IS NOT NULL AND coalesce(state, 'done') = 'done' OR state IN ('queued', 'running'))
     ORDER BY begun_at DESC LIMIT 1`,
    [fileSha256, serviceUrl ?? null, form, exceptRunId, service ?? serviceUrl ?? null],
  );
  if (row === undefined) return undefined;
  return row.completed_ms === null
    ? { runId: row.run_id, state: 'under-way', atMs: row.begun_ms }
    : { runId: row.run_id, state: 'done', atMs: row.completed_ms };
}
