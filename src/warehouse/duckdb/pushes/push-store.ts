/** Pushes in DuckDB: the claim, the checkpoint with its fence, the chunks, and the body size that a service accepts. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { DuckDBTimestampTZValue } from '../file/engine.ts';
import { AbortedError } from '../../../core/base/errors.ts';
import {
  decodeCheckpoint,
  encodeCheckpoint,
  type PushCheckpoint,
  startOfPush,
} from '../../../core/pipes/checkpoint.ts';
import type { PushedChunk, PushStart, PushStore } from '../../port/pushes.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { keepCounts, noteCounts, settleOpen } from '../runs/run-units.ts';
import { instant, readRows } from '../file/sql.ts';
import { wellFormed } from '../../sql/json-text.ts';
import { appendRows } from '../file/append-rows.ts';
import { claimContent, findPush } from './push-claim.ts';
import { namesOfService } from '../../sql/ownership/service-names.ts';

type Begin = Parameters<PushStore['begin']>[0];
type Step = Parameters<PushStore['save']>[0];

export function createPushStore(file: DatabaseFile): PushStore {
  return {
    begin: (push) => file.transact((connection) => begin(connection, push)),
    save: (step) => file.transact((connection) => save(connection, step)),
    find: (wanted) => file.transact((connection) => findPush(connection, wanted)),
    bodyLimit: (serviceUrl, sinceMs) => file.transact((connection) => readBodyLimit(connection, serviceUrl, sinceMs)),
    noteBodyLimit: ({ serviceUrl, maxBytes, foundAtMs }) =>
      file.transact(async (connection) => {
        await connection.run(`INSERT OR REPLACE INTO push_body_limit VALUES ($1, $2, ${instant('$3')})`, [
          serviceUrl,
          BigInt(maxBytes),
          BigInt(foundAtMs),
        ]);
      }),
  };
}

async function begin(connection: DuckDBConnection, push: Begin): Promise<PushStart> {
  const service = await serviceOfRun(connection, push);
  const other = await claimContent(connection, { ...push, service });
  if (other?.kind === 'pushed') return { ...other, ...(await sentBefore(connection, push)) };
  if (other !== undefined) return other;
  const { runId, unit, fileSha256, serviceUrl, form, begunAtMs } = push;
  const [row] = await readRows<{ fence: number; checkpoint: string | null }>(
    connection,
    `INSERT INTO push (run_id, unit, file_sha256, fence, begun_at, service_url, form, service)
     VALUES ($1, $2, $3, 1, ${instant('$4')}, $5, $6, $7)
     ON CONFLICT DO UPDATE SET fence = push.fence + 1 RETURNING fence, checkpoint`,
    [runId, unit, fileSha256, BigInt(begunAtMs), serviceUrl, form, service],
  );
  if (row === undefined) throw new Error(`the push of run ${runId} could not be taken over`);
  await keepCounts(connection, runId, unit);
  const checkpoint = row.checkpoint === null ? startOfPush : decodeCheckpoint(row.checkpoint);
  return { kind: 'begun', fence: row.fence, checkpoint };
}

/** Counts of the last checkpoint of a push; without `sent` if it never began. */
async function sentBefore(
  connection: DuckDBConnection,
  { runId, unit }: Begin,
): Promise<{ readonly sent?: PushCheckpoint['counts'] }> {
  const [row] = await readRows<{ checkpoint: string | null }>(
    connection,
    'SELECT checkpoint FROM push WHERE run_id = $1 AND unit = $2',
    [runId, unit],
  );
  if (row === undefined) return {};
  return { sent: row.checkpoint === null ? {} : decodeCheckpoint(row.checkpoint).counts };
}

/** Key of the service that the run was requested for (G11); the address if the run has none. */
async function serviceOfRun(connection: DuckDBConnection, { runId, serviceUrl }: Begin): Promise<string> {
  const [row] = await readRows<{ service: string | null }>(connection, 'SELECT service FROM run WHERE run_id = $1', [
    runId,
  ]);
  return row?.service ?? serviceUrl;
}

async function save(connection: DuckDBConnection, step: Step): Promise<void> {
  const { runId, unit, checkpoint, chunks, settled, savedAtMs } = step;
  const fileSha256 = await moveCheckpoint(connection, step);
  await appendLedger(connection, chunks, { runId, fileSha256, savedAtMs });
  await noteCounts(connection, runId, unit, checkpoint.counts);
  if (settled === undefined) return;
  await settleOpen(connection, runId, [settled]);
  await connection.run(`UPDATE push SET completed_at = ${instant('$3')} WHERE run_id = $1 AND unit = $2`, [
    runId,
    unit,
    BigInt(savedAtMs),
  ]);
}

/** Returns the hash of the content. The fence keeps a suspended worker from moving the checkpoint back. */
async function moveCheckpoint(connection: DuckDBConnection, step: Step): Promise<string> {
  const { runId, unit, fence, checkpoint, savedAtMs } = step;
  const [row] = await readRows<{ sha: string }>(
    connection,
    `UPDATE push SET checkpoint = $4, saved_at = ${instant('$5')}
     WHERE run_id = $1 AND unit = $2 AND fence = $3 RETURNING file_sha256 AS sha`,
    [runId, unit, fence, wellFormed(encodeCheckpoint(checkpoint)), BigInt(savedAtMs)],
  );
  if (row === undefined) throw new AbortedError('another worker has taken the push over');
  return row.sha;
}

async function appendLedger(
  connection: DuckDBConnection,
  chunks: readonly PushedChunk[],
  shared: { readonly runId: string; readonly fileSha256: string; readonly savedAtMs: number },
): Promise<void> {
  if (chunks.length === 0) return;
  const settledAt = new DuckDBTimestampTZValue(BigInt(shared.savedAtMs) * 1_000n);
  await appendRows<PushedChunk>(connection, 'push_ledger', chunks, [
    () => shared.runId,
    ({ chunk }) => chunk,
    () => shared.fileSha256,
    ({ firstLine }) => BigInt(firstLine),
    ({ lastLine }) => BigInt(lastLine),
    ({ items }) => items,
    ({ status }) => status,
    ({ attempts }) => attempts,
    () => settledAt,
  ]);
}

async function readBodyLimit(
  connection: DuckDBConnection,
  serviceUrl: string,
  sinceMs: number,
): Promise<number | undefined> {
  const [row] = await readRows<{ max_bytes: number }>(
    connection,
    `SELECT max_bytes FROM push_body_limit WHERE service_url IN ${namesOfService('$1')} AND found_at >= ${instant('$2')}
     ORDER BY found_at DESC LIMIT 1`,
    [serviceUrl, BigInt(sinceMs)],
  );
  return row?.max_bytes;
}
