/** Pushes: the claim, the checkpoint with its fence, the chunks, and the body size that a service accepts. */
import { AbortedError } from '../../../core/base/errors.ts';
import {
  countsOfCheckpoint,
  decodeCheckpoint,
  encodeCheckpoint,
  type PushCheckpoint,
  startOfPush,
} from '../../../core/pipes/checkpoint.ts';
import type { PushedChunk, PushStart, PushStore } from '../../port/pushes.ts';
import { keepCounts, noteCounts, settleOpen } from '../runs/run-units.ts';
import { JsonText } from '../json-text.ts';
import type { SqlColumns, SqlDatabase, SqlSession } from '../session.ts';
import { readDroppedDates } from './dropped-dates.ts';
import { claimContent, findPush } from './push-claim.ts';
import { namesOfService } from '../ownership/service-names.ts';

type Begin = Parameters<PushStore['begin']>[0];
type Step = Parameters<PushStore['save']>[0];

export function createPushStore(database: SqlDatabase): PushStore {
  return {
    begin: (push) => database.transact((session) => begin(session, push)),
    save: (step) => database.transact((session) => save(session, step)),
    find: (wanted) => database.transact((session) => findPush(session, wanted)),
    droppedDates: () => database.transact(readDroppedDates),
    bodyLimit: (serviceUrl, sinceMs) => database.transact((session) => readBodyLimit(session, serviceUrl, sinceMs)),
    noteBodyLimit: ({ serviceUrl, maxBytes, foundAtMs }) =>
      database.transact(async (session) => {
        await session.run(
          `INSERT INTO push_body_limit (service_url, max_bytes, found_at) VALUES ($1, $2, $3)
 ON CONFLICT (service_url) DO UPDATE SET max_bytes = excluded.max_bytes, found_at = excluded.found_at`,
          [serviceUrl, maxBytes, new Date(foundAtMs)],
        );
      }),
  };
}

async function begin(session: SqlSession, push: Begin): Promise<PushStart> {
  const service = await serviceOfRun(session, push);
  const other = await claimContent(session, { ...push, service });
  if (other?.kind === 'pushed') return { ...other, ...(await sentBefore(session, push)) };
  if (other !== undefined) return other;
  const { runId, unit, fileSha256, serviceUrl, form, begunAtMs } = push;
  const [row] = await session.rows<{ fence: number; checkpoint: string | null }>(
    `INSERT INTO push (run_id, unit, file_sha256, fence, begun_at, service_url, form, service)
     VALUES ($1, $2, $3, 1, $4, $5, $6, $7)
     ON CONFLICT (run_id, unit) DO UPDATE SET fence = push.fence + 1 RETURNING fence, checkpoint`,
    [runId, unit, fileSha256, new Date(begunAtMs), serviceUrl, form, service],
  );
  if (row === undefined) throw new Error(`the push of run ${runId} could not be taken over`);
  await keepCounts(session, runId, unit);
  const checkpoint = row.checkpoint === null ? startOfPush : decodeCheckpoint(row.checkpoint);
  return { kind: 'begun', fence: row.fence, checkpoint };
}

/** Counts of the last checkpoint of a push; without `sent` if it never began. */
async function sentBefore(
  session: SqlSession,
  { runId, unit }: Begin,
): Promise<{ readonly sent?: PushCheckpoint['counts'] }> {
  const [row] = await session.rows<{ checkpoint: string | null }>(
    'SELECT checkpoint FROM push WHERE run_id = $1 AND unit = $2',
    [runId, unit],
  );
  if (row === undefined) return {};
  return { sent: row.checkpoint === null ? {} : countsOfCheckpoint(row.checkpoint) };
}

/** Key of the service that the run was requested for (G11); the address if the run has none. */
async function serviceOfRun(session: SqlSession, { runId, serviceUrl }: Begin): Promise<string> {
  const [row] = await session.rows<{ service: string | null }>('SELECT service FROM run WHERE run_id = $1', [runId]);
  return row?.service ?? serviceUrl;
}

async function save(session: SqlSession, step: Step): Promise<void> {
  const { runId, unit, checkpoint, chunks, settled, savedAtMs } = step;
  const fileSha256 = await moveCheckpoint(session, step);
  await appendLedger(session, chunks, { runId, fileSha256, savedAtMs });
  await noteCounts(session, runId, unit, checkpoint.counts);
  if (settled === undefined) return;
  await settleOpen(session, runId, [settled]);
  await session.run(`UPDATE push SET completed_at = $3 WHERE run_id = $1 AND unit = $2`, [
    runId,
    unit,
    new Date(savedAtMs),
  ]);
}

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

type SavedStep = Pick<Step, 'runId' | 'savedAtMs'> & { readonly fileSha256: string };

async function appendLedger(session: SqlSession, chunks: readonly PushedChunk[], step: SavedStep): Promise<void> {
  if (chunks.length > 0) await session.append('push_ledger', ledgerColumns(step), chunks);
}

function ledgerColumns({ runId, fileSha256, savedAtMs }: SavedStep): SqlColumns<PushedChunk> {
  return {
    run_id: () => runId,
    chunk: ({ chunk }) => chunk,
    file_sha256: () => fileSha256,
    first_line: ({ firstLine }) => firstLine,
    last_line: ({ lastLine }) => lastLine,
    items: ({ items }) => items,
    status: ({ status }) => status,
    attempts: ({ attempts }) => attempts,
    settled_at: () => new Date(savedAtMs),
  };
}

async function readBodyLimit(session: SqlSession, serviceUrl: string, sinceMs: number): Promise<number | undefined> {
  const [row] = await session.rows<{ max_bytes: number }>(
    `SELECT max_bytes FROM push_body_limit WHERE service_url IN ${namesOfService('$1')} AND found_at >= $2
     ORDER BY found_at DESC LIMIT 1`,
    [serviceUrl, new Date(sinceMs)],
  );
  return row?.max_bytes;
}
